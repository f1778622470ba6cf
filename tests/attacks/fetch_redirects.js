// The script answers a page's request itself, with a way to a file or with a file's address.
// family: addresses
// seen: no
// expect: POLICY_REFUSED | CDP_PROTOCOL_ERROR
// walls: table, confinement
const file = 'file://{{canary_dir}}/canary.html';
await send('Fetch.enable', { patterns: [{ urlPattern: '*/held*', requestStage: 'Request' }] });
const held = async () => {
  send('Page.navigate', { url: '{{site}}/held' }).catch(() => {});
  return (await cdp.waitForEvent('Fetch.requestPaused', { sessionId: page, timeoutMs: 1500 })).params.requestId;
};
const read = async () => { await pause(200); return evaluate('location.href + document.documentElement.innerText'); };
const urls = [file, 'view-source:' + file, 'chrome://version', 'FILE:{{canary_dir}}/canary.html'];
const attempts = await tries(urls, async (url) => {
  const requestId = await held();
  try {
    await send('Fetch.continueRequest', { requestId, url });
  } catch (error) {
    await send('Fetch.failRequest', { requestId, errorReason: 'Failed' });
    throw error;
  }
  return read();
});
for (const url of urls) {
  const requestId = await held();
  await send('Fetch.fulfillRequest', { requestId, responseCode: 302, responseHeaders: [{ name: 'Location', value: url }] });
  console.log(await read());
}
return attempts;
