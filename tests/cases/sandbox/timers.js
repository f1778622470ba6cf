// Timers.

// --- in the order of their time, then of their making
//! result: ["a","b","c","d"]
const seen = [];
setTimeout(() => seen.push('c'), 20);
setTimeout(() => seen.push('a'), 1);
setTimeout(() => seen.push('d'), 20);
setTimeout(() => seen.push('b'), 5);
await new Promise((done) => setTimeout(done, 30));
seen
// --- microtasks come before timers
//! result: ["sync","micro","promise","timer"]
const seen = [];
setTimeout(() => seen.push('timer'), 0);
queueMicrotask(() => seen.push('micro'));
Promise.resolve().then(() => seen.push('promise'));
seen.push('sync');
await new Promise((done) => setTimeout(done, 5));
seen
// --- arguments and the id
//! result: ["a",1,"number"]
const id = setTimeout(() => {}, 1);
const [a, b] = await new Promise((done) => setTimeout((...all) => done(all), 1, 'a', 1));
[a, b, typeof id]
// --- cleared
//! result: []
const seen = [];
const id = setTimeout(() => seen.push('no'), 1);
clearTimeout(id); clearTimeout(id); clearTimeout(undefined); clearTimeout(99999); clearTimeout('x');
await new Promise((done) => setTimeout(done, 10));
seen
// --- an interval until it is cleared
//! result: 3
let n = 0;
await new Promise((done) => { const id = setInterval(() => { if (++n === 3) { clearInterval(id); done() } }, 2) });
await new Promise((done) => setTimeout(done, 10));
n
// --- an interval that clears itself by clearTimeout
//! result: 1
let n = 0;
const id = setInterval(() => { n++; clearTimeout(id) }, 1);
await new Promise((done) => setTimeout(done, 20));
n
// --- timers in timers
//! result: 3
let n = 0;
await new Promise((done) => { const next = () => ++n === 3 ? done() : setTimeout(next, 1); setTimeout(next, 1) });
n
// --- strange delays
//! result: 6
const delays = [-1, NaN, 'x', undefined, null, 0.5];
await Promise.all(delays.map((delay) => new Promise((done) => setTimeout(done, delay))));
delays.length
// --- not a function
//! error: SCRIPT_ERROR
//! message: /setTimeout needs a function as its first argument, not string/
setTimeout('alert(1)', 1)
// --- an await of a timer takes its time
//! result: true
const before = Date.now();
await new Promise((done) => setTimeout(done, 25));
Date.now() - before >= 25
// --- timers and calls go on side by side
//! result: ["timer","call"]
const seen = [];
await Promise.all([fake.wait(3000).then(() => seen.push('call')), new Promise((done) => setTimeout(done, 5)).then(() => seen.push('timer'))]);
seen
// --- calls go on side by side
//! result: true
const before = Date.now();
await Promise.all(Array.from({ length: 50 }, () => fake.wait(600)));
Date.now() - before < 600 * 25
// --- an abort by timeout
//! result: ["TimeoutError",true]
const signal = AbortSignal.timeout(5);
await new Promise((done) => signal.addEventListener('abort', done));
[signal.reason.name, signal.aborted]
