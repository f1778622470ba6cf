// Values that no script made.

// --- every kind
//! result: {"undefined":{"$type":"undefined"},"null":null,"true":true,"number":1.5,"nan":{"$type":"number","value":"NaN"},"minusZero":{"$type":"number","value":"-0"},"infinity":{"$type":"number","value":"Infinity"},"bigint":{"$type":"bigint","value":"-123456789012345678901234567890"},"text":"aä€🦀","surrogate":{"$type":"utf16","value":[97,55357,98]},"date":{"$type":"date","value":"1970-01-01T00:00:00.000Z"},"noDate":{"$type":"date","value":null},"bytes":{"$type":"Uint8Array","value":"AH//"},"map":{"$type":"map","value":[[[1],"v"],["k",null]]},"set":{"$type":"set","value":[1,"1"]},"error":{"$type":"error","name":"TypeError","message":"bad","stack":"TypeError: bad\n    at elsewhere","cause":{"$type":"error","name":"RangeError","message":"deep"}},"array":[{"$type":"undefined"},{"__proto__":1}]}
await tools.kinds()
// --- as the script sees them
//! result: ["undefined","object","boolean","number","number","number","number","bigint","string","string","Date","Date","Uint8Array","Map","Set","Error","Array"]
const kinds = await tools.kinds();
Object.values(kinds).map((value) => value === null || typeof value !== 'object' ? typeof value : value.constructor.name)
// --- and send back again
//! result: true
const kinds = await tools.kinds();
const shown = (value) => JSON.stringify(value, (_, v) => typeof v === 'bigint' ? `${v}n` : v instanceof Map || v instanceof Set ? [...v] : v);
shown(kinds) === shown(await fake.echo(kinds))
// --- a reply of a megabyte
//! result: 1000000
(await tools.text(1000000)).length
// --- a reply larger than the bound
//! error: CALL_FAILED
//! message: tools.text: the reply is larger than 9437184 bytes
//! hint: /Ask for less/
await tools.text(70000000)
// --- it can be caught, and the script goes on
//! result: ["CALL_FAILED","still here"]
const code = await tools.text(70000000).catch((error) => error.code);
[code, await fake.echo('still here')]
// --- a deeply nested reply
//! result: 250
let depth = 0;
for (let at = await tools.nested(250); at !== null; at = at[0]) depth++;
depth
