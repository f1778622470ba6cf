// A context with a proxy of the script's choice, through which the page asks for another browser's list of tabs.
// family: browsers
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED
// walls: table, network
const { browserContextId } = await cdp.send('Target.createBrowserContext', { proxyServer: '{{proxy}}', proxyBypassList: '<-loopback>' });
const inside = await tab('about:blank', { browserContextId });
await visit('http://127.0.0.1:{{victim_port}}/json/list', inside);
return evaluate('document.documentElement.innerText', inside);
