// Nothing of an execution is left in the next one: each case here looks for what the one before left.

// --- leave everything
//! result: true
//! console: ["behind: 1", "behind"]
//! warnings: ["/fake.hang/"]
globalThis.left = 'behind';
var alsoLeft = 1;
Object.prototype.left = Array.prototype.left = String.prototype.left = 'behind';
Promise.prototype.then.left = 'behind';
console.left = 'behind';
Math.PI2 = 6;
fake.echo.left = 'behind';
globalThis.setTimeout = () => 'behind';
Object.freeze(Object.prototype);
setTimeout(() => console.log('behind'), 1);
setInterval(() => console.log('behind'), 1);
fake.hang();
Promise.reject(new Error('behind')).catch(() => {});
console.log = () => {};
console.count('behind'); console.time('behind'); console.group('behind');
Symbol.for('behind');
true
// --- no globals
//! result: ["undefined","undefined"]
[typeof left, typeof alsoLeft]
// --- no prototypes
//! result: [{"$type":"undefined"},{"$type":"undefined"},{"$type":"undefined"},{"$type":"undefined"},false]
[({}).left, [].left, ''.left, Promise.prototype.then.left, Object.isFrozen(Object.prototype)]
// --- no built-ins
//! result: [{"$type":"undefined"},{"$type":"undefined"},"undefined"]
[console.left, Math.PI2, typeof fake.echo.left]
// --- no timers and no calls
//! result: 20
//! calls: 0
const before = Date.now();
await new Promise((done) => setTimeout(done, 20));
Math.min(20, Math.round(Date.now() - before))
// --- no counters, no labels, no groups
//! result: {"$type":"undefined"}
//! console: ["behind: 1", "plain"]
console.count('behind');
console.log('plain')
// --- ids begin anew
//! result: 1
setTimeout(() => {}, 0)
// --- the same globals in each
//! result: []
const known = new Set(['fake', 'tools']);
Object.keys(globalThis).filter((key) => !known.has(key))
