// A fault is found before anything runs, and shown in the model's own text.

// --- a whole message
//! error: SYNTAX_ERROR
//! message: Expected `,` or `)` but found `;` at line 2, column 42
//!|
//!|   1 | const rows = await f();
//!| > 2 | const total = rows.reduce((a, b) => a + b;
//!|     |                                          ^
//!|   3 | total
//! details.line: 2
//! details.column: 42
//! hint: Fix the marked place and send the whole script again; nothing has run.
const rows = await f();
const total = rows.reduce((a, b) => a + b;
total
// --- in a fence the lines are those of the whole text
//! error: SYNTAX_ERROR
//! message: /at line 4, column 7\n/
//! details.line: 4
//! details.column: 7
Look:

```js
const = 1
```
// --- nothing of it runs
//! error: SYNTAX_ERROR
//! calls: 0
//! console: []
console.log('ran'); fake.echo(1);
let let = 1;
// --- an open bracket
//! error: SYNTAX_ERROR
//! details.line: 2
if (true) {
  f(

// --- a bracket too many
//! error: SYNTAX_ERROR
//! details.line: 2
//! details.column: 1
f()
}
// --- the function around the script cannot be left
//! error: SYNTAX_ERROR
//! details.line: 1
}); globalThis.escaped = 1; (async () => {
// --- nor in other ways
//! error: SYNTAX_ERROR
}, globalThis.escaped = 1, async () => {
// --- nor with a comment
//! error: SYNTAX_ERROR
1 })(); /*
// --- a string that is not closed
//! error: SYNTAX_ERROR
//! message: /Unterminated string/
//! details.line: 1
const a = 'abc
// --- a template that is not closed
//! error: SYNTAX_ERROR
//! message: /Unterminated/
`abc
// --- a name declared twice
//! error: SYNTAX_ERROR
//! message: /already been declared/
//! details.line: 2
//! details.column: 5
let a = 1;
let a = 2;
// --- await where it cannot be
//! error: SYNTAX_ERROR
//! message: /async/
//! details.line: 2
[1].forEach((n) => {
  await fake.echo(n)
})
// --- break outside of a loop
//! error: SYNTAX_ERROR
break
// --- an assignment to a constant is found when it runs
//! error: SCRIPT_ERROR
//! message: /TypeError/
const a = 1; a = 2
// --- a regular expression
//! error: SYNTAX_ERROR
/(/
// --- one that is made at run time
//! error: SCRIPT_ERROR
//! message: /SyntaxError/
new RegExp('(')
// --- JSX
//! error: SYNTAX_ERROR
//! message: /JSX/
const a = <div/>
// --- decorators
//! error: SYNTAX_ERROR
//! message: /decorators/
class A { @dec x = 1 }
// --- HTML
//! error: SYNTAX_ERROR
<!doctype html><p>hello</p>
// --- JSON with a trailing word
//! error: SYNTAX_ERROR
{"a": 1} x
// --- Python
//! error: SYNTAX_ERROR
//! details.line: 1
def main():
    return 1
// --- a shell
//! error: SYNTAX_ERROR
curl -s https://example.com | jq .
// --- eval has its own syntax errors
//! error: SCRIPT_ERROR
//! message: /SyntaxError/
eval('1 +')
// --- strict mode is kept
//! error: SYNTAX_ERROR
'use strict'; with (Math) sin(0)
