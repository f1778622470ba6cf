// What a script may use besides the language.

// --- URL
//! result: ["https://user:pa@example.com:8080/a/b?x=1&y=%20#h","example.com:8080","/a/b","1","https://example.com/c"]
const url = new URL('https://user:pa@EXAMPLE.com:8080/a/./b?x=1&y=%20#h');
[url.href, url.host, url.pathname, url.searchParams.get('x'), new URL('../c', 'https://example.com/a/b').href]
// --- URL that is none
//! error: SCRIPT_ERROR
//! message: /TypeError.*nope/
new URL('nope')
// --- URLSearchParams
//! result: ["a=1&b=x+y&a=2",["1","2"],3]
const params = new URLSearchParams({ a: '1', b: 'x y' });
params.append('a', '2');
[String(params), params.getAll('a'), [...params].length]
// --- TextEncoder and TextDecoder
//! result: [[97,195,164,226,130,172,240,159,166,128],"aä€🦀"]
const bytes = new TextEncoder().encode('aä€🦀');
[[...bytes], new TextDecoder().decode(bytes)]
// --- bytes that are no text
//! result: "a�b"
new TextDecoder().decode(new Uint8Array([97, 255, 98]))
// --- atob and btoa
//! result: ["aGVsbG8=","hello"]
[btoa('hello'), atob('aGVsbG8=')]
// --- atob of what is no base64
//! error: SCRIPT_ERROR
//! message: /InvalidCharacterError/
atob('*')
// --- base64 and hex of bytes
//! result: ["AQL/","0102ff",[1,2,255]]
const bytes = Uint8Array.from([1, 2, 255]);
[bytes.toBase64(), bytes.toHex(), [...Uint8Array.fromBase64('AQL/')]]
// --- structuredClone
//! result: [true,false,true,{"a":{"$type":"date","value":"1970-01-01T00:00:00.000Z"},"b":[1]}]
const value = { a: new Date(0), b: [1] };
const copy = structuredClone(value);
[copy.a instanceof Date, copy === value, copy.b !== value.b, copy]
// --- structuredClone of a cycle
//! result: true
const value = {}; value.self = value;
const copy = structuredClone(value);
copy.self === copy
// --- structuredClone of a function
//! error: SCRIPT_ERROR
//! message: /DataCloneError/
structuredClone(() => {})
// --- AbortController
//! result: [true,"AbortError","abort"]
const controller = new AbortController();
let seen;
controller.signal.addEventListener('abort', (event) => { seen = event.type });
controller.abort();
[controller.signal.aborted, controller.signal.reason.name, seen]
// --- events
//! result: ["x",7,true]
const target = new EventTarget();
let seen;
target.addEventListener('x', (event) => { seen = [event.type, event.detail, event instanceof Event] }, { once: true });
target.dispatchEvent(new CustomEvent('x', { detail: 7 }));
target.dispatchEvent(new CustomEvent('x', { detail: 8 }));
seen
// --- what the engine lacks
//! result: [[2,4],true,false,"b"]
[await Array.fromAsync([1, 2], (n) => n * 2), Error.isError(new Error('x')), Error.isError({}), 'abc'.substr(1, 1)]
// --- buffers can be transferred
//! result: [8,0,true]
const buffer = new ArrayBuffer(4);
const longer = buffer.transfer(8);
[longer.byteLength, buffer.byteLength, buffer.detached]
// --- newer parts of the language
//! result: [3,{"odd":[1,3],"even":[2]},[3,2,1],[1,2,3],"c",true]
const list = [1, 2, 3];
[list.at(-1), Object.groupBy(list, (n) => n % 2 ? 'odd' : 'even'), list.toReversed(), [3, 1, 2].toSorted(), 'abc'.at(-1), Object.hasOwn({ a: 1 }, 'a')]
// --- sets and iterators
//! result: [[2],[2,4],[1,2,3]]
const a = new Set([1, 2]);
[[...a.intersection(new Set([2, 3]))], [1, 2].values().map((n) => n * 2).toArray(), [...a.union(new Set([3]))]]
// --- Promise.withResolvers and Promise.try
//! result: [1,2]
const { promise, resolve } = Promise.withResolvers();
resolve(1);
[await promise, await Promise.try(() => 2)]
// --- regular expressions
//! result: ["2024","06",["a","b"],"x-y",true]
const { year, month } = /(?<year>\d{4})-(?<month>\d\d)/.exec('on 2024-06-01').groups;
[year, month, [...'a1b2'.matchAll(/[a-z]/g)].map((m) => m[0]), 'x y'.replace(/\s/u, '-'), /(?<=\$)\d+/.test('$42')]
// --- numbers as text
//! result: ["1,234,567.891","12.35","ff"]
[(1234567.891).toLocaleString(), (12.345678).toFixed(2), (255).toString(16)]
// --- eval and Function stay inside and are harmless
//! result: [2,3,"undefined"]
[eval('1 + 1'), new Function('a', 'return a + 1')(2), typeof new Function('return this')().process]
// --- generators, symbols, weak references
//! result: [[1,2],true,"undefined"]
function* g() { yield 1; yield 2 }
const weak = new WeakRef({ a: 1 });
[[...g()], weak.deref().a === 1, typeof weak.missing]
// --- globalThis is a plain name for the globals
//! result: true
globalThis.globalThis === globalThis && typeof globalThis.setTimeout === 'function'
