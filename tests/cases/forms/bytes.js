// Comments, white space and bytes around the script.

// --- a comment first
//! result: 1
// A comment.
1
// --- a block comment first
//! result: 2
/*
 * A comment.
 */
2
// --- a comment last
//! result: 3
3 // the result
// --- a comment line last
//! result: 4
4
// the end
// --- a block comment last
//! result: 5
5 /* the end */
// --- comments within
//! result: 6
const /* a */ a = /* five */ 5; // five
/* and */ a + 1
// --- a comment that is not closed is a fault
//! error: SYNTAX_ERROR
1 /* 2
// --- a byte order mark
//! result: 7
//! as: bom
7
// --- a byte order mark before a fence
//! result: 8
//! as: bom
```js
8
```
// --- line ends of another system
//! result: "a\nb"
//! as: crlf
const text = `a
b`;
text
// --- in a fence
//! result: 9
//! as: crlf
Here:

```js
const a = 9;
a
```
// --- line ends of another system after comments
//! result: 10
//! as: crlf
// one
10 // two
// --- an error counts its lines all the same
//! error: SCRIPT_ERROR
//! details.line: 3
//! as: crlf
const a = 1;

throw new Error('here')
// --- a hash bang
//! result: 11
#!/usr/bin/env node
11
// --- white space of other scripts
//! result: 12
   12   
// --- names of other scripts
//! result: 13
const größe = 13, 変数 = größe; 変数
// --- text of other scripts
//! result: "日本 🦀 é"
'日本 🦀 é'
// --- escapes
//! result: "A\u0000\u2028"
'\x41\0\u{2028}'
// --- a script of half a megabyte
//! result: 500000
'«500000 "x"»'.length
// --- ten thousand lines
//! result: 10000
let n = 0;
«10000 "n++;\n"»n
