// Another execution's browser: the port that it listens on, if it has one, asked for through a proxy.
// family: browsers
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED
// walls: table, relay
const { browserContextId } = await cdp.send('Target.createBrowserContext', { proxyServer: '{{proxy}}', proxyBypassList: '<-loopback>' });
const inside = await tab('about:blank', { browserContextId });
await visit('http://127.0.0.1:{{session_port}}/json/list', inside);
return evaluate('document.documentElement.innerText', inside);
