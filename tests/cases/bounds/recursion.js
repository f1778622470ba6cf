// Recursion without end, in every way that the language has.

// --- a function that calls itself
//! error: STACK_OVERFLOW
//! hint: /recursion/
function f() { return f() + 1 }
f()
// --- it cannot be caught and gone on with
//! error: STACK_OVERFLOW
function f() { return f() + 1 }
try { f() } catch (error) { 'caught' }
// --- two that call each other
//! error: STACK_OVERFLOW
const a = () => b() + 1, b = () => a() + 1;
a()
// --- async functions
//! error: STACK_OVERFLOW
const f = async () => { await f() };
await f()
// --- map
//! error: STACK_OVERFLOW
const f = () => [1].map(f);
f()
// --- forEach and reduce
//! error: STACK_OVERFLOW
const f = () => [1, 2].reduce(() => [1].forEach(f));
f()
// --- a getter
//! error: STACK_OVERFLOW
const object = { get a() { return this.a } };
object.a
// --- a setter
//! error: STACK_OVERFLOW
const object = { set a(value) { this.a = value } };
object.a = 1
// --- a proxy
//! error: STACK_OVERFLOW
const proxy = new Proxy({}, { get: (target, key, receiver) => receiver[key] });
proxy.a
// --- a proxy of proxies
//! error: /STACK_OVERFLOW/
let proxy = {};
for (let i = 0; i < 100000; i++) proxy = new Proxy(proxy, {});
proxy.a
// --- a proxy as its own prototype's handler
//! error: STACK_OVERFLOW
const handler = {};
const proxy = new Proxy({}, handler);
Object.setPrototypeOf(handler, proxy);
proxy.a
// --- sort
//! error: STACK_OVERFLOW
const f = () => [2, 1].sort(f);
f()
// --- toJSON
//! error: STACK_OVERFLOW
JSON.stringify({ toJSON() { return JSON.stringify(this) } })
// --- toJSON of the result
//! error: /STACK_OVERFLOW|RESULT_UNSERIALISABLE/
({ toJSON() { return { toJSON: this.toJSON } } })
// --- a toJSON of the result that returns the object itself
//! error: /STACK_OVERFLOW|RESULT_UNSERIALISABLE/
({ toJSON() { return this } })
// --- JSON.stringify of something deep
//! error: /STACK_OVERFLOW|SCRIPT_ERROR/
let value = [];
for (let i = 0; i < 100000; i++) value = [value];
JSON.stringify(value)
// --- JSON.parse of something deep
//! error: /STACK_OVERFLOW|SCRIPT_ERROR/
JSON.parse('['.repeat(100000) + ']'.repeat(100000))
// --- the reviver of JSON.parse
//! error: STACK_OVERFLOW
const f = () => JSON.parse('[1]', f);
f()
// --- toString
//! error: STACK_OVERFLOW
const object = { toString() { return `${this}` } };
`${object}`
// --- toString of something that is added to a text
//! error: STACK_OVERFLOW
const object = { toString() { return '' + this } };
'' + object
// --- valueOf
//! error: STACK_OVERFLOW
const object = { valueOf() { return +this } };
+object
// --- valueOf and toString, of each other
//! error: STACK_OVERFLOW
const object = { valueOf() { return Number(`${this}`) }, toString() { return `${+this}` } };
object * 2
// --- valueOf by toString, which ends
//! result: [5,"5 €"]
const price = { valueOf() { return parseFloat(`${this}`) }, toString() { return '5 €' } };
[+price, `${price}`]
// --- of an object without a prototype
//! error: STACK_OVERFLOW
const object = Object.assign(Object.create(null), { toString() { return '' + this } });
'' + object
// --- its number
//! error: STACK_OVERFLOW
const object = { valueOf() { return +this } };
Object.setPrototypeOf(object, null);
+object
// --- its prototype taken away by an assignment
//! error: STACK_OVERFLOW
const object = { toString() { return `${this}` } };
object.__proto__ = null;
`${object}`
// --- a comparison of it
//! error: STACK_OVERFLOW
const object = Object.create(null, { valueOf: { value() { return this < 5 } } });
object < 5
// --- an equality of it
//! error: STACK_OVERFLOW
const object = Object.create(null);
object.valueOf = () => object == 1;
object == 1
// --- it as the name of a property
//! error: STACK_OVERFLOW
const object = Object.create(null), names = {};
object.toString = () => names[object];
names[object]
// --- it as a date
//! error: STACK_OVERFLOW
const object = Object.create(null);
object.valueOf = object.toString = () => new Date(object);
new Date(object)
// --- it in String and in Number
//! error: STACK_OVERFLOW
const object = Object.create(null);
object.toString = () => String(object);
object.valueOf = () => Number(object);
[String(object), Number(object)]
// --- it in the text of an array
//! error: STACK_OVERFLOW
const object = Object.create(null);
object.toString = () => [object].join();
[object].join()
// --- its own conversion
//! error: STACK_OVERFLOW
const object = Object.create(null);
object[Symbol.toPrimitive] = () => +object;
+object
// --- of a class whose prototype has none
//! error: STACK_OVERFLOW
class Money { toString() { return `${this}` } }
Reflect.setPrototypeOf(Money.prototype, null);
`${new Money()}`
// --- valueOf by toString of an object without a prototype, which ends
//! result: [5,"5 €",null]
const price = Object.create(null);
price.valueOf = () => parseFloat(`${price}`);
price.toString = () => '5 €';
[+price, `${price}`, Object.getPrototypeOf(price)]
// --- where the engine would answer for it, it is refused
//! error: SYNTAX_ERROR
//! message: /^a toString or valueOf of an object that is written without a prototype is not supported at line 1, column 16/
//! hint: /Object.setPrototypeOf/
const object = { __proto__: null, toString() { return '' + this } };
'' + object
// --- in a class, too
//! error: SYNTAX_ERROR
const make = (Base) => Object.create(Base.prototype);
`${make(class extends null { 'valueOf'() { return +this } })}`
// --- but not what has a prototype, or no conversion
//! result: ["t","s"]
const a = { __proto__: null, text: 't', ['to' + 'String']: 1, nested: { toString: () => 's' } };
class B extends null { static toString() { return 'b' } }
[a.text, `${a.nested}`]
// --- a date's own text
//! error: STACK_OVERFLOW
class Day extends Date { toString() { return `${this}` } }
`${new Day(0)}`
// --- an array's own text
//! error: STACK_OVERFLOW
class List extends Array { toString() { return `${this}` } }
`${new List(2)}`
// --- an array that contains itself, as text
//! result: ""
const list = [];
list.push(list);
list.join()
// --- flat of something deep
//! error: /STACK_OVERFLOW/
let value = [];
for (let i = 0; i < 100000; i++) value = [value];
value.flat(Infinity)
// --- something deep in the result
//! error: /RESULT_UNSERIALISABLE/
//! message: /nesting deeper than 256 levels/
let value = [];
for (let i = 0; i < 100000; i++) value = [value];
value
// --- something deep in an argument
//! result: ["INVALID_ARGUMENT",true]
let value = {};
for (let i = 0; i < 100000; i++) value = { value };
await fake.echo(value).catch((error) => [error.code, error.message.includes('nesting deeper than 256 levels')])
// --- something deep that is printed
//! result: {"$type":"undefined"}
//! console: ["/^\\[/"]
let value = [];
for (let i = 0; i < 100000; i++) value = [value];
console.log(value)
// --- structuredClone of something deep
//! result: 100000
let value = [];
for (let i = 0; i < 100000; i++) value = [value];
let depth = 0;
for (let at = structuredClone(value); at.length; at = at[0]) depth++;
depth
// --- a deep chain of prototypes
//! error: /STACK_OVERFLOW|CPU_EXCEEDED/
//! cpu_ms: 10000
let object = {};
for (let i = 0; i < 100000; i++) object = Object.create(object);
object.missing
// --- a deep chain of causes
//! error: SCRIPT_ERROR
//! message: Error: 99999
//! details.causes: ["Error: 99998","Error: 99997","Error: 99996","Error: 99995","Error: 99994"]
let error;
for (let i = 0; i < 100000; i++) error = new Error(String(i), { cause: error });
throw error
// --- a deep chain of causes in the result
//! error: RESULT_UNSERIALISABLE
//! message: /nesting deeper than 256 levels/
let error;
for (let i = 0; i < 100000; i++) error = new Error(String(i), { cause: error });
error
// --- a deep chain of promises
//! result: "end"
let promise = Promise.resolve('end');
for (let i = 0; i < 20000; i++) { const before = promise; promise = new Promise((done) => done(before)) }
await promise
// --- bound functions
//! error: /STACK_OVERFLOW|MEMORY_EXCEEDED/
let f = () => 1;
for (let i = 0; i < 100000; i++) f = f.bind(null);
f()
// --- constructors
//! error: STACK_OVERFLOW
class A { constructor() { this.a = new A() } }
new A()
// --- super
//! error: STACK_OVERFLOW
class A { f() { return new B().f() } } class B extends A { f() { return super.f() } }
new B().f()
// --- spread into oneself
//! error: STACK_OVERFLOW
const f = (...all) => f(...all, 1);
f()
// --- apply and call
//! error: STACK_OVERFLOW
function f() { return f.apply(this, arguments) + f.call(this) }
f()
// --- instanceof
//! error: STACK_OVERFLOW
const type = { [Symbol.hasInstance](value) { return value instanceof type } };
1 instanceof type
// --- iterators
//! error: STACK_OVERFLOW
const object = { [Symbol.iterator]() { return [...this] } };
[...object]
// --- generators that delegate to themselves
//! error: STACK_OVERFLOW
function* f() { yield* f() }
[...f()]
// --- replace
//! error: STACK_OVERFLOW
const f = () => 'a'.replace(/a/, f);
f()
// --- a tagged template
//! error: STACK_OVERFLOW
const f = () => f`x`;
f()
// --- a static block
//! error: STACK_OVERFLOW
const f = () => { class A { static { f() } } };
f()
// --- a microtask in a microtask is no recursion
//! result: 20000
let n = 0;
await new Promise((done) => { const next = () => ++n < 20000 ? queueMicrotask(next) : done(); next() });
n
// --- recursion that ends
//! result: 832040
const fib = (n) => n < 2 ? n : fib(n - 1) + fib(n - 2);
fib(30) 
// --- five hundred levels are fine
//! result: 500
const depth = (n) => n === 0 ? 0 : 1 + depth(n - 1);
depth(500)
// --- an event listener
//! error: STACK_OVERFLOW
const target = new EventTarget();
target.addEventListener('x', () => target.dispatchEvent(new Event('x')));
target.dispatchEvent(new Event('x'))
// --- reading what was thrown
//! error: /STACK_OVERFLOW|SCRIPT_ERROR/
throw { get message() { return this.message } }
// --- eval
//! error: STACK_OVERFLOW
const f = () => eval('f()');
f()
// --- after an await the engine forgets the error, and the script waits for ever
//! error: DEADLOCK
//! hint: /no function calls itself without end/
await fake.echo(1);
const f = () => f() + 1;
f()
// --- a trap after an await
//! error: STACK_OVERFLOW
await fake.echo(1);
let value = [];
for (let i = 0; i < 100000; i++) value = [value];
value.flat(Infinity)
// --- in an async generator
//! error: STACK_OVERFLOW
async function* walk() { (function deeper() { deeper() })() }
await walk().next()
