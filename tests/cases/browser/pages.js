// Pages of a real browser. `{{site}}` is where the demo's site is.

// --- navigate and evaluate
//! result: ["Log in","/login",2]
const sessionId = await cdp.attachToTarget();
await cdp.send('Page.navigate', { url: '{{site}}/login' }, { sessionId });
await cdp.waitForEvent('Page.loadEventFired', { sessionId });
const expression = '[document.title, location.pathname, 1 + 1]';
const { result } = await cdp.send('Runtime.evaluate', { expression, returnByValue: true }, { sessionId });
result.value
// --- the other way to write it
//! result: "Log in"
const sessionId = await cdp.attachToTarget();
await cdp.send({ method: 'Page.navigate', params: { url: '{{site}}/login' }, sessionId });
await cdp.waitForEvent('Page.loadEventFired', { sessionId });
const { result } = await cdp.send({ method: 'Runtime.evaluate', params: { expression: 'document.title' }, sessionId, timeoutMs: 5000 });
result.value
// --- a page that comes slowly
//! result: "300"
const sessionId = await cdp.attachToTarget();
await cdp.send('Page.navigate', { url: '{{site}}/slow?ms=300' }, { sessionId });
await cdp.waitForEvent('Page.loadEventFired', { sessionId });
const { result } = await cdp.send('Runtime.evaluate', { expression: 'took.textContent' }, { sessionId });
result.value
// --- a network event that fires before the wait is reached
//! result: [200,"text/css"]
const sessionId = await cdp.attachToTarget();
await cdp.send('Network.enable', {}, { sessionId });
await cdp.send('Page.navigate', { url: '{{site}}/login' }, { sessionId });
await cdp.waitForEvent('Page.loadEventFired', { sessionId });
// Loaded: the answer of the style sheet has come before anyone waits for it.
const { params } = await cdp.waitForEvent('Network.responseReceived', { sessionId, where: { response: { url: '*/style.css' } } });
[params.response.status, params.response.mimeType]
// --- and one that fires much later
//! result: true
const sessionId = await cdp.attachToTarget();
await cdp.send('Network.enable', {}, { sessionId });
await cdp.send('Page.navigate', { url: '{{site}}/login' }, { sessionId });
await cdp.waitForEvent('Page.loadEventFired', { sessionId });
const response = cdp.waitForEvent('Network.responseReceived', { sessionId, where: { response: { url: '*/slow*' } } });
await cdp.send('Runtime.evaluate', { expression: 'void fetch("/slow?ms=200")' }, { sessionId });
(await response).params.response.url.endsWith('/slow?ms=200')
// --- a dialog that the page opens during a call
//! result: ["DIALOG_OPEN",true,"alert closed"]
const sessionId = await cdp.attachToTarget();
await cdp.send('Page.navigate', { url: '{{site}}/dialog' }, { sessionId });
await cdp.waitForEvent('Page.loadEventFired', { sessionId });
const evaluate = (expression) => cdp.send('Runtime.evaluate', { expression, returnByValue: true }, { sessionId });
const error = await evaluate('document.querySelector("#alert").click()').catch((error) => error);
await cdp.send('Page.handleJavaScriptDialog', { accept: true }, { sessionId });
const { result } = await evaluate('document.querySelector("#answer").textContent');
[error.code, error.message.includes('an alert'), result.value]
// --- a dialog that nobody answers is the answer's error
//! error: DIALOG_OPEN
//! message: /confirm dialog "really\?"/
//! hint: /Page\.handleJavaScriptDialog/
//! details.type: "confirm"
const sessionId = await cdp.attachToTarget();
await cdp.send('Page.navigate', { url: '{{site}}/dialog' }, { sessionId });
await cdp.waitForEvent('Page.loadEventFired', { sessionId });
await cdp.send('Runtime.evaluate', { expression: 'document.querySelector("#confirm").click()' }, { sessionId });
// --- a dialog does not hang the end of the script
//! result: "done"
//! warnings: /./
const sessionId = await cdp.attachToTarget();
cdp.send('Runtime.evaluate', { expression: 'alert(1)' }, { sessionId }).catch(() => {});
await cdp.waitForEvent('Page.javascriptDialogOpening', { sessionId });
cdp.send('Runtime.evaluate', { expression: '1' }, { sessionId });
await fake.echo(1);
'done'
// --- a page that crashes
//! result: ["CDP_TARGET_CRASHED",true,"about:blank"]
const sessionId = await cdp.attachToTarget();
const error = await cdp.send('Page.crash', {}, { sessionId }).catch((error) => error);
const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' });
const other = await cdp.attachToTarget(targetId);
const { result } = await cdp.send('Runtime.evaluate', { expression: 'location.href' }, { sessionId: other });
[error.code, error.retryable, result.value]
// --- one that nobody catches
//! error: CDP_TARGET_CRASHED
const sessionId = await cdp.attachToTarget();
await cdp.send('Page.crash', {}, { sessionId });
// --- two pages at once
//! result: ["one","two"]
const open = async (title) => {
  const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' });
  const sessionId = await cdp.attachToTarget(targetId);
  await cdp.send('Page.navigate', { url: `data:text/html,<title>${title}</title>` }, { sessionId });
  await cdp.waitForEvent('Page.loadEventFired', { sessionId });
  const { result } = await cdp.send('Runtime.evaluate', { expression: 'document.title' }, { sessionId });
  return result.value;
};
await Promise.all([open('one'), open('two')])
// --- a hundred calls at once
//! result: 4950
//! calls: 101
const sessionId = await cdp.attachToTarget();
const calls = Array.from({ length: 100 }, (_, i) => cdp.send('Runtime.evaluate', { expression: String(i) }, { sessionId }));
(await Promise.all(calls)).reduce((sum, { result }) => sum + result.value, 0)
// --- a large page
//! result: [20000,true]
const sessionId = await cdp.attachToTarget();
await cdp.send('Page.navigate', { url: '{{site}}/big?items=20000' }, { sessionId });
await cdp.waitForEvent('Page.loadEventFired', { sessionId });
const evaluate = async (expression) => (await cdp.send('Runtime.evaluate', { expression, returnByValue: true }, { sessionId })).result.value;
const html = await evaluate('document.documentElement.outerHTML');
[await evaluate('document.querySelectorAll("li").length'), html.length > 800000]
// --- a log-in
//! result: ["/account","Account of ada"]
const sessionId = await cdp.attachToTarget();
const evaluate = async (expression) => (await cdp.send('Runtime.evaluate', { expression, returnByValue: true }, { sessionId })).result.value;
await cdp.send('Page.navigate', { url: '{{site}}/login' }, { sessionId });
await cdp.waitForEvent('Page.loadEventFired', { sessionId });
await evaluate('user.value = "ada"; password.value = "lovelace"; submit.click()');
await cdp.waitForEvent('Page.frameNavigated', { sessionId, where: { frame: { url: '*/account' } } });
await cdp.waitForEvent('Page.loadEventFired', { sessionId });
[await evaluate('location.pathname'), await evaluate('document.title')]
// --- the next execution is not logged in
//! result: "/login"
const sessionId = await cdp.attachToTarget();
await cdp.send('Page.navigate', { url: '{{site}}/account' }, { sessionId });
await cdp.waitForEvent('Page.loadEventFired', { sessionId });
(await cdp.send('Runtime.evaluate', { expression: 'location.pathname' }, { sessionId })).result.value
// --- events are kept from the attachment on
//! result: [true,true,0]
const sessionId = await cdp.attachToTarget();
await cdp.send('Page.enable', {}, { sessionId });
await cdp.send('Page.navigate', { url: '{{site}}/login' }, { sessionId });
await cdp.waitForEvent('Page.loadEventFired', { sessionId });
const { events, next, dropped } = await cdp.events({ sessionId, names: ['Page.frameNavigated'] });
[events.length >= 1, next > events.at(-1).seq, dropped]
