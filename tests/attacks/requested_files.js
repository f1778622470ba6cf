// Files and the browser's own pages, by requests of the script's own, also where a server sends these on.
// family: files
// seen: no
// expect: POLICY_REFUSED | CALL_FAILED | INVALID_ARGUMENT | CALL_TIMEOUT
// walls: table, confinement
const [tab] = await browser.pages();
const file = 'file://{{canary_dir}}/canary.txt';
const urls = [file, 'FILE://{{canary_dir}}/canary.txt', ' file://{{canary_dir}}/canary.txt', 'fi\tle://{{canary_dir}}/canary.txt', 'view-source:' + file, 'filesystem:' + file, 'blob:' + file, 'chrome://version/', 'chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html', 'devtools://devtools/bundled/inspector.html', 'data:text/html,<iframe src="' + file + '">', 'about:blank', 'javascript:fetch("' + file + '")'];
const to = (url) => '{{site}}/to?url=' + encodeURIComponent(url);
const text = async (answer) => { const got = await answer; return `${got.status()} ${JSON.stringify(got.headers())} ${await got.text()}`; };
const routed = async (url) => {
  let got;
  await tab.goto('{{site}}/');
  await tab.route('**/routed', async (route) => { got = await text(route.fetch({ url })).catch((error) => error); await route.abort().catch(() => null); });
  await tab.evaluate(() => fetch('/routed').catch(() => null));
  await tab.unrouteAll();
  if (got instanceof Error) throw got;
  return got;
};
return [
  ...await tries(urls, (url) => text(tab.request.get(url, { timeout: 5000 }))),
  ...await tries(urls, (url) => text(tab.request.get(to(url), { timeout: 5000 }))),
  ...await tries([file, 'chrome://version/'], (url) => text(tab.request.get(to(to(url)), { timeout: 5000 }))),
  ...await tries([file, 'chrome://version/'], routed),
  ...await tries([`GET ${file} HTTP/1.1\r\nx: `, 'CONNECT', 'TRACE'], (method) => text(tab.request.fetch('{{site}}/', { method, timeout: 5000 }))),
];
