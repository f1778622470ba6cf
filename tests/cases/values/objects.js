// Objects that are more than plain.

// --- class instances are their own fields
//! result: {"a":1,"b":[2]}
class A { a = 1; b = [2]; #hidden = 3; get c() { return 4 } method() {} static d = 5 }
new A()
// --- fields of a parent class
//! result: {"a":1,"b":2}
class A { a = 1 } class B extends A { b = 2 }
new B()
// --- an object without a prototype
//! result: {"a":1}
Object.assign(Object.create(null), { a: 1 })
// --- an inherited field is not its own
//! result: {"own":1}
Object.assign(Object.create({ inherited: 1 }), { own: 1 })
// --- symbol keys are left out
//! result: {"a":1}
({ a: 1, [Symbol('s')]: 2, [Symbol.iterator]: 3 })
// --- fields that are not enumerable are left out
//! result: {"a":1}
Object.defineProperty({ a: 1 }, 'b', { value: 2, enumerable: false })
// --- getters are read
//! result: {"a":3}
({ get a() { return 1 + 2 } })
// --- frozen objects
//! result: {"a":[1]}
Object.freeze({ a: Object.freeze([1]) })
// --- holes are undefined
//! result: [1,{"$type":"undefined"},3]
[1, , 3]
// --- an array of holes
//! result: [{"$type":"undefined"},{"$type":"undefined"}]
new Array(2)
// --- a hole shows what the prototype has
//! result: ["proto"]
Array.prototype[0] = 'proto';
const hole = [,];
hole
// --- properties of arrays are left out
//! result: [1]
Object.assign([1], { extra: 2 })
// --- subclasses of arrays are arrays
//! result: [1,2]
class List extends Array {}
List.of(1, 2)
// --- subclasses of maps, sets, dates and errors
//! result: /^\[\{"\$type":"map","value":\[\[1,2\]\]\},\{"\$type":"set","value":\[3\]\},\{"\$type":"date".*\},\{"\$type":"error","name":"Mine","message":"m"/
class M extends Map {} class S extends Set {} class D extends Date {} class E extends Error { name = 'Mine' }
[new M([[1, 2]]), new S([3]), new D(0), new E('m')]
// --- arguments are an array-like object
//! result: {"0":"a","1":"b"}
(function () { return arguments })('a', 'b')
// --- what JSON.parse made
//! result: {"a":[1,{"b":null}]}
JSON.parse('{"a":[1,{"b":null}]}')
// --- a date has no fields
//! result: {"$type":"date","value":"1970-01-01T00:00:00.000Z"}
Object.assign(new Date(0), { extra: 1 })
// --- fields of errors besides the known ones
//! result: /^\{"\$type":"error","name":"Error","message":"x","stack":"[^"]*"\}$/
Object.assign(new Error('x'), { code: 7 })
// --- URL says its text
//! result: "https://a.b/c"
new URL('https://a.b/c')
// --- toJSON is asked, as JSON.stringify would
//! result: {"as":"json"}
({ toJSON() { return { as: 'json' } } })
// --- toJSON in a class
//! result: ["T"]
class T { toJSON() { return 'T' } }
[new T()]
// --- a boxed symbol, a weak map and a regular expression have nothing to say
//! result: [{},{},{}]
[Object(Symbol()), new WeakMap(), /a/]
// --- an iterator is not its items
//! result: {}
[1, 2].values()
// --- a proxy is what it shows
//! result: {"a":1,"b":2}
new Proxy({ a: 1 }, { ownKeys: () => ['a', 'b'], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }), get: (target, key) => ({ a: 1, b: 2 })[key] })
// --- a proxy of an array is an array
//! result: [1,2]
new Proxy([1, 2], {})
// --- globalThis has nothing of its own to show
//! result: {}
globalThis
