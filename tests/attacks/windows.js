// Windows that a page opens or moves, as if its user had clicked.
// family: pages
// seen: no
// expect: nothing
// leak: OPENED (file|chrome|devtools|view-source):
// walls: confinement
const urls = ['file://{{canary_dir}}/canary.html', 'view-source:file://{{canary_dir}}/canary.html', 'chrome://settings/', 'chrome://version', 'devtools://devtools/bundled/inspector.html', 'chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html'];
const ways = [
  (url) => `open(${url}, '_blank', 'popup')`, (url) => `location = ${url}`, (url) => `location.replace(${url})`, (url) => `navigation.navigate(${url})`,
  (url) => `history.pushState(0, '', ${url})`, (url) => `{ const w = open('about:blank'); w.location = ${url}; }`, (url) => `{ const a = document.createElement('a'); a.href = ${url}; a.target = '_blank'; a.rel = 'opener'; document.body.append(a); a.click() }`,
  (url) => `{ const w = open(); w.document.write('<base href="file:///"><iframe src=' + ${url} + '>'); }`, (url) => `document.domain = ''; navigator.registerProtocolHandler('web+x', ${url} + '?%s')`,
  (url) => `navigator.serviceWorker.register(${url})`,
];
await visit('{{site}}/');
const attempts = await tries(urls, async (url) => {
  const said = [];
  for (const way of ways) said.push(await evaluate(`try { ${way(JSON.stringify(url))}; 0 } catch (error) { error.name }`).catch((error) => error.code));
  return said.join();
});
await pause(300);
const { targetInfos } = await cdp.send('Target.getTargets');
return [...attempts, ...targetInfos.filter(({ type, openerId }) => type === 'page' && openerId).map(({ url }) => ({ attempt: 'window', got: 'OPENED ' + url }))];
