// A page that answers with a way to a file, or into the browser.
// family: addresses
// seen: no
// expect: nothing
// walls: confinement
const to = (url) => '{{site}}/to?url=' + encodeURIComponent(url);
const file = 'file://{{canary_dir}}/canary.html';
const urls = [file, 'FILE:{{canary_dir}}/canary.html', 'view-source:' + file, 'chrome://version', 'about:version', 'devtools://devtools/bundled/inspector.html', 'chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html'];
const read = (sessionId) => evaluate('location.href + document.documentElement.innerText', sessionId);
// A page that has gone where no script may be is taken away: each goes on with another one.
const there = async (url) => { page = await tab(); return visit(url); };
return [
  ...await tries(urls, async (url) => [await there(to(url)), await read()]),
  ...await tries(urls, async (url) => { await there(html(`<meta http-equiv=refresh content="0;url=${url}">`)); await pause(150); return read(); }),
  ...await tries(urls, async (url) => { await there('{{site}}/'); return evaluate(`fetch(${JSON.stringify(to(url))}).then((answer) => answer.text())`); }),
  ...await tries(urls, async (url) => send('Network.loadNetworkResource', { frameId: (await send('Page.getFrameTree')).frameTree.frame.id, url: to(url), options: { disableCache: true, includeCredentials: true } })
      .then(({ resource }) => resource.stream ? send('IO.read', { handle: resource.stream }) : resource)),
];
