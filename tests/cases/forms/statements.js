// Statements: the value of the last one that has a value is the result.

// --- the last expression
//! result: 3
const a = 1;
const b = 2;
a + b
// --- with a semicolon and blank lines after it
//! result: 3
let a = 1
let b = 2
a + b;


// --- a declaration at the end has no value
//! result: {"$type":"undefined"}
const a = 1;
// --- an if at the end
//! result: "small"
const n = 3;
if (n > 5) { 'large' } else { 'small' }
// --- a try at the end
//! result: "bad"
try { throw new Error('bad') } catch (error) { error.message }
// --- a block at the end
//! result: 7
{ const seven = 7; seven }
// --- a loop at the end has no value
//! result: {"$type":"undefined"}
let n = 0;
for (const i of [1, 2, 3]) n += i
// --- return at the top level
//! result: 10
const n = 5;
return n * 2;
// --- an early return
//! result: "early"
if (true) return 'early';
'late'
// --- a bare return
//! result: {"$type":"undefined"}
return
// --- await at the top level
//! result: [1,2]
const one = await Promise.resolve(1);
const two = await Promise.resolve(2);
[one, two]
// --- for await at the top level
//! result: [1,2,3]
const seen = [];
for await (const item of [1, Promise.resolve(2), 3]) seen.push(item);
seen
// --- await using a call
//! result: "hello"
//! calls: 1
const said = await fake.echo('hello');
said
// --- a call at the end is awaited
//! result: "hello"
//! calls: 1
fake.echo('hello')
// --- strict mode is the script's to choose
//! error: SCRIPT_ERROR
//! message: /ReferenceError/
'use strict';
undeclared = 1
// --- sloppy mode is the default
//! result: 1
undeclared = 1
// --- functions may be used before they are declared
//! result: 42
answer()
function answer() { return 42 }
// --- a class
//! result: 3
class A { #x = 3; get x() { return this.#x } static make() { return new A() } }
A.make().x
// --- destructuring and spread
//! result: [1,[2,3],{"c":4}]
const [a, ...rest] = [1, 2, 3];
const { b, ...others } = { b: 0, c: 4 };
[a, rest, others]
// --- generators
//! result: [0,1,4]
function* squares(n) { for (let i = 0; i < n; i++) yield i * i }
[...squares(3)]
// --- a label
//! result: 1
let n = 0;
outer: for (;;) { for (;;) { n++; break outer } }
n
// --- a switch
//! result: "two"
let word;
switch (2) { case 1: word = 'one'; break; case 2: word = 'two' }
word
// --- without semicolons
//! result: 6
const numbers = [1, 2, 3]
let sum = 0
numbers.forEach((n) => { sum += n })
sum
// --- a function value at the end is called
//! result: "called"
const run = async () => 'called';
run
// --- a function called main that nobody calls
//! result: "main"
const greeting = 'main';
async function main() { return greeting }
// --- one that is called is not called again
//! result: 1
//! console: ["main"]
async function main() { console.log('main'); return 1 }
await main()
// --- a list of statements that only prints
//! result: {"$type":"undefined"}
//! console: ["1", "2"]
console.log(1)
console.log(2)
// --- what is used and disposed of is written out
//! error: SYNTAX_ERROR
//! message: /^using declarations are not supported at line 2, column 1/
//! hint: /finally/
const open = () => ({ [Symbol.dispose]() {} });
using x = open();
1
// --- a function in the computed name of a class's method
//! error: SYNTAX_ERROR
//! message: /^a function, a class or `arguments` in the computed name of a class's method is not supported at line 3, column 18/
//! hint: /before the class/
const keys = ['a', 'b'];
class A {
  get [keys.find((key) => key === 'b')]() { return 1 }
}
new A().b
// --- a variable of another function in such a name
//! error: SCRIPT_ERROR
//! message: /uninitialized binding/
//! hint: /const name = outer/
const named = (key) => () => class { [key]() { return 1 } };
new (named('b')())().b()
// --- as the hint says
//! result: 1
const named = (key) => () => { const name = key; return class { [name]() { return 1 } } };
new (named('b')())().b()
// --- what its class's methods are called may be computed all the same, without a function
//! result: [1,2,3,"f"]
const name = 'b';
const o = { [['x'].map((key) => key)[0]]() { return 1 } };
class A {
  [name + 1]() { return [2].map((n) => n)[0] }
  static [`s${name}`] = (() => 3)();
  [class { static f = 'f' }.f] = 'f';
}
const a = new A();
[o.x(), a.b1(), A.sb, a.f]
