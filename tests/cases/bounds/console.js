// The console keeps its first and its last lines and counts the rest.

// --- a hundred thousand lines
//! result: "done"
//! console: /^line 0\nline 1\n.*\nline 99998\nline 99999$/
for (let i = 0; i < 100000; i++) console.log('line ' + i);
'done'
// --- a line without end
//! result: "done"
//! console: ["/^x{1000}.*/"]
console.log('x'.repeat(10000000));
'done'
// --- long lines
//! result: "done"
//! console: /^0 x+.*99 x+/
for (let i = 0; i < 100; i++) console.log(i + ' ' + 'x'.repeat(100000));
'done'
// --- empty lines
//! result: "done"
//! console: /^\n*$/
for (let i = 0; i < 100000; i++) console.log();
'done'
// --- a large object
//! result: "done"
//! console: ["/^\\[\\n/"]
console.log(Array.from({ length: 1000000 }, (_, i) => ({ i })));
'done'
// --- a flood that never ends
//! error: CPU_EXCEEDED
//! cpu_ms: 300
for (;;) console.log('flood')
// --- a flood over many turns keeps its end, too
//! result: "done"
//! console: /^0 .*2999 x+$/
for (let i = 0; i < 3000; i++) { console.log(i + ' ' + 'x'.repeat(100)); if (i % 100 === 0) await fake.echo(i) }
'done'
