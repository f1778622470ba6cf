// Whatever a script does to the built-ins before a call, the call, its reply and the result are as they should be.

// --- Promise.prototype.then
//! result: "ok"
//! calls: 1
Promise.prototype.then = function () { throw new Error('polluted') };
await fake.echo('ok')
// --- Promise.prototype.then that never answers
//! result: "ok"
Promise.prototype.then = () => {};
await fake.echo('ok')
// --- Promise itself
//! result: "ok"
globalThis.Promise = class { constructor() { throw new Error('polluted') } };
await fake.echo('ok')
// --- Promise.resolve
//! result: "ok"
Promise.resolve = () => { throw new Error('polluted') };
await fake.echo('ok')
// --- the constructor of promises, which the language itself asks for
//! error: SCRIPT_ERROR
//! message: Error: polluted
Object.defineProperty(Promise.prototype, 'constructor', { get() { throw new Error('polluted') } });
fake.echo('ok')
// --- Symbol.species of promises
//! result: "ok"
Object.defineProperty(Promise, Symbol.species, { get() { throw new Error('polluted') } });
await fake.echo('ok')
// --- fields of Object.prototype
//! result: {"a":[1],"b":{"c":null}}
Object.prototype.polluted = 'yes';
Object.prototype[0] = 'zero';
await fake.echo({ a: [1], b: { c: null } })
// --- setters of Object.prototype see nothing of a reply
//! result: [{"a":1,"code":2,"value":3},[]]
const seen = [];
for (const key of ['a', 'code', 'value', 'message']) {
  Object.defineProperty(Object.prototype, key, { __proto__: null, set(value) { seen.push(key) }, get() { seen.push(key) }, configurable: true });
}
const reply = await fake.echo({ a: 1, code: 2, value: 3 });
[reply, seen]
// --- setters of Object.prototype see nothing of an error
//! result: ["CALL_FAILED","no",[]]
const seen = [];
for (const key of ['code', 'hint', 'details', 'message', 'call', 'retryable']) {
  Object.defineProperty(Object.prototype, key, { set() { seen.push(key) }, configurable: true });
}
const error = await fake.fail('CALL_FAILED', 'no').catch((error) => error);
[error.code, error.message, seen]
// --- toJSON on Object.prototype is the script's own wish
//! result: "all the same"
Object.prototype.toJSON = () => 'all the same';
({ a: 1 })
// --- Object.prototype.then makes every object a thenable
//! result: "then"
Object.prototype.then = function (resolve) { delete Object.prototype.then; resolve('then') };
({ a: 1 })
// --- a then on Object.prototype does not see a namespace
//! result: ["object",true]
let seen = 0;
Object.prototype.then = function (resolve) { seen++; resolve('hijacked') };
const namespace = await fake;
delete Object.prototype.then;
[typeof namespace, seen === 0]
// --- methods of Object
//! result: {"a":1}
for (const key of ['keys', 'entries', 'assign', 'create', 'defineProperty', 'freeze', 'getPrototypeOf', 'fromEntries']) {
  Object[key] = () => { throw new Error('polluted') };
}
await fake.echo({ a: 1 })
// --- Object itself
//! result: {"a":[{"b":1}]}
globalThis.Object = undefined;
await fake.echo({ a: [{ b: 1 }] })
// --- Object.prototype.propertyIsEnumerable and hasOwnProperty
//! result: [{"a":1},{"b":2}]
Object.prototype.propertyIsEnumerable = () => { throw new Error('polluted') };
Object.prototype.hasOwnProperty = () => { throw new Error('polluted') };
[await fake.echo({ a: 1 }), new Proxy({ b: 2 }, {})]
// --- methods of Array.prototype
//! result: [[1,2],"x"]
for (const key of ['push', 'map', 'slice', 'splice', 'forEach', 'join', 'concat', 'shift', 'indexOf']) {
  Array.prototype[key] = () => { throw new Error('polluted') };
}
await fake.echo([[1, 2], 'x'])
// --- Array itself and its iterator
//! result: [1,[2]]
Array.prototype[Symbol.iterator] = () => { throw new Error('polluted') };
globalThis.Array = null;
await fake.echo([1, [2]])
// --- setters for indices of Array.prototype
//! result: [[1,2,3],0]
let seen = 0;
for (const index of [0, 1, 2]) Object.defineProperty(Array.prototype, index, { set() { seen++ }, configurable: true });
const reply = await fake.echo([1, 2, 3]);
[reply, seen]
// --- the prototype of Array.prototype
//! result: [1]
Object.setPrototypeOf(Array.prototype, null);
await fake.echo([1])
// --- JSON
//! result: {"a":1}
JSON.stringify = JSON.parse = () => { throw new Error('polluted') };
await fake.echo({ a: 1 })
// --- no JSON
//! result: {"a":1}
delete globalThis.JSON;
await fake.echo({ a: 1 })
// --- Function.prototype
//! result: "ok"
Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => { throw new Error('polluted') };
await fake.echo('ok')
// --- Function.prototype[Symbol.hasInstance] and toString
//! result: "ok"
Function.prototype.toString = () => { throw new Error('polluted') };
Object.setPrototypeOf(Function.prototype, null);
await fake.echo('ok')
// --- Symbol.iterator of the built-ins
//! result: [{"$type":"map","value":[["a",1]]},{"$type":"set","value":[2]},"text"]
const value = [new Map([['a', 1]]), new Set([2]), 'text'];
for (const type of [Map, Set, String, Array]) type.prototype[Symbol.iterator] = () => { throw new Error('polluted') };
await fake.echo(value)
// --- Map and Set
//! result: [{"$type":"map","value":[["a",1]]},{"$type":"set","value":[2]}]
const value = [new Map([['a', 1]]), new Set([2])];
Map.prototype.set = Map.prototype.forEach = Set.prototype.add = Set.prototype.forEach = () => { throw new Error('polluted') };
globalThis.Map = globalThis.Set = undefined;
await fake.echo(value)
// --- Date
//! result: {"$type":"date","value":"1970-01-01T00:00:00.000Z"}
const date = new Date(0);
for (const key of ['getTime', 'setTime', 'valueOf', 'toISOString', 'toJSON']) Date.prototype[key] = () => { throw new Error('polluted') };
globalThis.Date = undefined;
await fake.echo(date)
// --- typed arrays
//! result: {"$type":"Uint8Array","value":"AQID"}
const bytes = new Uint8Array([1, 2, 3]);
const typed = Object.getPrototypeOf(Uint8Array.prototype);
for (const key of ['buffer', 'byteLength', 'byteOffset', 'length']) Object.defineProperty(typed, key, { get() { throw new Error('polluted') } });
globalThis.Uint8Array = globalThis.ArrayBuffer = undefined;
await fake.echo(bytes)
// --- Error
//! error: POLICY_REFUSED
//! message: this is not done here
//! hint: Do something else.
globalThis.Error = function () { throw 'polluted' };
Object.setPrototypeOf(TypeError, null);
await tools.refuse()
// --- Error.prototype
//! error: POLICY_REFUSED
//! message: this is not done here
for (const key of ['name', 'message', 'stack', 'code', 'toString']) {
  Object.defineProperty(TypeError.prototype.__proto__, key, { get() { throw 1 }, set() { throw 2 }, configurable: true });
}
await tools.refuse()
// --- Error.prepareStackTrace and captureStackTrace
//! error: SCRIPT_ERROR
//! message: Error: x
Error.prepareStackTrace = Error.captureStackTrace = () => { throw new Error('polluted') };
throw new Error('x')
// --- Proxy and Reflect
//! result: "ok"
globalThis.Proxy = globalThis.Reflect = undefined;
await fake.echo('ok')
// --- Symbol
//! result: "ok"
globalThis.Symbol = undefined;
await fake.echo('ok')
// --- String.prototype
//! result: "ok"
for (const key of ['split', 'slice', 'replace', 'charCodeAt', 'at', 'toString', 'valueOf']) String.prototype[key] = () => { throw new Error('polluted') };
await fake.echo('ok')
// --- setTimeout and queueMicrotask
//! result: "ok"
globalThis.setTimeout = globalThis.queueMicrotask = () => { throw new Error('polluted') };
await fake.wait(1, 'ok')
// --- console
//! result: "ok"
console.log = console.error = () => { throw new Error('polluted') };
delete globalThis.console;
await fake.echo('ok')
// --- the namespace cannot be changed
//! result: ["the namespace fake is read-only","the namespace fake is read-only","the namespace fake is read-only","ok"]
const said = [];
for (const change of [() => { fake.echo = 1 }, () => { delete fake.echo }, () => Object.defineProperty(fake, 'echo', { value: 1 })]) {
  try { change(); said.push('changed') } catch (error) { said.push(error.message) }
}
[...said, await fake.echo('ok')]
// --- it has no prototype to change
//! result: "ok"
try { Object.setPrototypeOf(fake, { echo() { return 'hijacked' } }) } catch { }
await fake.echo('ok')
// --- a method that was changed is still the method
//! result: "ok"
fake.echo.call = () => 'hijacked';
Object.defineProperty(fake.echo, 'name', { value: 'fail' });
await fake.echo('ok')
// --- a method of another name cannot be taken for it
//! result: ["fake.echo",true]
const { echo } = fake;
const error = await echo(() => {}).catch((error) => error);
[error.call, echo === fake.echo]
// --- the name may be covered, the namespace not
//! result: ["mine","object"]
const before = fake;
globalThis.fake = 'mine';
[globalThis.fake, typeof before]
// --- a method can be taken out and called alone
//! result: 3
const { echo } = fake;
await echo(3)
// --- freezing everything
//! result: {"a":[1]}
for (const type of [Object, Array, Promise, Function, Error, Map]) { Object.freeze(type); Object.freeze(type.prototype) }
Object.freeze(globalThis);
await fake.echo({ a: [1] })
// --- a getter on globalThis for what the host might look for
//! result: 1
for (const key of ['undefined', 'codemode', '__result', 'result', 'main', '$default']) {
  try { Object.defineProperty(globalThis, key, { get() { throw new Error(key) } }) } catch { }
}
1
// --- everything at once
//! result: {"a":[1,"x",{"$type":"date","value":"1970-01-01T00:00:00.000Z"}]}
const value = { a: [1, 'x', new Date(0)] };
const { echo } = fake;
for (const name of Object.getOwnPropertyNames(globalThis)) {
  const type = globalThis[name];
  const prototype = typeof type === 'function' ? type.prototype : undefined;
  if (!prototype || typeof prototype !== 'object') continue;
  for (const key of Object.getOwnPropertyNames(prototype)) {
    if (key === 'constructor') continue;
    try { prototype[key] = () => { throw new Error('polluted ' + key) } } catch { }
  }
}
await echo(value)
