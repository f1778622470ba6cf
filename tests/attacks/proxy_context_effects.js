// The same, to open a tab there and to speak the protocol.
// family: browsers
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED
// walls: table, network
const { browserContextId } = await cdp.send('Target.createBrowserContext', { proxyServer: 'http={{proxy}};https={{proxy}};ftp={{proxy}}', proxyBypassList: '<-loopback>' });
const inside = await tab('about:blank', { browserContextId });
await visit('http://127.0.0.1:{{victim_port}}/json/version', inside);
const opened = await evaluate(`fetch('/json/new?{{site}}/shout?tab', { method: 'PUT' }).then((answer) => answer.text())`, inside);
await send('Network.enable', {}, inside);
const spoken = await evaluate(`(async () => {
  const { webSocketDebuggerUrl } = JSON.parse(document.body.innerText);
  const socket = new WebSocket(webSocketDebuggerUrl);
  return new Promise((done) => {
    socket.onopen = () => socket.send(JSON.stringify({ id: 1, method: 'Target.getTargets' }));
    socket.onmessage = (event) => done(event.data);
    socket.onerror = () => done('refused');
  });
})()`, inside);
return [opened, spoken];
