// Results that cannot cross the boundary, or try something on their way.

// --- a function
//! result: {"$type":"undefined"}
() => {}
// --- a function inside
//! error: RESULT_UNSERIALISABLE
//! message: result.a[1].f is a function, which cannot be returned
//! details.path: "result.a[1].f"
//! hint: /plain data/
({ a: [0, { f() {} }] })
// --- a class
//! error: RESULT_UNSERIALISABLE
({ A: class {} })
// --- a symbol
//! error: RESULT_UNSERIALISABLE
//! message: result is a symbol, which cannot be returned
Symbol('s')
// --- a symbol inside
//! error: RESULT_UNSERIALISABLE
//! details.path: "result[0]"
[Symbol.iterator]
// --- a cycle
//! error: RESULT_UNSERIALISABLE
//! message: result.self is a cycle: the object contains itself, which cannot be returned
const object = {};
object.self = object;
object
// --- a cycle of arrays
//! error: RESULT_UNSERIALISABLE
//! details.path: "result[0][0]"
const a = [], b = [a];
a.push(b);
a
// --- a map that contains itself
//! error: RESULT_UNSERIALISABLE
//! details.path: "result.values()[0]"
const map = new Map();
map.set('self', map);
map
// --- a set that contains itself
//! error: RESULT_UNSERIALISABLE
const set = new Set();
set.add(set);
set
// --- an error that is its own cause
//! error: RESULT_UNSERIALISABLE
//! details.path: "result.cause"
const error = new Error('x');
error.cause = error;
error
// --- a promise inside
//! error: RESULT_UNSERIALISABLE
//! message: result.p is a promise that was not awaited, which cannot be returned
({ p: Promise.resolve(1) })
// --- a rejected promise inside is a warning, too
//! error: RESULT_UNSERIALISABLE
//! warnings: ["/lost/"]
({ p: Promise.reject(new Error('lost')) })
// --- a namespace has no data
//! result: {}
fake
// --- a method of a namespace
//! error: RESULT_UNSERIALISABLE
({ f: fake.echo })
// --- a getter that throws
//! error: SCRIPT_ERROR
//! message: Error: from the getter
({ get a() { throw new Error('from the getter') } })
// --- a getter that throws nothing
//! error: SCRIPT_ERROR
({ get a() { throw undefined } })
// --- a getter that changes what it is in
//! result: {"a":1,"b":2}
({ get a() { this.c = 3; return 1 }, b: 2 })
// --- a getter that shrinks the array it is in
//! result: /^\[0,\{"\$type":"undefined"\}/
const list = [0, 1, 2, 3];
Object.defineProperty(list, 0, { get() { list.length = 1; return 0 }, enumerable: true });
list
// --- a getter that makes a call
//! result: {"a":1}
//! warnings: ["/fake.echo/"]
({ get a() { fake.echo(1); return 1 } })
// --- toJSON that throws
//! error: SCRIPT_ERROR
//! message: TypeError: no JSON
({ toJSON() { throw new TypeError('no JSON') } })
// --- toJSON that is no function is a field
//! result: {"toJSON":1}
({ toJSON: 1 })
// --- toJSON that returns a function
//! error: RESULT_UNSERIALISABLE
({ toJSON() { return () => 1 } })
// --- a proxy whose traps throw
//! error: SCRIPT_ERROR
//! message: Error: ownKeys
new Proxy({}, { ownKeys() { throw new Error('ownKeys') } })
// --- a proxy whose get throws
//! error: SCRIPT_ERROR
//! message: /Error: get/
new Proxy({ a: 1 }, { get() { throw new Error('get') } })
// --- a proxy that lies about its length
//! error: RESULT_TOO_LARGE
new Proxy([], { get: (target, key) => key === 'length' ? 2 ** 31 : 1 })
// --- a proxy whose length is no number
//! result: []
new Proxy([], { get: (target, key) => key === 'length' ? 'many' : undefined })
// --- a revoked proxy
//! error: SCRIPT_ERROR
const { proxy, revoke } = Proxy.revocable({}, {});
revoke();
({ proxy })
// --- a proxy that makes new keys for ever
//! error: /CPU_EXCEEDED|MEMORY_EXCEEDED|RESULT_UNSERIALISABLE|STACK_OVERFLOW/
//! cpu_ms: 1000
const endless = () => new Proxy({}, { ownKeys: () => ['a'], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }), get: (_, key) => key === 'a' ? endless() : undefined });
[endless()]
// --- a thenable
//! result: 1
({ then(resolve) { resolve(1) } })
// --- a thenable that rejects
//! error: SCRIPT_ERROR
//! message: Error: no
({ then(_, reject) { reject(new Error('no')) } })
// --- a thenable that throws
//! error: SCRIPT_ERROR
//! message: Error: thrown
({ then() { throw new Error('thrown') } })
// --- a thenable whose then throws when it is read
//! error: SCRIPT_ERROR
//! message: Error: read
({ get then() { throw new Error('read') } })
// --- a thenable that resolves twice
//! result: 1
({ then(resolve, reject) { resolve(1); resolve(2); reject(3) } })
// --- a thenable inside is data that has a function
//! error: RESULT_UNSERIALISABLE
//! details.path: "result[0].then"
[{ then(resolve) { resolve(1) } }]
// --- a thenable whose then is no function is data
//! result: {"then":1}
({ then: 1 })
// --- a date whose methods lie
//! result: {"$type":"date","value":"1970-01-01T00:00:00.000Z"}
const date = new Date(0);
date.getTime = date.valueOf = date.toISOString = () => { throw new Error('asked') };
date
// --- a map whose methods lie
//! result: {"$type":"map","value":[["a",1]]}
const map = new Map([['a', 1]]);
map.forEach = map.entries = map[Symbol.iterator] = () => { throw new Error('asked') };
map
// --- bytes whose fields lie
//! result: {"$type":"Uint8Array","value":"AQI="}
const bytes = new Uint8Array([1, 2]);
for (const key of ['buffer', 'byteLength', 'byteOffset', 'length']) Object.defineProperty(bytes, key, { value: 99999 });
bytes
// --- a detached buffer
//! result: {"$type":"Uint8Array","value":""}
const bytes = new Uint8Array([1, 2]);
bytes.buffer.transfer();
bytes
// --- an error whose fields are strange
//! result: /^\{"\$type":"error","name":"","message":""/
const error = new Error('x');
error.name = 5; error.message = { toString() { return 'no' } }; error.stack = null;
error
// --- an error whose getters throw
//! error: SCRIPT_ERROR
//! message: Error: asked
const error = new Error('x');
Object.defineProperty(error, 'stack', { get() { throw new Error('asked') } });
error
// --- a hundred megabytes
//! error: /RESULT_TOO_LARGE|MEMORY_EXCEEDED/
'x'.repeat(50 * 1024 * 1024) + 'y'.repeat(50 * 1024 * 1024)
// --- a bigint of a million digits
//! result: /^\{"type":|"bigint"/
10n ** 20000n
// --- a path that is too long to be shown
//! error: RESULT_UNSERIALISABLE
//! message: /^result\["?x{1000}.*which cannot be returned$/
({ ['x'.repeat(1000000) + ' ']: () => 1 })
