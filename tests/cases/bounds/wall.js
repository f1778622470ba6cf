// Scripts that wait for longer than they may.

// --- a timer that is due too late
//! error: TIME_EXCEEDED
//! message: /time/
//! hint: /timeout_ms/
//! timeout_ms: 100
await new Promise((done) => setTimeout(done, 3600000));
// --- an interval without end
//! error: TIME_EXCEEDED
//! timeout_ms: 100
setInterval(() => {}, 5);
await new Promise(() => {});
// --- a call that never returns
//! error: TIME_EXCEEDED
//! timeout_ms: 10000
//! calls: 1
await fake.hang()
// --- calls one after the other
//! error: TIME_EXCEEDED
//! timeout_ms: 100
for (;;) await fake.wait(5)
// --- calls that are answered at once
//! error: TIME_EXCEEDED
//! timeout_ms: 100
for (;;) { await fake.echo(1); for (let i = 0; i < 20000; i++); }
// --- spinning within the processor's time
//! error: TIME_EXCEEDED
//! timeout_ms: 100
for (;;);
// --- what was printed before is kept
//! error: TIME_EXCEEDED
//! timeout_ms: 10000
//! console: ["before"]
console.log('before');
await fake.hang();
// --- it cannot be caught
//! error: TIME_EXCEEDED
//! timeout_ms: 100
try { await fake.hang() } catch { } finally { for (;;) await fake.echo(1) }
// --- a timer that nobody waits for does not hold the result back
//! result: "done"
setTimeout(() => {}, 3600000);
'done'
// --- nor does a call that nobody awaits, but it is a warning
//! result: "done"
//! warnings: ["/^1 calls had not ended .*fake.hang.*await every call/"]
fake.hang();
await null;
'done'
// --- a call that nobody awaits and that fails is a warning or cancelled
//! result: "done"
//! warnings: ["/fake.fail/"]
fake.fail('CALL_FAILED', 'nobody listens');
'done'
// --- a deadlock: nothing can settle the promise
//! error: DEADLOCK
//! hint: /resolve or reject/
//! timeout_ms: 60000
await new Promise(() => {});
// --- the same as the result
//! error: DEADLOCK
new Promise(() => {})
// --- a thenable that never settles
//! error: DEADLOCK
({ then() {} })
// --- promises that wait for each other
//! error: DEADLOCK
const all = [];
all[0] = (async () => { await null; await all[1] })();
all[1] = (async () => { await null; await all[0] })();
await Promise.all(all);
// --- a cleared timer was the last hope
//! error: DEADLOCK
await new Promise((done) => { const id = setTimeout(done, 10); clearTimeout(id) });
// --- after the last call
//! error: DEADLOCK
//! calls: 1
await fake.echo(1);
await new Promise(() => {});
// --- an abort signal that nobody aborts
//! error: DEADLOCK
await new Promise((done) => new AbortController().signal.addEventListener('abort', done));
// --- a race with a timer is none
//! result: "timer"
await Promise.race([new Promise(() => {}), new Promise((done) => setTimeout(done, 5, 'timer'))])
