// Errors that nothing handles do not fail the script, but they are told.

// --- a rejected promise
//! result: 1
//! warnings: ["/^nothing handled: Error: lost at .*script\\.js:1:/"]
Promise.reject(new Error('lost'));
1
// --- one that is handled is none
//! result: "lost"
await Promise.reject(new Error('lost')).catch((error) => error.message)
// --- one that is handled later is none
//! result: "late"
const promise = Promise.reject(new Error('late'));
await fake.echo(1);
await promise.catch((error) => error.message)
// --- an async function that nobody awaits
//! result: 1
//! warnings: ["/TypeError: async/"]
(async () => { throw new TypeError('async') })();
1
// --- a chain without an end
//! result: 1
//! warnings: ["/chain/"]
Promise.resolve().then(() => { throw new Error('chain') });
await null; await null;
1
// --- values that are no errors
//! result: 1
//! warnings: ["/string: '?text/", "/object: \\{ a: 1 \\}/", "/undefined/"]
Promise.reject('text'); Promise.reject({ a: 1 }); Promise.reject();
1
// --- many are counted, not listed
//! result: 1
//! warnings: /^(nothing handled: Error: \d+[^\n]*\n){10}nothing handled: 990 more errors$/
for (let i = 0; i < 1000; i++) Promise.reject(new Error(String(i)));
1
// --- a timer that throws
//! result: 1
//! warnings: ["/Error: in a timer/"]
setTimeout(() => { throw new Error('in a timer') }, 1);
await new Promise((done) => setTimeout(done, 10));
1
// --- a microtask that throws
//! result: 1
//! warnings: ["/Error: in a microtask/"]
queueMicrotask(() => { throw new Error('in a microtask') });
await null; await null;
1
// --- a listener that throws
//! result: [true]
//! warnings: ["/Error: in a listener/"]
const target = new EventTarget();
target.addEventListener('x', () => { throw new Error('in a listener') });
[target.dispatchEvent(new Event('x'))]
// --- besides the error of the script
//! error: SCRIPT_ERROR
//! message: Error: mine
//! warnings: ["/Error: lost/"]
Promise.reject(new Error('lost'));
throw new Error('mine')
// --- the script's own rejection is not told twice
//! error: SCRIPT_ERROR
//! message: Error: once
(async () => { throw new Error('once') })()
// --- a call that fails and that nobody awaits
//! result: 1
//! warnings: ["/nobody listens/"]
fake.fail('CALL_FAILED', 'nobody listens');
await fake.wait(5);
1
// --- of Promise.all only the first is the script's
//! error: SCRIPT_ERROR
//! message: Error: first
await Promise.all([Promise.reject(new Error('first')), Promise.reject(new Error('second'))])
// --- a rejection with hostile getters
//! result: 1
//! warnings: ["/./"]
Promise.reject({ get message() { throw new Error('asked') }, get name() { throw new Error('asked') } });
1
