// A namespace is looked at, awaited, printed and spread like any object.

// --- awaited
//! result: true
//! calls: 0
(await fake) === fake
// --- a promise of it
//! result: true
//! calls: 0
const namespace = await Promise.resolve(fake);
namespace === fake
// --- returned from an async function
//! result: "function"
typeof (await (async () => fake)()).echo
// --- printed
//! result: {"$type":"undefined"}
//! console: ["Proxy {}"]
console.log(fake)
// --- as text
//! result: ["[object fake]","[object fake]"]
[`${fake}`, String(fake)]
// --- its keys
//! result: ["echo","wait","fail","write","hang"]
Reflect.ownKeys(fake)
// --- its methods can be asked for
//! result: [true,false,"function","function",{"$type":"undefined"}]
['echo' in fake, 'ekko' in fake, typeof fake.echo, typeof fake.ekko, fake.then]
// --- spread
//! result: /./
Object.keys({ ...fake }).length >= 0
// --- as JSON
//! result: {"$type":"undefined"}
//! calls: 0
void JSON.stringify({ fake: String(fake) })
// --- symbols are no methods
//! result: [{"$type":"undefined"},{"$type":"undefined"}]
[fake[Symbol.iterator], fake[Symbol.toPrimitive]]
// --- it is no function
//! error: SCRIPT_ERROR
//! message: /TypeError/
fake()
// --- it is not enumerated among the globals
//! result: false
Object.keys(globalThis).includes('fake')
// --- a method cannot be constructed
//! error: SCRIPT_ERROR
//! message: /TypeError/
new fake.echo(1)
// --- a method of any name can be called, but only known ones answer
//! result: ["UNKNOWN_METHOD","UNKNOWN_METHOD","UNKNOWN_METHOD"]
const code = (error) => error.code;
[await fake['a b']().catch(code), await fake['']().catch(code), await fake['🦀']().catch(code)]
// --- valueOf and hasOwnProperty are not in the way
//! result: ["function","string"]
[typeof fake.toString, typeof fake.valueOf()]
// --- optional calls work
//! result: 5
await fake.echo?.(5)
// --- a number as a method
//! result: "UNKNOWN_METHOD"
await fake[0]().catch((error) => error.code)
