// What other hosts have and this one has not says what to use instead.

// --- fetch
//! error: SCRIPT_ERROR
//! message: /fetch is not available in the sandbox: scripts have no network/
await fetch('https://example.com')
// --- fetch rejects, and can be caught
//! result: "UNSUPPORTED_OPERATION"
await fetch('https://example.com').catch((error) => error.code)
// --- require
//! error: SCRIPT_ERROR
//! message: /require is not available in the sandbox: there are no modules/
require('fs')
// --- process
//! error: SCRIPT_ERROR
//! message: ReferenceError: process is not defined
//! hint: /scripts reach no file, process or environment/
process.env.HOME
// --- document
//! error: SCRIPT_ERROR
//! message: ReferenceError: document is not defined
//! hint: /evaluate in the page/
document.querySelector('a')
// --- window
//! error: SCRIPT_ERROR
//! hint: /evaluate in the page/
window.location.href
// --- feature detection works
//! result: ["undefined","undefined","undefined","undefined","undefined","undefined","undefined"]
[typeof window, typeof document, typeof process, typeof Buffer, typeof WebAssembly, typeof Deno, typeof module]
// --- Buffer
//! error: SCRIPT_ERROR
//! hint: /Uint8Array/
Buffer.from('a')
// --- WebSocket
//! error: SCRIPT_ERROR
//! message: /WebSocket is not available in the sandbox/
new WebSocket('wss://example.com')
// --- XMLHttpRequest
//! error: SCRIPT_ERROR
//! message: /XMLHttpRequest is not available/
new XMLHttpRequest()
// --- WebAssembly
//! error: SCRIPT_ERROR
//! hint: /JavaScript, or run it in the page/
WebAssembly.compile(new Uint8Array())
// --- storage
//! error: SCRIPT_ERROR
//! hint: /nothing of a script outlives it/
localStorage.getItem('a')
// --- playwright's page
//! error: SCRIPT_ERROR
//! hint: /namespaces/
await page.goto('https://example.com')
// --- a script's own are its own
//! result: 3
const fetch = async () => 3, process = 1, document = 2;
await fetch()
// --- a fetch put in its place works
//! result: "mine"
globalThis.fetch = async () => 'mine';
await fetch('x')
// --- the engine loses a property that deletes itself, and says how not to
//! error: SANDBOX_FAULT
//! hint: /object\["name"\]/
const o = { get x() { delete this.x; return 5 } };
for (let i = 0; i < 3; i++) o.x;
// --- that way
//! result: [5,null,null]
const o = { get x() { delete this.x; return 5 } };
[1, 2, 3].map(() => o['x'] ?? null)
