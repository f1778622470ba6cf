// Large things that are let go, and large things that are given away: results, arguments, errors.

// --- what is released can be used again
//! result: 100
let n = 0;
for (let i = 0; i < 100; i++) { n += new Uint8Array(16 * 1024 * 1024)[i] + 1 }
n
// --- replies that are released, too
//! result: 500000000
let n = 0;
for (let i = 0; i < 500; i++) n += (await tools.text(1000000)).length;
n
// --- large ones
//! result: 540000000
let n = 0;
for (let i = 0; i < 60; i++) { const page = { html: await tools.text(9000000) }; n += page.html.length }
n
// --- and bytes of replies
//! result: 300000000
let n = 0;
for (let i = 0; i < 300; i++) n += (await tools.bytes(1000000)).length;
n
// --- a hundred megabytes of result
//! error: /RESULT_TOO_LARGE|MEMORY_EXCEEDED/
'x'.repeat(100 * 1024 * 1024)
// --- many strings in the result
//! error: RESULT_TOO_LARGE
//! hint: /filter, count or slice/
new Array(70).fill('x'.repeat(1024 * 1024))
// --- more values than bytes: each hole is one in the sandbox and half a kilobyte outside of it
//! error: RESULT_TOO_LARGE
//! message: /^the result has more values than the host takes: they need \d+ MiB of memory, at most 60 MiB are taken$/
new Array(1_000_000)
// --- an array of holes in the result
//! error: RESULT_TOO_LARGE
const sparse = [];
sparse[4000000000] = 1;
sparse
// --- an argument larger than the bound
//! error: INVALID_ARGUMENT
//! message: fake.echo: the arguments are larger than 4194304 bytes
//! calls: 0
await fake.echo('x'.repeat(1024).repeat(5 * 1024))
// --- arguments of too many values for their bytes, of which a smaller number passes
//! error: INVALID_ARGUMENT
//! message: /^fake\.echo: the arguments have more values than the host takes: they need \d+ MiB of memory, at most 8 MiB are taken$/
//! hint: /^Pass less in one call/
await fake.echo(new Array(10_000))
await fake.echo(new Array(1_000_000))
// --- an error with a large message
//! error: SCRIPT_ERROR
//! message: /^Error: x{3900,4000}…?$/
throw new Error('x'.repeat(10000000))
// --- a large thrown string
//! error: SCRIPT_ERROR
throw 'x'.repeat(10000000)
// --- a large thrown object
//! error: SCRIPT_ERROR
throw new Array(1000000).fill({ a: 'x'.repeat(100) })
