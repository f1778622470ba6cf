// Scripts that ask for more memory than there is.

// --- a string that doubles
//! error: MEMORY_EXCEEDED
//! hint: /smaller parts/
let text = 'x';
for (;;) { text += text; text.charCodeAt(text.length - 1) }
// --- repeat
//! error: /MEMORY_EXCEEDED|SCRIPT_ERROR/
'x'.repeat(2 ** 28).length
// --- padding
//! error: /MEMORY_EXCEEDED|SCRIPT_ERROR/
'x'.padEnd(2 ** 29).length
// --- an array that grows
//! error: MEMORY_EXCEEDED
const list = [];
for (;;) list.push(1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5);
// --- arrays in arrays
//! error: /MEMORY_EXCEEDED|CPU_EXCEEDED/
//! cpu_ms: 2000
const lists = [];
for (;;) lists.push(new Array(1000).fill(lists.length));
// --- one typed array
//! error: /MEMORY_EXCEEDED|SCRIPT_ERROR/
new Uint8Array(2 ** 30).length
// --- buffers
//! error: /MEMORY_EXCEEDED|SCRIPT_ERROR/
const buffers = [];
for (;;) buffers.push(new ArrayBuffer(16 * 1024 * 1024));
// --- a map
//! error: /MEMORY_EXCEEDED|CPU_EXCEEDED/
//! cpu_ms: 2000
const map = new Map();
for (let i = 0; ; i++) map.set('key number ' + i, { i, text: 'value number ' + i });
// --- a set of strings
//! error: /MEMORY_EXCEEDED|CPU_EXCEEDED/
//! cpu_ms: 2000
const set = new Set();
for (let i = 0; ; i++) set.add(String(i).repeat(200));
// --- objects that hold each other
//! error: /MEMORY_EXCEEDED|CPU_EXCEEDED/
//! cpu_ms: 2000
let last = null;
for (;;) last = { last, more: [1, 2, 3, 4, 5, 6, 7, 8], text: 'x'.repeat(100) };
// --- closures
//! error: /MEMORY_EXCEEDED|CPU_EXCEEDED/
//! cpu_ms: 2000
const functions = [];
for (;;) { const data = new Array(200).fill(0); functions.push(() => data) }
// --- promises that nobody settles
//! error: /MEMORY_EXCEEDED|CPU_EXCEEDED/
//! cpu_ms: 2000
const promises = [];
for (;;) promises.push(new Promise(() => {}).then(() => {}));
// --- a join
//! error: /MEMORY_EXCEEDED|SCRIPT_ERROR/
new Array(2 ** 20).fill('x'.repeat(1000)).join('')
// --- a huge array is only a number
//! result: 4294967295
new Array(2 ** 32 - 1).length
// --- filling it is not
//! error: /MEMORY_EXCEEDED|CPU_EXCEEDED|SCRIPT_ERROR/
//! cpu_ms: 2000
new Array(2 ** 32 - 1).fill(0).length
// --- too long for an array
//! error: SCRIPT_ERROR
//! message: /RangeError/
new Array(-1)
// --- JSON text
//! error: /MEMORY_EXCEEDED|CPU_EXCEEDED|SCRIPT_ERROR/
//! cpu_ms: 2000
let text = '[' + '1,'.repeat(3000000) + '1]';
const lists = [];
for (;;) lists.push(JSON.parse(text));
// --- a replacement that multiplies
//! error: /MEMORY_EXCEEDED|SCRIPT_ERROR|CPU_EXCEEDED/
//! cpu_ms: 2000
let text = 'aaaaaaaaaa';
for (;;) text = text.replaceAll('a', 'aaaaaaaaaa');
// --- a long spread
//! result: 1
Math.max(...new Array(500000).fill(1))
// --- a text longer than any can be
//! error: MEMORY_EXCEEDED
'x'.repeat(1e5).split('').join('y'.repeat(1e5))
