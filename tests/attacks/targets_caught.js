// The browser's own windows, caught at the first moment of a new one.
// family: targets
// seen: no
// expect: POLICY_REFUSED
// leak: INSIDE (chrome|devtools)
// walls: table
// alone: yes
// browser: whole
const answers = [];
await cdp.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter: [{ type: 'tab', exclude: true }, {}] });
const made = cdp.send('Target.createTarget', { url: '{{site}}/', newWindow: true }).catch((error) => error);
const seen = new Set();
await until(async () => {
  const events = await happened('Target.attachedToTarget');
  for (const { params: { sessionId, targetInfo, waitingForDebugger } } of events) {
    if (seen.has(sessionId) || targetInfo.type !== 'browser_ui') continue;
    seen.add(sessionId);
    const attempt = (method, params) => send(method, params, sessionId).catch((error) => { throw error; });
    for (const promise of [
      prepare(sessionId, 'tell("INSIDE " + location.href + " " + Object.keys(chrome))'),
      evaluate('"INSIDE " + location.href + " " + Object.keys(chrome)', sessionId),
      attempt('Runtime.runIfWaitingForDebugger'),
    ]) answers.push(promise.then((got) => ({ attempt: targetInfo.type + ' ' + waitingForDebugger, got: got ?? null }), (error) => ({ attempt: targetInfo.type + ' ' + waitingForDebugger, code: error.code })));
  }
}, 2000);
await made;
if (answers.length === 0) throw new Error('there is none');
return [...await Promise.all(answers), ...(await happened('Runtime.bindingCalled')).map((event) => ({ attempt: 'binding', got: event.params.payload }))];
