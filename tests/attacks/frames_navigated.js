// Frames of other sites, popups and history: each is attached to while it has no address, and is moved to a file.
// family: targets
// seen: no
// expect: nothing
// leak: FRAME (file|chrome)
// walls: table
// alone: yes
const urls = ['file://{{canary_dir}}/canary.html', 'chrome://version'];
await cdp.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter: [{ type: 'page' }, { type: 'iframe' }] });
await send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true });
const moves = (url) => `addEventListener('load', () => setTimeout(() => { tell('FRAME ' + location.href + document.documentElement.innerText); location = ${JSON.stringify(url)}; }));`;
const attempts = [];
for (const url of urls) {
  send('Page.navigate', { url: html(`<iframe src="{{other}}/echo?body=frame"></iframe><script>globalThis.popup = open('{{other}}/echo?body=popup')</script>`) }).catch((error) => error);
  const done = new Set();
  await until(async () => {
    const events = await happened('Target.attachedToTarget');
    for (const { params: { sessionId, waitingForDebugger } } of events) {
      if (!waitingForDebugger || done.has(sessionId)) continue;
      done.add(sessionId);
      await prepare(sessionId, moves(url)).catch((error) => attempts.push(error.code));
      await send('Runtime.runIfWaitingForDebugger', {}, sessionId).catch((error) => attempts.push(error.code));
      await send('Page.navigate', { url }, sessionId).catch((error) => attempts.push(error.code));
      await send('Page.reload', { scriptToEvaluateOnLoad: moves(url) }, sessionId).catch((error) => attempts.push(error.code));
    }
  }, 1500);
}
return [attempts, (await happened('Runtime.bindingCalled')).map((event) => event.params.payload.slice(0, 500))];
