// Isolated worlds with rights over every origin, and browser contexts whose pages have them.
// family: pages
// seen: no
// expect: nothing
// walls: confinement
// alone: yes
const reads = `Promise.all(['fetch("file://{{canary_dir}}/canary.txt").then((r) => r.text())', 'fetch("chrome://version").then((r) => r.text())', 'import("file://{{canary_dir}}/canary.js").then(() => canary)', 'new Promise((done) => { const x = new XMLHttpRequest(); x.open("GET", "file://{{canary_dir}}/canary.txt"); x.onloadend = () => done(x.responseText); x.send() })',
  'new Promise((done) => { const f = document.createElement("iframe"); f.src = "file://{{canary_dir}}/canary.html"; f.onload = () => done(f.contentDocument?.body.innerText + f.contentWindow.canary); document.body.append(f); setTimeout(done, 500, "late") })'].map(async (code) => { try { return await eval(code) } catch (error) { return String(error) } }))`;
const world = async (sessionId) => {
  const { frameTree } = await send('Page.getFrameTree', {}, sessionId);
  const { executionContextId } = await send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: 'w', grantUniveralAccess: true }, sessionId);
  const { result } = await send('Runtime.evaluate', { contextId: executionContextId, expression: reads, awaitPromise: true, returnByValue: true }, sessionId);
  return result.value;
};
await send('Page.setBypassCSP', { enabled: true });
await visit('{{site}}/echo?body=<p>x');
const { browserContextId } = await cdp.send('Target.createBrowserContext', { originsWithUniversalNetworkAccess: ['{{site}}', 'file://'] });
const inside = await tab('{{site}}/', { browserContextId });
return tries(['world', 'universal', 'universal world'], async (way) => way === 'world' ? world(page) : way === 'universal' ? evaluate(reads, inside) : world(inside));
