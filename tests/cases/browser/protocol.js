// The protocol as the namespace offers it: what is wrong says what would be right.

// --- the namespace is awaited like any object
//! result: true
//! calls: 0
(await cdp) === cdp
// --- no browser is started for what needs none
//! result: /"state":"/
await cdp.sessionInfo()
// --- a command that does not exist
//! error: UNKNOWN_METHOD
//! message: the browser has no command Page.navigat
//! hint: /^Did you mean Page\.navigate\?/
await cdp.send('Page.navigat', { url: 'about:blank' })
// --- a page's command without its page
//! error: INVALID_ARGUMENT
//! hint: /sessionId/
await cdp.send('Page.navigate', { url: 'about:blank' })
// --- an event sent as a command
//! error: UNKNOWN_METHOD
//! message: Page.loadEventFired is an event, not a command
//! hint: /await cdp\.waitForEvent\("Page\.loadEventFired"/
const sessionId = await cdp.attachToTarget();
await cdp.send('Page.loadEventFired', {}, { sessionId })
// --- a parameter that does not exist
//! error: INVALID_ARGUMENT
//! message: /uri: is unknown; did you mean url\?/
//! hint: /cdp\.spec\("Page\.navigate"\)/
const sessionId = await cdp.attachToTarget();
await cdp.send('Page.navigate', { uri: 'about:blank' }, { sessionId })
// --- several wrong parameters at once
//! error: INVALID_ARGUMENT
//! message: Runtime.evaluate: expresion: is unknown; did you mean expression?; returnByValue: is a string, must be a boolean; expression: is missing; it is required, a string
const sessionId = await cdp.attachToTarget();
await cdp.send('Runtime.evaluate', { expresion: '1', returnByValue: 'yes' }, { sessionId })
// --- a method of the namespace that does not exist
//! error: UNKNOWN_METHOD
//! hint: /Did you mean cdp\.send\?/
await cdp.sends('Page.navigate')
// --- a page that does not exist
//! error: /CDP_TARGET_CLOSED|INVALID_ARGUMENT/
await cdp.attachToTarget('no such target')
// --- files of the machine are not read
//! error: POLICY_REFUSED
//! hint: /./
const sessionId = await cdp.attachToTarget();
await cdp.send('Page.navigate', { url: 'file:///etc/passwd' }, { sessionId })
// --- nor the browser's own pages
//! error: POLICY_REFUSED
const sessionId = await cdp.attachToTarget();
await cdp.send('Page.navigate', { url: 'chrome://settings' }, { sessionId })
// --- a call has its own time
//! error: CALL_TIMEOUT
//! hint: /timeoutMs/
const sessionId = await cdp.attachToTarget();
await cdp.send('Runtime.evaluate', { expression: 'new Promise(() => {})', awaitPromise: true }, { sessionId, timeoutMs: 200 })
// --- a page that refuses a connection is no error of the call
//! result: /^net::ERR_(CONNECTION_REFUSED|UNSAFE_PORT)$/
const sessionId = await cdp.attachToTarget();
(await cdp.send('Page.navigate', { url: 'http://127.0.0.1:9/' }, { sessionId })).errorText
// --- what the page throws is told, not thrown
//! result: "Error: in the page"
const sessionId = await cdp.attachToTarget();
const { exceptionDetails } = await cdp.send('Runtime.evaluate', { expression: 'throw new Error("in the page")' }, { sessionId });
exceptionDetails.exception.description.split('\n')[0]
// --- the protocol explains itself
//! result: [true,"url",true]
const index = await cdp.spec();
const navigate = await cdp.spec('Page.navigate');
const found = await cdp.spec({ search: 'screenshot' });
[JSON.stringify(index).includes('Page'), navigate.parameters.find((one) => !one.optional).name, JSON.stringify(found).includes('Page.captureScreenshot')]
// --- what was sent is remembered
//! result: [true,0]
const sessionId = await cdp.attachToTarget();
await cdp.send('Runtime.evaluate', { expression: '1' }, { sessionId });
const log = await cdp.getDebugLog();
await cdp.clearDebugLog();
[JSON.stringify(log).includes('Runtime.evaluate'), (await cdp.getDebugLog()).length]
// --- a script may close its own browser
//! error: BROWSER_GONE
await cdp.attachToTarget();
await cdp.send('Browser.close');
await cdp.attachToTarget();
// --- a browser costs an execution no processor time of its own
//! error: CPU_EXCEEDED
//! cpu_ms: 300
await cdp.attachToTarget();
for (;;);
// --- nor does waiting for one
//! error: TIME_EXCEEDED
//! timeout_ms: 3000
const sessionId = await cdp.attachToTarget();
await cdp.waitForEvent('Page.loadEventFired', { sessionId, timeoutMs: 60000 })
// --- names and values of any length are shown only in part
//! error: INVALID_ARGUMENT
//! message: /^Runtime\.evaluate: k{100}…: is unknown; there are [^;]*; expression: is missing; it is required, a string$/
const sessionId = await cdp.attachToTarget();
await cdp.send('Runtime.evaluate', { ['k'.repeat(1e6)]: 1 }, { sessionId })
// --- also values, of which there is only a choice
//! error: INVALID_ARGUMENT
//! message: /^Page\.captureScreenshot: format: is "k{100}…", must be one of "jpeg"/
const sessionId = await cdp.attachToTarget();
await cdp.send('Page.captureScreenshot', { format: 'k'.repeat(1e6) }, { sessionId })
// --- a command of any length does not exist
//! error: UNKNOWN_METHOD
//! calls: 1
await cdp.send('Page.' + 'k'.repeat(1e6))
// --- an answer of too many values fails alone, before it takes the host's memory, and a million of them are not too many
//! error: RESULT_TOO_LARGE
//! message: /^Runtime\.evaluate: the message is too large: 1000\d{4} bytes as text, at most 9437184 are taken$/
//! hint: /^Ask for less: filter/
//! console: ["[ 1000000, 2 ]"]
const sessionId = await cdp.attachToTarget();
const page = async (expression) =>
  (await cdp.send('Runtime.evaluate', { expression, returnByValue: true }, { sessionId, timeoutMs: 500_000 })).result.value;
const many = await page('new Array(1e6).fill(0)');
const error = await page('new Array(5e6).fill(0)').catch((error) => error);
console.log([many.length, await page('1 + 1')]);
throw error
// --- one of too many bytes as well, and less than that comes through
//! error: RESULT_TOO_LARGE
//! message: /^Runtime\.evaluate: the message is too large: 2000\d{4} bytes as text, at most 9437184 are taken$/
//! console: ["[ 9000000, 2 ]"]
const sessionId = await cdp.attachToTarget();
const page = async (expression) =>
  (await cdp.send('Runtime.evaluate', { expression, returnByValue: true }, { sessionId, timeoutMs: 500_000 })).result.value;
const long = await page('"x".repeat(9e6)');
const error = await page('"x".repeat(2e7)').catch((error) => error);
console.log([long.length, await page('1 + 1')]);
throw error
// --- large calls that wait do not hold up the small one that ends them
//! result: [1,2,3]
const sessionId = await cdp.attachToTarget();
const evaluate = (expression, awaitPromise) => cdp.send('Runtime.evaluate', { expression, awaitPromise }, { sessionId });
await evaluate('globalThis.ends = []');
const text = 'x'.repeat(1024).repeat(1500);
const waiting = [1, 2, 3].map((n) => evaluate(`'${text}'; new Promise((resolve) => ends.push(() => resolve(${n})))`, true));
await evaluate('new Promise((resolve) => { const look = () => ends.length === 3 ? resolve(ends.forEach((end) => end())) : setTimeout(look, 5); look() })', true);
(await Promise.all(waiting)).map(({ result }) => result.value)
// --- null is left out, in each form of a command
//! result: [true,"string"]
const sessionId = await cdp.attachToTarget();
const { frameId } = await cdp.send({ method: 'Page.navigate', params: { url: 'about:blank' }, sessionId, timeoutMs: null });
const { targetInfos } = await cdp.send({ method: 'Target.getTargets', params: null, sessionId: null });
[targetInfos.some(({ type }) => type === 'page'), typeof frameId]
// --- a command without its name
//! error: INVALID_ARGUMENT
//! message: cdp.send: command: "method" is a required property
await cdp.send({ params: {} })
// --- a query in the form of another
//! error: INVALID_ARGUMENT
//! message: /^cdp\.spec: query: /
await cdp.spec({ name: 'Page' })
// --- so many names of events at once
//! error: INVALID_ARGUMENT
//! message: /^cdp\.events: options\.names: .* has more than 100 items$/
await cdp.events({ names: new Array(30_000).fill('Page.loadEventFired') })
// --- what attachToTarget answers is accepted wherever a session is, and so is its sessionId
//! result: [2,2,2,2,"Page.loadEventFired","Page.loadEventFired",true]
const session = await cdp.attachToTarget();
const { sessionId } = session;
const two = async (options) => (await cdp.send('Runtime.evaluate', { expression: '1 + 1' }, options)).result.value;
const whole = { method: 'Runtime.evaluate', params: { expression: '1 + 1' }, ...session };
const values = [await two(session), await two({ sessionId }), await two({ sessionId: session }), (await cdp.send(whole)).result.value];
await cdp.send('Page.navigate', { url: 'data:text/html,<p>' }, session);
const { method } = await cdp.waitForEvent('Page.loadEventFired', session);
const { events } = await cdp.events({ sessionId: session, names: [method] });
[...values, method, events[0].method, events[0].sessionId === sessionId]
// --- a page is attached to by its id, by its session, and with a time
//! result: [true,true,true,true,true]
const session = await cdp.attachToTarget();
const { sessionId } = session;
const same = async (...target) => (await cdp.attachToTarget(...target)).targetId === session.targetId;
[await same(session.targetId, { timeoutMs: 5_000 }), await same(session), await same({ ...session, timeoutMs: 5_000 }), await same(sessionId), await same({ sessionId })]
// --- a time of no length is none
//! error: INVALID_ARGUMENT
//! message: /^cdp\.attachToTarget: options\.timeoutMs: 0 is less than the minimum of 1$/
await cdp.attachToTarget('x', { timeoutMs: 0 })
// --- an object that is no session is not taken for one
//! error: INVALID_ARGUMENT
//! message: /^cdp\.send: options\.sessionId: "sessionId" is a required property$/
await cdp.send('Page.enable', {}, { sessionId: { targetId: 'x' } })
// --- the last commands are had by their number
//! result: [1,1,2]
const session = await cdp.attachToTarget();
await cdp.send('Runtime.evaluate', { expression: '1' }, session);
[(await cdp.getDebugLog(1)).length, (await cdp.getDebugLog({ limit: 1 })).length, (await cdp.getDebugLog(20)).length]
