// How values look in the console.

// --- levels
//! result: {"$type":"undefined"}
//! console: ["a", "info: b", "warn: c", "error: d", "debug: e"]
console.log('a'); console.info('b'); console.warn('c'); console.error('d'); console.debug('e')
// --- several values
//! result: {"$type":"undefined"}
//! console: ["a 1 true null undefined 5n"]
console.log('a', 1, true, null, undefined, 5n)
// --- objects
//! result: {"$type":"undefined"}
//! console: ["{ a: 1, b: [ 1, 'x' ], c: { d: null } }"]
console.log({ a: 1, b: [1, 'x'], c: { d: null } })
// --- kinds
//! result: {"$type":"undefined"}
//! console: ["Map(1) { 'a' => 1 } Set(1) { 2 } 1970-01-01T00:00:00.000Z Uint8Array(2) [ 1, 2 ] Symbol(s)"]
console.log(new Map([['a', 1]]), new Set([2]), new Date(0), new Uint8Array([1, 2]), Symbol('s'))
// --- classes and functions
//! result: {"$type":"undefined"}
//! console: ["A { x: 1 } [class A] [Function: f]"]
class A { x = 1 }
console.log(new A(), A, function f() {})
// --- errors
//! result: {"$type":"undefined"}
//! console: ["/^TypeError: bad\\n +at .*script\\.js:1:/"]
console.log(new TypeError('bad'))
// --- formats
//! result: {"$type":"undefined"}
//! console: ["a=1 b='x' c={ d: 2 } 100%"]
console.log('a=%d b=%o c=%O 100%%', 1, 'x', { d: 2 })
// --- a cycle
//! result: {"$type":"undefined"}
//! console: ["/Circular/"]
const object = { a: 1 }; object.self = object;
console.log(object)
// --- getters are not run
//! result: 0
//! console: ["/Getter/"]
let ran = 0;
console.log({ get a() { ran++; return 1 } });
ran
// --- hostile values
//! result: "fine"
//! console: ["/./", "/./", "/./"]
console.log(new Proxy({}, { get() { throw new Error('trap') }, ownKeys() { throw new Error('trap') } }));
console.log({ toString() { throw new Error('no') }, [Symbol.toPrimitive]() { throw new Error('no') } });
console.log(Object.create(null));
'fine'
// --- counters, timers, groups, tables and assertions
//! result: {"$type":"undefined"}
//! console: ["x: 1", "x: 2", "title", "  inside", "/^.*a.*$/", "/Assertion failed.*why/"]
console.count('x'); console.count('x');
console.group('title'); console.log('inside'); console.groupEnd();
console.table([{ a: 1 }]);
console.assert(true, 'not said'); console.assert(false, 'why')
// --- lone surrogates
//! result: {"$type":"undefined"}
//! console: ["a�b"]
console.log('a\ud83db')
// --- nothing
//! result: {"$type":"undefined"}
//! console: [""]
console.log()
