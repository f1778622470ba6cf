// Scripts that never give back the processor.

// --- an endless loop
//! error: CPU_EXCEEDED
//! message: the script used its 300ms of processor time
//! hint: /endless loop/
//! cpu_ms: 300
for (;;);
// --- one that does something
//! error: CPU_EXCEEDED
//! cpu_ms: 300
let n = 0;
while (true) n = Math.sqrt(n + 1);
// --- one that prints keeps what it has printed
//! error: CPU_EXCEEDED
//! console: []
//! cpu_ms: 300
console.log('before');
for (;;);
// --- printed before a turn ended, it is kept
//! error: CPU_EXCEEDED
//! console: ["before"]
//! cpu_ms: 300
console.log('before');
await fake.wait(1);
for (;;);
// --- a try does not catch it
//! error: CPU_EXCEEDED
//! cpu_ms: 300
for (;;) { try { for (;;); } catch { } finally { } }
// --- microtasks that make microtasks
//! error: CPU_EXCEEDED
//! cpu_ms: 300
const again = () => queueMicrotask(again);
again();
await new Promise(() => {});
// --- a promise chain without end
//! error: CPU_EXCEEDED
//! cpu_ms: 300
const next = () => Promise.resolve().then(next);
await next();
// --- awaits without end
//! error: CPU_EXCEEDED
//! cpu_ms: 300
for (;;) await null;
// --- a thenable that resolves to another one
//! error: CPU_EXCEEDED
//! cpu_ms: 300
const thenable = { then(resolve) { resolve({ then: thenable.then }) } };
await thenable;
// --- a regular expression that backtracks
//! error: CPU_EXCEEDED
//! cpu_ms: 300
/^(a+)+$/.test('«40 "a"»!')
// --- another one
//! error: CPU_EXCEEDED
//! cpu_ms: 300
/(x+x+)+y/.exec('x'.repeat(60))
// --- sorting without order
//! error: CPU_EXCEEDED
//! cpu_ms: 300
const list = Array.from({ length: 200000 }, (_, i) => i);
for (;;) list.sort(() => Math.random() - 0.5);
// --- sorting without end
//! error: CPU_EXCEEDED
//! cpu_ms: 300
const list = Array.from({ length: 64 }, (_, i) => i);
list.sort(() => { for (;;); });
// --- sorting what says that it is longer than memory
//! error: CPU_EXCEEDED
//! cpu_ms: 300
[].sort.call({ length: 2 ** 53 });
// --- a generator without end
//! error: CPU_EXCEEDED
//! cpu_ms: 300
function* endless() { for (;;) yield 1 }
for (const one of endless());
// --- an iterator without end into Math.max
//! error: /CPU_EXCEEDED|MEMORY_EXCEEDED|SCRIPT_ERROR|STACK_OVERFLOW/
//! cpu_ms: 2000
function* endless() { for (;;) yield 1 }
Math.max(...endless())
// --- an async generator without end
//! error: CPU_EXCEEDED
//! cpu_ms: 300
async function* endless() { for (;;) yield 1 }
for await (const one of endless());
// --- a bigint that takes for ever
//! error: /CPU_EXCEEDED|MEMORY_EXCEEDED|SCRIPT_ERROR/
//! cpu_ms: 1000
2n ** (2n ** 40n)
// --- a proxy in a loop
//! error: CPU_EXCEEDED
//! cpu_ms: 300
const proxy = new Proxy({}, { has: () => true });
while ('x' in proxy);
// --- a getter in the result
//! error: CPU_EXCEEDED
//! cpu_ms: 300
({ get a() { for (;;); } })
// --- a toString in what is printed
//! error: CPU_EXCEEDED
//! cpu_ms: 300
console.log(`${{ toString() { for (;;); } }}`)
// --- a then of the result
//! error: CPU_EXCEEDED
//! cpu_ms: 300
({ then() { for (;;); } })
// --- a getter of what is thrown
//! error: CPU_EXCEEDED
//! cpu_ms: 300
throw { get message() { for (;;); } }
// --- a timer's callback
//! error: CPU_EXCEEDED
//! cpu_ms: 300
setTimeout(() => { for (;;); }, 1);
await new Promise(() => {});
// --- the time of all turns counts together
//! error: CPU_EXCEEDED
//! cpu_ms: 300
const spin = () => { let n = 0; for (let i = 0; i < 20000; i++) n += i; return n };
for (;;) { spin(); await fake.echo(1) }
// --- eval is not outside
//! error: CPU_EXCEEDED
//! cpu_ms: 300
eval('for (;;);')
// --- nor is Function
//! error: CPU_EXCEEDED
//! cpu_ms: 300
new Function('for (;;);')()
// --- an endless list of keys
//! error: CPU_EXCEEDED
//! cpu_ms: 300
const object = {};
for (let i = 0; ; i = (i + 1) % 100) object['k' + i] = i;
// --- replacing for ever
//! error: /CPU_EXCEEDED|MEMORY_EXCEEDED/
//! cpu_ms: 1000
'a'.repeat(200000).replace(/a/g, () => 'a'.repeat(100000)).length
// --- indexOf over and over
//! error: CPU_EXCEEDED
//! cpu_ms: 300
const text = 'a'.repeat(1000000);
for (;;) text.indexOf('aab');
