// Sources that are too large, too deep, or too strange.

// --- ten megabytes
//! error: SOURCE_TOO_LARGE
//! message: the script has 10485762 bytes; at most 1048576 are accepted
//! hint: /less source/
'«10485760 "x"»'
// --- ten megabytes of brackets
//! error: SOURCE_TOO_LARGE
«10485760 "["»
// --- just within the bound
//! result: 1048000
'«1048000 "x"»'.length
// --- nested arrays
//! error: SOURCE_TOO_NESTED
//! hint: /Flatten/
«2000 "["»«2000 "]"»
// --- nested parentheses
//! error: SOURCE_TOO_NESTED
«100000 "("»1«100000 ")"»
// --- nested objects
//! error: SOURCE_TOO_NESTED
(«5000 "{a:"»1«5000 "}"»)
// --- nested functions
//! error: SOURCE_TOO_NESTED
«5000 "(()=>{"»«5000 "})()"»
// --- nested blocks
//! error: SOURCE_TOO_NESTED
«5000 "{"»«5000 "}"»
// --- nested templates
//! error: SOURCE_TOO_NESTED
«5000 "`${"»1«5000 "}`"»
// --- nested types
//! error: SOURCE_TOO_NESTED
let a: «5000 "Array<"»number«5000 ">"»;
// --- only opened
//! error: /SOURCE_TOO_NESTED|SYNTAX_ERROR/
«100000 "("»
// --- a deep fence
//! error: SOURCE_TOO_NESTED
```js
«5000 "["»«5000 "]"»
```
// --- up to the bound it runs
//! result: 300
let depth = 0;
for (let at = «300 "["»«300 "]"»; at; at = at[0]) depth++;
depth
// --- functions up to a depth
//! result: "deep"
«60 "(() => "»'deep'«60 ")()"»
// --- a long chain of operators
//! error: /SOURCE_TOO_NESTED|STACK_OVERFLOW|SYNTAX_ERROR/
1«100000 "+1"»
// --- a shorter one
//! result: 501
1«500 "+1"»
// --- a long chain of unary operators
//! error: SOURCE_TOO_NESTED
«100000 "!"»1
// --- a long chain of calls
//! error: /SOURCE_TOO_NESTED|STACK_OVERFLOW/
f«100000 "()"»
// --- a long chain of properties
//! error: /SOURCE_TOO_NESTED|STACK_OVERFLOW|SCRIPT_ERROR/
f«100000 ".a"»
// --- else if
//! error: /SOURCE_TOO_NESTED|STACK_OVERFLOW/
const a = 0;
if (a) 1«20000 "; else if (a) 1"»
// --- a long list is no depth
//! result: 60000
[«60000 "1,"»].length
// --- many statements
//! result: 24000
let n = 0;«24000 "n+=1;"»n
// --- many functions
//! result: 2000
let n = 0;
«2000 "(() => { n++ })();\n"»n
// --- a regular expression with many brackets
//! error: /SYNTAX_ERROR|SOURCE_TOO_NESTED|STACK_OVERFLOW|SCRIPT_ERROR/
/«5000 "("»«5000 ")"»/
// --- one that is made at run time
//! error: /STACK_OVERFLOW|SCRIPT_ERROR/
new RegExp('('.repeat(100000) + ')'.repeat(100000))
// --- eval of something deep
//! error: /STACK_OVERFLOW|SCRIPT_ERROR/
eval('('.repeat(100000) + '1' + ')'.repeat(100000))
// --- Function of something deep
//! error: /STACK_OVERFLOW|SCRIPT_ERROR/
new Function('return ' + '['.repeat(100000) + ']'.repeat(100000))()
// --- bytes that are no text are replaced or refused, never run
//! error: SYNTAX_ERROR
\u0000\uffff
// --- a very long name
//! error: SCRIPT_ERROR
//! message: /^ReferenceError: a{1000,}/
«200000 "a"»
// --- a very long line shows a short frame
//! error: SYNTAX_ERROR
//! message: /^.{1,2000}$/
«60000 "a, "»;
// --- too many words and signs: a tree takes more than its source
//! error: SOURCE_TOO_LARGE
//! message: /^there are too many words and signs/
«200000 "x=>x;"»
