// What every case has before it: a tab of its own, and short names for what an attacker does all the time.
let page = (await cdp.attachToTarget()).sessionId, began = 0;
const send = (method, params = {}, sessionId = page) => cdp.send(method, params, { sessionId, timeoutMs: 8000 });
const evaluate = async (expression, sessionId = page) => {
  const { result, exceptionDetails } = await send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true, userGesture: true }, sessionId);
  return exceptionDetails ? 'thrown: ' + (result.description ?? exceptionDetails.text) : result.value;
};
const visit = async (url, sessionId = page) => {
  const { errorText } = await send('Page.navigate', { url }, sessionId);
  if (errorText) return errorText;
  await cdp.waitForEvent('Page.loadEventFired', { sessionId, timeoutMs: 8000 });
};
const html = (body) => '{{site}}/echo?body=' + encodeURIComponent('<!doctype html><meta charset=utf-8>' + body);
const tab = async (url = 'about:blank', more = {}) => (await cdp.attachToTarget((await cdp.send('Target.createTarget', { url, ...more })).targetId)).sessionId;
// A document's text once it is loaded.
const TEXT = `new Promise((done) => {
  const tell = () => done(location.href + ' ' + document.documentElement.innerText);
  document.readyState === 'complete' ? tell() : addEventListener('load', tell);
})`;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
// The events of a name in any session, since the case began.
const happened = async (name, since = began) => (await cdp.events({ names: [name], limit: 1000, since })).events;
// Asks until there is an answer that is not undefined.
const until = async (ask, ms = 2500) => {
  for (const end = Date.now() + ms; Date.now() < end; await pause(50)) {
    const answer = await ask();
    if (answer !== undefined) return answer;
  }
};
// What was called on a binding, in any session, that matches.
const told = (pattern, since = began) => until(async () => {
  const events = await happened('Runtime.bindingCalled', since);
  return events.map((event) => event.params.payload).find((payload) => pattern.test(payload));
});
// Where the events are now.
const now = async () => (await cdp.events({ names: ['Browser.downloadProgress'], limit: 1000 })).next;
// Asks until there is an answer that is not undefined, or a page has loaded or was taken for a download, and a moment has
// passed: what comes with the page has come by then.
const untilSettled = async (since, ask, sessionId = page) => {
  const names = ['Page.loadEventFired', 'Page.downloadWillBegin', 'Page.frameStoppedLoading'];
  let over = false;
  until(async () => (await cdp.events({ names, sessionId, since, limit: 1 })).events[0]).then(() => pause(400)).then(() => { over = true; });
  return (await until(async () => (await ask()) ?? (over ? null : undefined))) ?? undefined;
};
// One attempt for each of these: what came of it, or the code of its error.
const tries = async (things, attempt) => {
  const attempts = [];
  for (const thing of things) {
    const label = typeof thing === 'string' ? thing : JSON.stringify(thing);
    try {
      attempts.push({ attempt: label, got: (await attempt(thing)) ?? null });
    } catch (error) {
      attempts.push({ attempt: label, code: error.code ?? String(error), message: error.message });
    }
  }
  return attempts;
};
// A tab that tells its document's text whenever it has loaded one.
const prepared = async (more = {}) => {
  const { targetId } = await cdp.send('Target.createTarget', { url: '{{site}}/', ...more });
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true });
  // What a file says is there once it is loaded; elsewhere it is enough to be.
  await prepare(sessionId, `if (location.protocol === 'file:') addEventListener('load', () => tell('PREPARED ' + location.href + ' ' + document.documentElement.innerText));
    else tell('PREPARED ' + location.href)`);
  return sessionId;
};
// What a prepared tab tells when it was moved to a file, or was not let to it.
const AT_FILE = /PREPARED (file|chrome-error):/;
const prepare = async (sessionId, source) => {
  await Promise.all([
    send('Page.enable', {}, sessionId),
    send('Runtime.enable', {}, sessionId),
    send('Runtime.addBinding', { name: 'tell' }, sessionId),
    send('Page.addScriptToEvaluateOnNewDocument', { source }, sessionId),
  ]);
};
// Catches the viewer of a PDF while nobody knows yet what it will show, and has it run this.
const viewer = async (source, url = '{{site}}/pdf') => {
  await send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true });
  await send('Page.enable');
  const since = await now();
  send('Page.navigate', { url }).catch(() => {});
  await untilSettled(since, async () => (await happened('Target.attachedToTarget', since)).find(({ params }) => params.targetInfo.type === 'iframe'));
  const { sessionId } = (await cdp.waitForEvent('Target.attachedToTarget', { sessionId: page, where: { targetInfo: { type: 'iframe' } }, timeoutMs: 100 })).params;
  await prepare(sessionId, source);
  await send('Runtime.runIfWaitingForDebugger', {}, sessionId);
};
// Leaves one fresh tab for the next case.
const leave = async () => {
  const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' });
  const { targetInfos } = await cdp.send('Target.getTargets');
  for (const target of targetInfos) {
    if (target.type === 'page' && target.targetId !== targetId) await cdp.send('Target.closeTarget', { targetId: target.targetId }).catch((error) => error);
  }
  page = (await cdp.attachToTarget(targetId)).sessionId;
  began = await now();
};
