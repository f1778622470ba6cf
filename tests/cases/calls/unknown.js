// A method that does not exist.

// --- the nearest name
//! error: UNKNOWN_METHOD
//! message: /fake\.ekho/
//! hint: Did you mean fake.echo? The methods are: echo, wait, fail, write, hang.
await fake.ekho(1)
// --- the wrong case
//! error: UNKNOWN_METHOD
//! hint: /Did you mean fake\.echo\?/
await fake.ECHO(1)
// --- nothing near
//! error: UNKNOWN_METHOD
//! hint: /The methods are: echo, wait, fail, write, hang/
await fake.qqqqqqqq(1)
// --- it can be caught
//! result: "UNKNOWN_METHOD"
try { await fake.click('#a') } catch (error) { error.code }
// --- it rejects and does not throw
//! result: [true,"UNKNOWN_METHOD"]
const promise = fake.clik();
[promise instanceof Promise, await promise.catch((error) => error.code)]
// --- a very long name
//! error: UNKNOWN_METHOD
await fake['x'.repeat(100000)]()
// --- names of objects
//! result: ["UNKNOWN_METHOD","UNKNOWN_METHOD"]
const code = (error) => error.code;
[await fake.hasOwnProperty('a').catch(code), await fake.isPrototypeOf({}).catch(code)]
