// Every kind of value, returned.

// --- undefined
//! result: {"$type":"undefined"}
undefined
// --- null
//! result: null
null
// --- booleans
//! result: [true,false]
[true, false]
// --- numbers
//! result: [0,1,-1,1.5,0.1,1e-7,9007199254740991,-9007199254740991]
[0, 1, -1, 1.5, 0.1, 1e-7, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]
// --- large and small numbers
//! result: [1e21,1.7976931348623157e308,5e-324]
[1e21, Number.MAX_VALUE, Number.MIN_VALUE]
// --- numbers that JSON lacks
//! result: [{"$type":"number","value":"NaN"},{"$type":"number","value":"-0"},{"$type":"number","value":"Infinity"},{"$type":"number","value":"-Infinity"}]
[NaN, -0, Infinity, -Infinity]
// --- bigints
//! result: [{"$type":"bigint","value":"0"},{"$type":"bigint","value":"-123456789012345678901234567890"}]
[0n, -123456789012345678901234567890n]
// --- strings
//! result: ["","a","ä","€","🦀","\u0000","line\nbreak","\"'\\"]
['', 'a', 'ä', '€', '🦀', '\0', 'line\nbreak', '"\'\\']
// --- lone surrogates
//! result: [{"$type":"utf16","value":[55357]},{"$type":"utf16","value":[97,56832,98]}]
['\ud83d', 'a\ude00b']
// --- a pair put together of two halves is a character
//! result: "😀"
'\ud83d' + '\ude00'
// --- dates
//! result: [{"$type":"date","value":"1970-01-01T00:00:00.000Z"},{"$type":"date","value":"2024-02-29T12:34:56.789Z"},{"$type":"date","value":"-000001-01-01T00:00:00.000Z"}]
[new Date(0), new Date('2024-02-29T12:34:56.789Z'), new Date('-000001-01-01T00:00:00Z')]
// --- an invalid date
//! result: {"$type":"date","value":null}
new Date('never')
// --- an ArrayBuffer
//! result: {"$type":"ArrayBuffer","value":"AAEC"}
new Uint8Array([0, 1, 2]).buffer
// --- an empty one
//! result: {"$type":"ArrayBuffer","value":""}
new ArrayBuffer(0)
// --- every typed view
//! result: [{"$type":"Uint8Array","value":"AQI="},{"$type":"Int8Array","value":"AQI="},{"$type":"Uint8ClampedArray","value":"/wA="},{"$type":"Uint16Array","value":"AQACAA=="},{"$type":"Int16Array","value":"//8="},{"$type":"Uint32Array","value":"AQAAAA=="},{"$type":"Int32Array","value":"/////w=="},{"$type":"Float32Array","value":"AAAAPw=="},{"$type":"Float64Array","value":"AAAAAAAA4D8="},{"$type":"BigInt64Array","value":"//////////8="},{"$type":"BigUint64Array","value":"AQAAAAAAAAA="}]
[
  new Uint8Array([1, 2]), new Int8Array([1, 2]), new Uint8ClampedArray([300, -5]), new Uint16Array([1, 2]),
  new Int16Array([-1]), new Uint32Array([1]), new Int32Array([-1]), new Float32Array([0.5]), new Float64Array([0.5]),
  new BigInt64Array([-1n]), new BigUint64Array([1n]),
]
// --- half floats
//! result: {"$type":"Float16Array","value":"ADg="}
new Float16Array([0.5])
// --- a view shows its own bytes only
//! result: [{"$type":"Uint8Array","value":"AgM="},{"$type":"Uint16Array","value":"AwQ="},{"$type":"DataView","value":"AgMEBQ=="}]
const buffer = new Uint8Array([1, 2, 3, 4, 5, 6]).buffer;
[new Uint8Array(buffer).subarray(1, 3), new Uint16Array(buffer, 2, 1), new DataView(buffer, 1, 4)]
// --- a shared buffer, and a view of one
//! result: [{"$type":"ArrayBuffer","value":"AQI="},{"$type":"Int8Array","value":"Ag=="}]
const shared = new SharedArrayBuffer(2);
new Uint8Array(shared).set([1, 2]);
[shared, new Int8Array(shared, 1)]
// --- a subclass is its base
//! result: {"$type":"Float64Array","value":"AAAAAAAA8D8="}
class Samples extends Float64Array {}
Samples.of(1)
// --- what calls itself a buffer is an object
//! result: {"$type":"object","value":[["$type","ArrayBuffer"],["value","AAEC"]]}
({ $type: 'ArrayBuffer', value: 'AAEC' })
// --- maps
//! result: {"$type":"map","value":[["a",1],[{"k":1},[2]],[{"$type":"number","value":"NaN"},null]]}
new Map([['a', 1], [{ k: 1 }, [2]], [NaN, null]])
// --- sets
//! result: {"$type":"set","value":[1,"1",{"$type":"undefined"}]}
new Set([1, '1', undefined, 1])
// --- empty ones
//! result: [{"$type":"map","value":[]},{"$type":"set","value":[]},[],{}]
[new Map(), new Set(), [], {}]
// --- an error
//! result: /^\{"\$type":"error","name":"TypeError","message":"bad","stack":".*script\.js:1:\d+.*"\}$/
new TypeError('bad')
// --- an error with a cause
//! result: /"message":"outer".*"cause":\{"\$type":"error","name":"RangeError","message":"inner"/
new Error('outer', { cause: new RangeError('inner') })
// --- a cause that is no error
//! result: /"cause":\{"code":7\}\}$/
new Error('outer', { cause: { code: 7 } })
// --- a cause of undefined is a cause
//! result: /"cause":\{"\$type":"undefined"\}\}$/
new Error('outer', { cause: undefined })
// --- an AggregateError
//! result: /"name":"AggregateError","message":"all"/
new AggregateError([new Error('a')], 'all')
// --- errors in other places
//! result: /^\{"list":\[\{"\$type":"error","name":"Error","message":"a"/
({ list: [new Error('a')] })
// --- arrays in arrays
//! result: [[],[[]],[[[1]]]]
[[], [[]], [[[1]]]]
// --- nested kinds
//! result: {"m":{"$type":"map","value":[["s",{"$type":"set","value":[{"$type":"bigint","value":"1"}]}]]},"d":[{"$type":"date","value":"1970-01-01T00:00:00.000Z"}],"u":{"$type":"undefined"}}
({ m: new Map([['s', new Set([1n])]]), d: [new Date(0)], u: undefined })
// --- keys keep their order, numbers come first
//! result: /^\{"1":0,"2":0,"b":0,"a":0\}$/
({ b: 0, 2: 0, a: 0, 1: 0 })
// --- strange keys
//! result: {"":1,"a b":2,"ä":3,"\n":4}
({ '': 1, 'a b': 2, ä: 3, '\n': 4 })
// --- a key that is a lone surrogate
//! result: {"$type":"object","value":[[{"$type":"utf16","value":[55357]},1]]}
({ '\ud83d': 1 })
// --- a key called __proto__
//! result: {"__proto__":{"a":1}}
JSON.parse('{"__proto__": {"a": 1}}')
// --- wrapped primitives are objects without keys of their own
//! result: [{},{"0":"a"}]
[new Number(1), new String('a')]
// --- nesting up to the bound
//! result: 255
let value = null;
for (let i = 0; i < 255; i++) value = [value];
globalThis.value = value;
let depth = 0;
for (let at = await fake.echo(value); at !== null; at = at[0]) depth++;
depth
// --- many items
//! result: /^\[0,1,2,.*,19999\]$/
Array.from({ length: 20000 }, (_, index) => index)
// --- shared objects are written twice
//! result: [{"a":1},{"a":1}]
const shared = { a: 1 };
[shared, shared]
