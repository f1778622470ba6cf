// A script written as a module: its default export is the result, called if it is a function.

// --- an async arrow
//! result: 1
export default async () => 1
// --- with a body and a semicolon
//! result: 2
export default async () => {
  return 2;
};
// --- a function
//! result: 3
export default function () { return 3 }
// --- an async function
//! result: 4
export default async function () { return 4 }
// --- a named function
//! result: 5
export default async function run() { return 5 }
// --- a value
//! result: {"a":[1]}
export default { a: [1] };
// --- a name
//! result: 6
async function work() { return 6 }
export default work;
// --- named exports besides
//! result: 7
export const n = 7;
export default () => n;
// --- an export list
//! result: 8
const run = async () => 8;
export { run as default };
// --- named exports alone do not disturb
//! result: 9
export const eight = 8;
eight + 1
// --- the exports of CommonJS
//! result: 10
module.exports = async () => 10;
// --- an import of types is no import
//! result: 11
import type { Page } from 'playwright';
export default async (page?: Page) => 11
// --- an import says what is there instead
//! error: UNSUPPORTED_OPERATION
//! message: /playwright.* at line 1, column 1\n/
//! hint: /namespaces/
//! details.line: 1
import { chromium } from 'playwright';
const browser = await chromium.launch();
// --- a dynamic import too
//! error: UNSUPPORTED_OPERATION
//! details.line: 2
const path = 'a';
const fs = await import('fs');
// --- so does require
//! error: SCRIPT_ERROR
//! message: /require is not available in the sandbox: there are no modules/
//! details.line: 1
const fs = require('fs');
// --- import.meta is not there
//! error: SYNTAX_ERROR
//! hint: /namespaces/
import.meta.url
// --- the one function that is exported by its name
//! result: 17
export const run = async () => 17
// --- with helpers
//! result: 17
const seven = () => 7;
export async function run() { return 10 + seven() }
// --- unless the module calls it itself
//! result: [17]
const calls = [];
export const run = async () => calls.push(17);
await run();
calls
