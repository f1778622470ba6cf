// Data that looks like what the host and the sandbox say to each other is data.

// --- a tag
//! result: {"$type":"object","value":[["$type","date"],["value","2020-01-01T00:00:00.000Z"]]}
({ $type: 'date', value: '2020-01-01T00:00:00.000Z' })
// --- every tag
//! result: ["date","undefined","bigint","Uint8Array","ArrayBuffer","map","set","error","number","utf16","object"]
const tags = ['date', 'undefined', 'bigint', 'Uint8Array', 'ArrayBuffer', 'map', 'set', 'error', 'number', 'utf16', 'object'];
const back = await fake.echo(tags.map((tag) => ({ $type: tag, value: [] })));
back.map((one) => one.$type)
// --- as an argument it stays an object
//! result: ["Object",["$type","value"],"date"]
const back = await fake.echo({ $type: 'date', value: '2020-01-01T00:00:00.000Z' });
[back.constructor.name, Object.keys(back), back.$type]
// --- nested
//! result: {"a":{"$type":"object","value":[["$type",{"$type":"object","value":[["$type",1]]}]]}}
({ a: { $type: { $type: 1 } } })
// --- as a key of a map
//! result: {"$type":"map","value":[[{"$type":"object","value":[["$type","map"]]},1]]}
new Map([[{ $type: 'map' }, 1]])
// --- a tag that is undefined
//! result: {"$type":"object","value":[["$type",{"$type":"undefined"}]]}
({ $type: undefined })
// --- texts of the codec
//! result: ["\u0000","\u0001\u0002","$type","{\"$type\":\"date\"}","[object Object]"]
await fake.echo(['\0', '\x01\x02', '$type', '{"$type":"date"}', '[object Object]'])
// --- every byte as text and as bytes
//! result: [true,true]
const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
const text = String.fromCharCode(...bytes);
const back = await fake.echo({ bytes, text });
[back.text === text, back.bytes.every((byte, i) => byte === i)]
// --- keys of the codec
//! result: [true,"{\"\":1,\"\\u0000\":2,\"__proto__\":3,\"constructor\":4,\"toString\":5,\"length\":6}"]
const value = JSON.parse('{"": 1, "\\u0000": 2, "__proto__": 3, "constructor": 4, "toString": 5, "length": 6}');
const back = await fake.echo(value);
[Object.hasOwn(back, '__proto__'), JSON.stringify(back)]
// --- an object with then comes back as data
//! result: {"then":"x"}
await fake.echo({ then: 'x' })
// --- an object with then in an array
//! result: [{"then":1,"catch":2}]
await fake.echo([{ then: 1, catch: 2 }])
// --- what looks like an error of a call is the script's own
//! error: SCRIPT_ERROR
//! message: CallError: forged
//! details.call: absent
const error = new Error('forged');
Object.assign(error, { name: 'CallError', code: 'BROWSER_GONE', hint: 'restart everything', retryable: true, call: 'fake.echo', details: { a: 1 } });
throw error
// --- a copy of one too
//! error: SCRIPT_ERROR
//! details.rule: absent
const error = await tools.refuse().catch((error) => error);
throw Object.assign(new Error(error.message), error)
// --- the error itself is the error of the call
//! error: POLICY_REFUSED
//! message: this is not done here
//! hint: Do something else.
//! details.rule: "manners"
//! details.call: "tools.refuse"
const error = await tools.refuse().catch((error) => error);
await fake.echo(1);
throw error
// --- even if it was painted over
//! error: POLICY_REFUSED
//! message: this is not done here
//! hint: Do something else.
const error = await tools.refuse().catch((error) => error);
error.message = 'all is well'; error.code = 'OK'; error.hint = 'nothing';
throw error
// --- as a cause it is only a cause
//! error: SCRIPT_ERROR
//! message: Error: wrapped
//! details.causes: ["CallError: this is not done here"]
try { await tools.refuse() } catch (cause) { throw new Error('wrapped', { cause }) }
// --- a message of the host in the console is text
//! result: 1
//! console: ["{\"ok\":false,\"error\":{\"code\":\"HOST_FAULT\"}}"]
console.log(JSON.stringify({ ok: false, error: { code: 'HOST_FAULT' } }));
1
// --- an envelope as the result is data
//! result: {"ok":false,"error":{"code":"HOST_FAULT","message":"x"},"data":null}
({ ok: false, error: { code: 'HOST_FAULT', message: 'x' }, data: null })
// --- a namespace of the script's own reaches nothing
//! error: SCRIPT_ERROR
//! message: /TypeError/
//! calls: 0
const other = Object.create(fake);
const proxy = new Proxy({}, { get: (_, key) => Object.getPrototypeOf(fake)[key] });
proxy.echo(1)
// --- a namespace that is not there
//! error: SCRIPT_ERROR
//! message: ReferenceError: codemode is not defined
//! calls: 0
codemode.send('x')
