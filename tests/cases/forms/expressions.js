// A script that is an expression, and statements whose last one is: its value is the result.

// --- a bare expression
//! result: 2
1 + 1
// --- with a semicolon
//! result: 2
1 + 1;
// --- with several semicolons
//! result: 2
1 + 1;;;
// --- over several lines
//! result: [1,2]
[
  1,
  2,
]
// --- a string
//! result: "it's"
"it's"
// --- a template
//! result: "a 2 b"
`a ${1 + 1} b`
// --- an object in parentheses
//! result: {"a":1,"b":{"c":[]}}
({ a: 1, b: { c: [] } })
// --- an object without parentheses
//! result: {"a":1,"b":2}
{ a: 1, b: 2 }
// --- an object with one key, which could be a label
//! result: {"a":1}
{ a: 1 }
// --- an empty object
//! result: {}
{}
// --- an object of shorthands and methods is refused where it has a function
//! error: RESULT_UNSERIALISABLE
//! details.path: "result.f"
{ f() { return 1 } }
// --- a regular expression is an object without properties
//! result: {}
/a+/g
// --- a comma
//! result: 3
1, 2, 3
// --- a conditional
//! result: "yes"
1 < 2 ? 'yes' : 'no'
// --- an assignment
//! result: 5
x = 5
// --- a call
//! result: "A"
'a'.toUpperCase()
// --- new
//! result: {"$type":"date","value":"1970-01-01T00:00:00.000Z"}
new Date(0)
// --- delete and void
//! result: {"$type":"undefined"}
void 0
// --- an awaited expression
//! result: 3
await Promise.resolve(3)
// --- a promise is awaited
//! result: 4
Promise.resolve(4)
// --- a promise of a promise too
//! result: 5
(async () => Promise.resolve(Promise.resolve(5)))()
// --- null
//! result: null
null
// --- a tagged template
//! result: ["a","b"]
((parts) => [...parts])`a${1}b`
// --- optional chaining
//! result: {"$type":"undefined"}
({}).a?.b.c
// --- a bigint
//! result: {"$type":"bigint","value":"4"}
2n ** 2n
