// How many calls a script may make, at once and at all.

// --- three thousand, one after the other
//! result: 3000
//! calls: 3000
let n = 0;
while (n < 3000) n += await fake.echo(1);
n
// --- three hundred at once
//! result: [300,0,299]
//! calls: 300
const all = await Promise.all(Array.from({ length: 300 }, (_, i) => fake.echo(i)));
[all.length, all[0], all[299]]
// --- two hundred and fifty-six run at the same time, more wait for their turn
//! result: 300
//! calls: 300
(await Promise.all(Array.from({ length: 300 }, () => tools.meet(256)))).length
// --- two hundred and fifty-seven never do
//! error: TIME_EXCEEDED
//! timeout_ms: 300
await Promise.all(Array.from({ length: 300 }, () => tools.meet(257)))
// --- ten thousand are allowed
//! result: 10000
//! calls: 10000
(await Promise.all(Array.from({ length: 10000 }, (_, i) => fake.echo(i)))).length
// --- one more is not
//! result: [10000,"CALLS_EXCEEDED"]
//! calls: 10000
const all = await Promise.allSettled(Array.from({ length: 10001 }, (_, i) => fake.echo(i)));
[all.filter((one) => one.status === 'fulfilled').length, all[10000].reason.code]
// --- it says what to do
//! error: CALLS_EXCEEDED
//! message: /made 10000 calls/
//! hint: /Do more in each call/
//! calls: 10000
for (;;) await fake.echo(1)
// --- a call within a reply's continuation
//! result: "abc"
//! calls: 3
await fake.echo('a').then((a) => fake.echo(a + 'b')).then((b) => fake.echo(b + 'c'))
// --- the first of several
//! result: "fast"
//! warnings: ["/^1 calls had not ended .*fake.hang/"]
await Promise.race([fake.hang(), fake.echo('fast')])
// --- many timers are bounded
//! error: SCRIPT_ERROR
//! message: /RangeError: 10000 timers are pending/
for (;;) setTimeout(() => {}, 1000)
