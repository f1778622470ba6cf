// A script that is one function is called, and what it returns is the result.

// --- an arrow
//! result: 1
() => 1
// --- an arrow with a body
//! result: 2
() => { return 2 }
// --- an async arrow
//! result: 3
async () => 3
// --- an async arrow with a body and a semicolon
//! result: 4
async () => {
  const n = await Promise.resolve(4);
  return n;
};
// --- in parentheses
//! result: 5
(async () => { return 5 })
// --- in several parentheses with a semicolon
//! result: 6
((() => 6));
// --- with a parameter that nobody gives
//! result: {"$type":"undefined"}
async (page) => page
// --- a named function
//! result: 7
function run() { return 7 }
// --- a named async function
//! result: 8
async function main() {
  return await fake.echo(8);
}
// --- a function without a name
//! result: 9
function () { return 9 }
// --- an async function without a name
//! result: 10
async function () { return 10 }
// --- one with a semicolon
//! result: 11
async function main() { return 11 };
// --- a function that returns nothing
//! result: {"$type":"undefined"}
async () => { await fake.echo(1) }
// --- an arrow that calls
//! result: 12
async () => fake.echo(12)
// --- called at once
//! result: 13
(() => 13)()
// --- an async one called at once
//! result: 14
(async () => { return 14 })();
// --- an async one called at once with await
//! result: 15
await (async () => 15)()
// --- a function expression called at once
//! result: 16
(function () { return 16 })()
// --- with the parentheses inside
//! result: 17
(function () { return 17 }())
// --- void before it loses the value
//! result: {"$type":"undefined"}
void (async () => 18)()
// --- a comment before and after
//! result: 19
// Does the work.
/* Really. */
async () => {
  return 19; // done
}
// the end
// --- a generator function gives an object
//! result: {}
(function* () { yield 1 })()
// --- a bang before it
//! result: false
!function () { return 20 }()
// --- a helper and an arrow at the end
//! result: 21
const add = (a, b) => a + b;
async () => add(20, 1)
// --- this is not the global object's business
//! result: "undefined"
'use strict'; (function () { return typeof this })()
// --- one that takes its parameter apart is told what there is instead
//! error: SCRIPT_ERROR
//! message: /^TypeError: /
//! hint: /called without arguments.* fake, tools\./
async ({ page }) => page.title()
// --- a default helps
//! result: 1
({ n } = { n: 1 }) => n
// --- `this` in arrow functions within arrow functions
//! result: [[[2]],[[2]],[[2]],[[2]],[2],2,7]
const double = { by: 2, times(x) { return x * this.by }, all(rows) { return rows.map((row) => row.map((x) => this.times(x))) } };
class Doubler {
  by = 2;
  each = (rows) => rows.map((row) => row.map((x) => x * this.by));
  all(rows) { return rows.map((row) => { return row.map((x) => x * this.by) }) }
  async later(rows) { return Promise.all(rows.map(async (row) => row.map((x) => x * this.by))) }
  get deep() { return [1].map((x) => (() => (() => x * this.by)())()) }
  static of = 2;
  static { this.made = (() => (() => this.of)())() }
}
class Base { constructor(by) { this.by = by } }
class Derived extends Base {
  constructor() {
    const read = () => (() => this.by)();
    super(7);
    this.read = read();
  }
}
const doubler = new Doubler();
[double.all([[1]]), doubler.each([[1]]), doubler.all([[1]]), await doubler.later([[1]]), doubler.deep, Doubler.made, new Derived().read]

// --- the text of an arrow function that ends with a template
//! result: ["(v) => (`${v}!`)", "(v) => ('a' + `${v} b`)", "(v) => v.map((x) => (`${x}?`))", "(v) => `c`"]
[(v) => `${v}!`, (v) => 'a' + `${v} b`, (v) => v.map((x) => `${x}?`), (v) => `c`].map(String)

// --- this and a template at the end of an arrow function
//! result: "1!"
({ a: 1, m() { return [0].map((x) => [x].map((y) => `${this.a}!`)[0])[0]; } }).m()
