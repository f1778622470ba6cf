// What a failed call looks like to the script, and to whoever sent it.

// --- caught
//! result: ["CallError","not now","SESSION_BUSY","Wait for the holder to finish, or use another key.",true,"fake.fail",true]
const error = await fake.fail('SESSION_BUSY', 'not now').catch((error) => error);
[error.name, error.message, error.code, error.hint, error.retryable, error.call, error instanceof Error]
// --- with details
//! result: {"rule":"manners","tries":3}
(await tools.refuse().catch((error) => error)).details
// --- without details
//! result: {"$type":"undefined"}
(await fake.fail('CALL_FAILED').catch((error) => error)).details
// --- its stack shows where the call was made
//! result: true
async function work() {
  await fake.fail('CALL_FAILED', 'no');
}
const error = await work().catch((error) => error);
/^CallError: no\n.*script\.js:2:/s.test(error.stack)
// --- uncaught it is the answer's error, as it was
//! error: POLICY_REFUSED
//! message: this is not done here
//! hint: Do something else.
//! details.rule: "manners"
//! details.tries: 3
//! details.call: "tools.refuse"
//! details.stack: /script\.js:2:/
const before = 1;
await tools.refuse();
// --- of any code
//! error: BROWSER_GONE
//! message: it died
await fake.fail('BROWSER_GONE', 'it died')
// --- a code that is not in the table
//! error: CALL_FAILED
await fake.fail('NO_SUCH_CODE', 'x')
// --- as text
//! result: "CallError: no"
String(await fake.fail('CALL_FAILED', 'no').catch((error) => error))
// --- printed
//! result: {"$type":"undefined"}
//! console: ["/CallError: no.*code: 'CALL_FAILED'/"]
console.log(await fake.fail('CALL_FAILED', 'no').catch((error) => error))
// --- in the result
//! result: /^\{"\$type":"error","name":"CallError","message":"no","stack":"CallError: no/
await fake.fail('CALL_FAILED', 'no').catch((error) => error)
// --- one of several
//! result: ["fulfilled","rejected","fulfilled"]
(await Promise.allSettled([fake.echo(1), fake.fail('CALL_FAILED'), fake.echo(2)])).map((one) => one.status)
// --- a provider that panics
//! error: HOST_FAULT
//! message: /panicked/
await tools.panic()
// --- can be caught, and its other methods still answer
//! result: ["HOST_FAULT",1]
[await tools.panic().catch((error) => error.code), (await tools.text(1)).length]
// --- try and finally
//! result: ["try","catch CALL_FAILED","finally"]
const seen = [];
try { seen.push('try'); await fake.fail('CALL_FAILED') } catch (error) { seen.push('catch ' + error.code) } finally { seen.push('finally') }
seen
// --- what a call was given is shown only in part
//! error: INVALID_ARGUMENT
//! message: /^tools\.strict: options: Additional properties are not allowed .{1,600}$/
//! hint: /^Call it as tools\.strict\(/
await tools.strict('a', { ['k'.repeat(1e6)]: 1 })
// --- also where it is all of the wrong kind
//! error: INVALID_ARGUMENT
//! message: tools.strict: options: value is not of type "object"
await tools.strict('a', 'k'.repeat(1e6))
// --- and where there are many faults
//! result: [true,20]
const error = await tools.strict('a', { tags: Array.from({ length: 50_000 }, () => 1) }).catch((error) => error);
[error.message.length < 4100, error.details.faults.length]
// --- an error of a provider that knows no bounds comes back bounded
//! result: true
const error = await fake.fail('CALL_FAILED', 'k'.repeat(1e6)).catch((error) => error);
JSON.stringify([error.message, error.hint, error.details]).length < 30_000
