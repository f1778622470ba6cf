// Every command that takes an address, with every way to write a file's or one of the browser's own.
// family: addresses
// seen: no
// expect: POLICY_REFUSED
// walls: table, confinement
const file = '{{canary_dir}}/canary.txt';
const urls = [
  'file://' + file, 'FILE:' + file, ' \tfi\nle://' + file, 'file://localhost' + file, 'view-source:file://' + file,
  'view-source:view-source:file://' + file, 'blob:file://' + file, 'filesystem:file:///temporary' + file,
  'googlechrome:file://' + file, 'chrome://version', 'about:version', 'chrome-untrusted://print/', 'devtools://devtools/bundled/inspector.html',
  'chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html?file://' + file, 'isolated-app://x/', 'javascript:fetch("file://' + file + '")',
];
const read = () => evaluate('location.href + document.documentElement.innerText');
const stream = async ({ resource: { stream } }) => stream && (await send('IO.read', { handle: stream })).data;
const frameId = (await send('Page.getFrameTree')).frameTree.frame.id;
return [
  ...await tries(urls, async (url) => (await visit(url)) ?? read()),
  ...await tries(urls, async (url) => evaluate('document.documentElement.innerText', await tab(url))),
  ...await tries(urls, async (url) => stream(await send('Network.loadNetworkResource', { frameId, url, options: { disableCache: true, includeCredentials: true } }))),
];
