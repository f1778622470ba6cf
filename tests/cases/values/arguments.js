// The same kinds as arguments and as replies: they come back as they went.

// --- plain values
//! result: [null,true,1.5,"ä🦀",{"a":[1,{}]}]
[await fake.echo(null), await fake.echo(true), await fake.echo(1.5), await fake.echo('ä🦀'), await fake.echo({ a: [1, {}] })]
// --- undefined, alone and inside
//! result: [{"$type":"undefined"},{"$type":"undefined"},{"a":{"$type":"undefined"}},[{"$type":"undefined"}]]
[await fake.echo(undefined), await fake.echo(), await fake.echo({ a: undefined }), await fake.echo([,])]
// --- numbers
//! result: [true,true,true,true]
const numbers = [NaN, -0, Infinity, -Infinity];
const back = await Promise.all(numbers.map((n) => fake.echo(n)));
back.map((n, index) => Object.is(n, numbers[index]))
// --- integers and floats
//! result: [2147483647,-2147483648,4294967296,9007199254740991,0.1]
await fake.echo([2147483647, -2147483648, 4294967296, 9007199254740991, 0.1])
// --- a bigint
//! result: ["bigint",true]
const big = -(2n ** 200n);
const back = await fake.echo(big);
[typeof back, back === big]
// --- strings with lone surrogates
//! result: [true,true,true]
const texts = ['\ud83d', 'x\udc00y\ud800', '\0\u2028'];
const back = await fake.echo(texts);
back.map((text, index) => text === texts[index])
// --- a date
//! result: [true,1234567890123,true]
const back = await fake.echo([new Date(1234567890123), new Date(NaN)]);
[back[0] instanceof Date, back[0].getTime(), Number.isNaN(back[1].getTime())]
// --- buffers and views come back as what they were
//! result: [["ArrayBuffer",[1,2,3]],["Uint8Array",[2]],["Uint16Array",[1,0,2,0]],["DataView",[2,3]]]
const buffer = new Uint8Array([1, 2, 3]).buffer;
const sent = [buffer, new Uint8Array(buffer, 1, 1), new Uint16Array([1, 2]), new DataView(buffer, 1)];
(await fake.echo(sent)).map((bytes) => [bytes.constructor.name, [...new Uint8Array(bytes.buffer ?? bytes)]])
// --- so does every kind of them, with its elements
//! result: true
const kinds = [
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float16Array, Float32Array,
  Float64Array, BigInt64Array, BigUint64Array,
];
const sent = kinds.map((kind) => kind.of(...(kind.name.startsWith('Big') ? [1n, 2n] : [1, 2])));
(await fake.echo(sent)).every((back, i) => back instanceof kinds[i] && back.length === 2 && back[1] === sent[i][1])
// --- bytes that come back own their buffer
//! result: [3,0]
const bytes = await fake.echo(new Uint8Array([9, 1, 2, 3, 9]).subarray(1, 4));
[bytes.buffer.byteLength, bytes.byteOffset]
// --- a map with keys of all kinds
//! result: ["Map",3,"object","a",[["n",{"$type":"number","value":"NaN"}]]]
const back = await fake.echo(new Map([[{ k: 1 }, 'a'], ['n', NaN], [1n, new Set([1])]]));
const [key] = back.keys();
[back.constructor.name, back.size, typeof key, back.get(key), [...back].slice(1, 2)]
// --- a set
//! result: [true,[1,"1",{"a":[]}]]
const back = await fake.echo(new Set([1, '1', { a: [] }]));
[back instanceof Set, [...back]]
// --- an error
//! result: [true,"TypeError","bad","RangeError","inner",true]
const error = new TypeError('bad', { cause: new RangeError('inner') });
const back = await fake.echo(error);
[back instanceof Error, back.name, back.message, back.cause.name, back.cause.message, back.stack === error.stack]
// --- an array with holes
//! result: [3,true,true]
const back = await fake.echo([1, , 3]);
[back.length, 1 in back, back[1] === undefined]
// --- objects have the usual prototype again
//! result: ["Object",true,["b","a"]]
class A { b = 1; a = 2 }
const back = await fake.echo(new A());
[back.constructor.name, Object.getPrototypeOf(back) === Object.prototype, Object.keys(back)]
// --- an object without a prototype gets one
//! result: "Object"
(await fake.echo(Object.assign(Object.create(null), { a: 1 }))).constructor.name
// --- __proto__ is a key like any other
//! result: [true,{"__proto__":{"a":1}},true]
const back = await fake.echo(JSON.parse('{"__proto__": {"a": 1}}'));
[Object.hasOwn(back, '__proto__'), back, Object.getPrototypeOf(back) === Object.prototype]
// --- keys that are numbers
//! result: /^\{"1":"a","10":"b","x":"c"\}$/
await fake.echo({ x: 'c', 10: 'b', 1: 'a' })
// --- the same key many times
//! result: [1000,999,"n999"]
const rows = Array.from({ length: 1000 }, (_, id) => ({ id, name: 'n' + id, tags: ['a'], nested: { id } }));
const back = await fake.echo(rows);
[back.length, back[999].nested.id, back[999].name]
// --- several arguments
//! result: [1,"2",{"$type":"undefined"},[4],{"$type":"bigint","value":"5"}]
await tools.arguments(1, '2', undefined, [4], 5n)
// --- a text of a million characters both ways
//! result: [1000000,true,1000000]
const text = 'ä'.repeat(1000000);
const back = await fake.echo(text);
const wide = await fake.echo('🦀'.repeat(500000));
[back.length, back === text, wide.length]
// --- nesting both ways
//! result: 250
let value = 0;
for (let i = 0; i < 250; i++) value = i % 2 ? [value] : { value };
let depth = 0;
for (let at = await fake.echo(value); typeof at === 'object'; depth++) at = Array.isArray(at) ? at[0] : at.value;
depth
// --- what cannot be passed is named, and the promise rejects
//! result: ["INVALID_ARGUMENT","fake.echo: argument 1.a[1] is a function; only plain data can be passed"]
//! calls: 0
await fake.echo({ a: [1, () => 1] }).catch((error) => [error.code, error.message])
// --- in the place where it is
//! result: ["tools.arguments: argument 2 is a symbol; only plain data can be passed","tools.arguments: argument 3.x[\"y z\"] is a function; only plain data can be passed"]
const said = (error) => error.message;
[await tools.arguments(1, Symbol()).catch(said), await tools.arguments(1, 2, { x: { 'y z': eval } }).catch(said)]
// --- cycles and promises cannot be passed
//! result: ["fake.echo: argument 1.self is a cycle: the object contains itself; only plain data can be passed","fake.echo: argument 1 is a promise that was not awaited; only plain data can be passed"]
const cycle = {}; cycle.self = cycle;
const said = (error) => error.message;
[await fake.echo(cycle).catch(said), await fake.echo(Promise.resolve(1)).catch(said)]
// --- a getter that throws throws where the call is made
//! result: "mine"
try { fake.echo({ get a() { throw new Error('mine') } }) } catch (error) { error.message }
