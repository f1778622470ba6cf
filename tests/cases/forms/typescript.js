// Types are stripped; what of TypeScript has a meaning at run time keeps it.

// --- annotations
//! result: "a1"
const text: string = 'a';
const n: number | undefined = 1;
function join(a: string, b?: number, ...rest: unknown[]): string { return a + b }
join(text, n)
// --- interfaces and types
//! result: {"id":1,"tags":["x"]}
interface Item { id: number; tags?: string[] }
type Maybe<T> = T | null;
const item: Maybe<Item> = { id: 1, tags: ['x'] };
item
// --- an enum
//! result: [0,1,"Red"]
enum Color { Red, Green }
[Color.Red, Color.Green, Color[0]]
// --- an enum of strings
//! result: "up"
enum Direction { Up = 'up', Down = 'down' }
Direction.Up
// --- a const enum
//! result: 4
const enum Size { S = 1, L = 4 }
Size.L
// --- generics
//! result: [1]
function list<T extends object | number>(item: T): T[] { return [item] }
list<number>(1)
// --- a generic arrow
//! result: "x"
const same = <T,>(value: T): T => value;
same<string>('x')
// --- as and satisfies
//! result: 3
const value = { n: 3 } as unknown as { n: number };
const checked = value satisfies { n: number };
checked.n as number
// --- as const
//! result: ["a","b"]
const names = ['a', 'b'] as const;
names
// --- non-null assertions
//! result: 2
const map = new Map<string, number>([['a', 2]]);
map.get('a')!
// --- classes with modifiers
//! result: "Ada is 36"
abstract class Being { protected constructor(public readonly name: string) {} abstract say(): string }
class Person extends Being {
  private declare secret: string;
  constructor(name: string, private age: number) { super(name) }
  override say(): string { return `${this.name} is ${this.age}` }
}
new Person('Ada', 36).say()
// --- implements and index signatures
//! result: 5
interface Shape { [key: string]: unknown; area(): number }
class Square implements Shape { [key: string]: unknown; area(): number { return 5 } }
new Square().area()
// --- a namespace
//! result: 6
namespace Tools { export const six = 6; export namespace Deep { export const five = 5 } }
Tools.six
// --- declare is nothing
//! result: 7
declare const page: { title(): string };
declare function f(): void;
7
// --- overloads
//! result: "n1"
function show(value: string): string;
function show(value: number): string;
function show(value: any) { return typeof value === 'number' ? 'n' + value : value }
show(1)
// --- an async arrow with types
//! result: ["1","2"]
async (): Promise<Array<string>> => {
  const rows: Array<{ id: number }> = await fake.echo([{ id: 1 }, { id: 2 }]);
  return rows.map((row: { id: number }): string => String(row.id));
}
// --- a default export with types
//! result: 8
export default async (input?: Record<string, unknown>): Promise<number> => 8
// --- type assertions in angle brackets
//! result: 1
const a: any = 1;
<number>a
// --- optional parameters and this
//! result: 3
function add(this: void, a: number, b: number = 2) { return a + b }
add(1)
// --- unions over lines and tuples
//! result: ["x",1]
type Kind =
  | 'a'
  | 'b';
type Pair = [string, number?];
const pair: Pair = ['x', 1];
pair
// --- template literal types, keyof, typeof and conditional types
//! result: "ok"
type Event = `on${string}`;
type Keys = keyof typeof globalThis;
type Get<T> = T extends { value: infer V } ? V : never;
'ok'
// --- a type guard
//! result: true
function isText(value: unknown): value is string { return typeof value === 'string' }
isText('x')
// --- a catch variable
//! result: "bad"
try { throw new Error('bad') } catch (error: unknown) { (error as Error).message }
// --- definite assignment
//! result: 1
let late!: number;
late = 1;
late
// --- an accessor and parameters of a setter
//! result: 2
class Box { #v = 1; get v(): number { return this.#v } set v(value: number) { this.#v = value } }
const box = new Box(); box.v = 2; box.v
// --- an error keeps the line of the text as it was sent
//! error: SCRIPT_ERROR
//! message: Error: here
//! details.line: 8
//! details.column: /^\d+$/
interface A {
  a: string;
  b: number;
}
enum E { X, Y }
type T = A | E;
function f(value: T): never {
  throw new Error('here');
}
f(E.X);
// --- a fault in the types is a syntax error of the text
//! error: SYNTAX_ERROR
//! details.line: 2
interface A { x: number }
let a: A = { x: 1; }
// --- positions are those of the text that was sent, wherever they are shown
//! result: /script\.js:7:/
//! console: ["/^error: TypeError.*script\\.js:7:/"]
//! warnings: ["/^nothing handled: Error: later .*script\\.js:9:/"]
```ts
interface Row {
  name: string;
}
const read = (row: Row | null): string => {
  try {
    return row.name;
  } catch (error) {
    Promise.resolve().then(() => { throw new Error('later') });
    console.error(error);
    return error.stack;
  }
};
read(null as any)
```
// --- also of an error that is the result
//! result: /"stack":".*script\.js:5:15/
interface Row {
  name: string;
}
const row: Row = { name: 'x' };
const error = new Error(row.name);
({ error })
// --- a fault that only the engine finds
//! error: SYNTAX_ERROR
//! message: /^expected token ';', got 'c' in expected semicolon at line 4, column 20\n\n.*\n> 4 /
//! details.line: 4
interface Row {
  name: string;
}
class A { accessor c = 1 }
