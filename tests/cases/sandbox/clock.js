// Time stands still while a script runs, and moves while it waits.

// --- it stands still in a turn
//! result: [true,true]
const [before, now] = [Date.now(), performance.now()];
for (let i = 0; i < 300000; i++);
[Date.now() === before, performance.now() === now]
// --- and over microtasks
//! result: true
const before = Date.now();
for (let i = 0; i < 1000; i++) await null;
Date.now() === before
// --- it moves over a timer
//! result: true
const before = Date.now();
await new Promise((done) => setTimeout(done, 10));
Date.now() - before >= 10
// --- and over a call
//! result: true
const before = performance.now();
await fake.wait(10);
performance.now() - before >= 9
// --- the clocks agree
//! result: true
await fake.wait(5);
Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 2 && Math.abs(new Date() - Date.now()) < 2
// --- it is now
//! result: true
Date.now() > Date.UTC(2025, 0, 1)
// --- performance begins with the script
//! result: 0
Math.floor(performance.now() / 5000)
// --- it never goes back
//! result: true
let last = 0, ok = true;
for (let i = 0; i < 20; i++) { await fake.wait(1); const now = performance.now(); ok &&= now >= last; last = now }
ok
// --- everything is UTC
//! result: [0,"2024-06-01T12:00:00.000Z"]
[new Date().getTimezoneOffset(), new Date(2024, 5, 1, 12).toISOString()]
