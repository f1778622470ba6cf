//! The globals as scripts see them, as rows of an expression and its expected value. The values of `url`, `text`,
//! `clone`, `events` and `language` are those of Node 20, except for the bytes from 0x80 in windows-1252 and for
//! `new URLSearchParams(null)`, where browsers and the standard differ from Node.

use super::install;
use boa_engine::{
    Context, JsValue, Source, builtins::promise::PromiseState, context::HostHooks, object::builtins::JsPromise,
};
use std::rc::Rc;

struct Utc;

impl HostHooks for Utc {
    fn local_timezone_offset_seconds(&self, _: i64) -> i32 {
        0
    }
}

pub fn context() -> Context {
    let mut context = Context::builder().host_hooks(Rc::new(Utc)).build().unwrap();
    if let Err(error) = install(&mut context) {
        panic!("the prelude is broken: {error}");
    }
    context
}

/// Evaluates a source, awaits its value, and returns it as text; an error as `! name: message`.
pub fn show(source: &str, context: &mut Context) -> String {
    let result = context.eval(Source::from_bytes(source));
    context.run_jobs().unwrap();
    let settled = match result {
        Ok(value) => match value.as_object().and_then(|object| JsPromise::from_object(object).ok()) {
            Some(promise) => match promise.state() {
                PromiseState::Fulfilled(value) => Ok(value),
                PromiseState::Rejected(reason) => Err(reason),
                PromiseState::Pending => return "pending".to_owned(),
            },
            None => Ok(value),
        },
        Err(error) => Err(error.into_opaque(context).unwrap()),
    };
    let text = |value: &JsValue, context: &mut Context| match value.to_string(context) {
        Ok(text) => text.to_std_string_lossy(),
        Err(_) => "no text".to_owned(),
    };
    match settled {
        Ok(value) => text(&value, context),
        Err(value) => format!("! {}", text(&value, context)),
    }
}

/// Fails with a list of all rows whose expression does not have the expected value.
#[track_caller]
pub fn rows(rows: &[(&str, &str)]) {
    let context = &mut context();
    let failures: Vec<String> = rows
        .iter()
        .filter_map(|(source, expected)| {
            // Each row gets its own block scope.
            let shown = show(&format!("{{ {source} }}"), context);
            (shown != *expected).then(|| format!("{source}\n  expected {expected}\n  but got  {shown}"))
        })
        .collect();
    assert!(failures.is_empty(), "{} of {} rows:\n{}", failures.len(), rows.len(), failures.join("\n"));
}

#[test]
fn url() {
    rows(&[
        (
            "new URL('https://user:pa%20ss@Example.com:8080/a/../b?x=1&y=2#frag').href",
            "https://user:pa%20ss@example.com:8080/b?x=1&y=2#frag",
        ),
        (
            "(u => [u.protocol, u.username, u.password, u.host, u.hostname, u.port, u.pathname, u.search, u.hash, u.origin].join(' | '))(new URL('https://user:p@ex.com:8080/a/b?x=1#f'))",
            "https: | user | p | ex.com:8080 | ex.com | 8080 | /a/b | ?x=1 | #f | https://ex.com:8080",
        ),
        ("new URL('../c?d#e', 'https://a.b/x/y/z').href", "https://a.b/x/c?d#e"),
        ("new URL('//other/p', 'https://a.b/x').href", "https://other/p"),
        ("new URL('https://ex.com:443/').port", ""),
        ("new URL('HTTPS://EXAMPLE.com/ä b').href", "https://example.com/%C3%A4%20b"),
        ("new URL('https://münchen.de/').hostname", "xn--mnchen-3ya.de"),
        ("new URL('http://[::1]:3000/').host", "[::1]:3000"),
        ("new URL('data:text/plain,hi there').pathname", "text/plain,hi there"),
        ("new URL('javascript:void 0').origin", "null"),
        ("new URL('file:///a/b').href", "file:///a/b"),
        ("new URL('blob:https://a.b/id').origin", "https://a.b"),
        (
            "(() => { const u = new URL('https://a.b/'); u.port = '99999'; u.hostname = 'c.d'; u.protocol = 'http'; u.pathname = 'x y'; u.search = 'q=ü'; u.hash = 'h'; return u.href })()",
            "http://c.d/x%20y?q=%C3%BC#h",
        ),
        (
            "(() => { const u = new URL('https://a.b/'); u.username = 'me'; u.password = 'p:w'; u.host = 'x:81'; u.port = ''; return u.href })()",
            "https://me:p%3Aw@x/",
        ),
        (
            "(() => { const u = new URL('https://a.b/?a=1'); u.href = 'https://c.d/?z=9'; return u.searchParams.get('z') })()",
            "9",
        ),
        ("(() => { try { new URL('https://a.b').href = 'nope' } catch (e) { return e.name } })()", "TypeError"),
        (
            "(() => { const u = new URL('https://a.b/?a=1&b=2#h'); u.searchParams.append('c', 'x y&'); u.searchParams.delete('a'); return u.href })()",
            "https://a.b/?b=2&c=x+y%26#h",
        ),
        (
            "(() => { const u = new URL('https://a.b/?a=1'); const p = u.searchParams; u.search = '?q=7&r'; return p.toString() + p.size + (p === u.searchParams) })()",
            "q=7&r=2true",
        ),
        (
            "(() => { const u = new URL('https://a.b/?a=1'); u.searchParams.delete('a'); return u.href + u.search.length })()",
            "https://a.b/0",
        ),
        (
            "(() => { const u = new URL('https://a.b/?b=2&a=1'); u.searchParams.sort(); u.searchParams.set('b', '3'); return u.href })()",
            "https://a.b/?a=1&b=3",
        ),
        (
            "URL.canParse('https://x') + ' ' + URL.canParse('x') + ' ' + URL.canParse('x', 'https://y')",
            "true false true",
        ),
        ("JSON.stringify({ u: new URL('https://a.b') })", r#"{"u":"https://a.b/"}"#),
        (
            "String(new URL('https://a.b')) + Object.prototype.toString.call(new URL('https://a.b'))",
            "https://a.b/[object URL]",
        ),
        ("(() => { try { URL('https://a.b') } catch (e) { return e.name } })()", "TypeError"),
        ("(() => { try { new URL() } catch (e) { return e.name } })()", "TypeError"),
        ("(() => { try { new URL(Symbol()) } catch (e) { return e.name } })()", "TypeError"),
        ("(() => { try { URL.prototype.href } catch (e) { return e.name } })()", "TypeError"),
        ("(() => { try { new URL('nope') } catch (e) { return e.name + e.code } })()", "TypeErrorERR_INVALID_URL"),
        (
            "(() => { class My extends URL { get twice() { return this.href + this.href } } const u = new My('https://a.b'); return u.twice + (u instanceof URL) + u.constructor.name })()",
            "https://a.b/https://a.b/trueMy",
        ),
        (
            "Object.keys(new URL('https://a.b')).length + typeof Object.getOwnPropertyDescriptor(globalThis, 'URL').value + Object.getOwnPropertyDescriptor(globalThis, 'URL').enumerable",
            "0functionfalse",
        ),
        ("new URLSearchParams('?a=1&b=%20x+y&&c').toString()", "a=1&b=+x+y&c="),
        ("new URLSearchParams('a=1&a=2').getAll('a').join()", "1,2"),
        ("String(new URLSearchParams('a=1').get('b'))", "null"),
        ("new URLSearchParams({ a: 1, b: 'x y', c: null }).toString()", "a=1&b=x+y&c=null"),
        ("new URLSearchParams([['a', '1'], new Set(['b', '2'])]).toString()", "a=1&b=2"),
        ("new URLSearchParams(new Map([['a', 1]])).toString()", "a=1"),
        ("new URLSearchParams(new URLSearchParams('x=1')).toString()", "x=1"),
        (
            "new URLSearchParams(undefined).toString() + new URLSearchParams(null).toString() + new URLSearchParams(5).toString()",
            "null=5=",
        ),
        ("(() => { try { new URLSearchParams([['a']]) } catch (e) { return e.name } })()", "TypeError"),
        ("(() => { try { new URLSearchParams(['ab']) } catch (e) { return e.name } })()", "TypeError"),
        (
            "(() => { const p = new URLSearchParams('a=1&b=2&a=3'); p.set('a', '9'); p.append('d', ''); return p + '|' + p.has('b') + p.has('b', '3') + p.has('a', '9') })()",
            "a=9&b=2&d=|truefalsetrue",
        ),
        (
            "(() => { const p = new URLSearchParams('a=1&a=2&a=1'); p.delete('a', '1'); return p.toString() + p.size })()",
            "a=21",
        ),
        (
            "[...new URLSearchParams('a=1&b=2')].join(';') + [...new URLSearchParams('a=1&b=2').keys()] + [...new URLSearchParams('a=1&b=2').values()]",
            "a,1;b,2a,b1,2",
        ),
        (
            "(() => { const r = []; new URLSearchParams('a=1&b=2').forEach(function (v, k, p) { r.push(v, k, this.t, p.size) }, { t: 't' }); return r.join() })()",
            "1,a,t,2,2,b,t,2",
        ),
        (
            "(() => { const p = new URLSearchParams('z=1&é=2&a=3&z=0'); p.sort(); return p.toString() })()",
            "a=3&z=1&z=0&%C3%A9=2",
        ),
        (
            "(() => { const p = new URLSearchParams('a=1&b=2&c=3'); const r = []; for (const [k] of p) { r.push(k); if (k === 'a') p.append('d', '') } return r.join() })()",
            "a,b,c,d",
        ),
        (
            "Object.fromEntries(new URLSearchParams('a=1&b=2')).b + new URLSearchParams('a=1').entries()[Symbol.toStringTag] + (URLSearchParams.prototype.entries === URLSearchParams.prototype[Symbol.iterator])",
            "2URLSearchParams Iteratortrue",
        ),
        (
            r#"new URLSearchParams('a=\ud83d').toString() + new URLSearchParams({ '*-._': '~!' })"#,
            "a=%EF%BF%BD*-._=%7E%21",
        ),
    ]);
}

#[test]
fn text() {
    rows(&[
        ("[...new TextEncoder().encode('aä€😀')].join()", "97,195,164,226,130,172,240,159,152,128"),
        (
            r#"[...new TextEncoder().encode('\ud800x')].join() + new TextEncoder().encode().length + new TextEncoder().encoding"#,
            "239,191,189,1200utf-8",
        ),
        ("JSON.stringify(new TextEncoder().encodeInto('aä€', new Uint8Array(4)))", r#"{"read":2,"written":3}"#),
        (
            "(() => { const b = new Uint8Array(6).subarray(2); const r = new TextEncoder().encodeInto('😀x', b); return JSON.stringify(r) + new Uint8Array(b.buffer) })()",
            r#"{"read":2,"written":4}0,0,240,159,152,128"#,
        ),
        ("(() => { try { TextEncoder.prototype.encode.call({}) } catch (e) { return e.name } })()", "TypeError"),
        ("new TextDecoder().decode(new Uint8Array([97, 195, 164, 226, 130, 172, 240, 159, 152, 128]))", "aä€😀"),
        (
            "JSON.stringify(new TextDecoder().decode(new Uint8Array([0xff, 97, 0xe2, 0x82, 98, 0xf0, 0x9f, 0x98])))",
            r#""�a�b�""#,
        ),
        ("JSON.stringify(new TextDecoder().decode(new Uint8Array([0xed, 0xa0, 0x80, 0xc0, 0x80])))", r#""�����""#),
        (
            "(() => { try { new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255])) } catch (e) { return e.name } })()",
            "TypeError",
        ),
        (
            "(() => { const d = new TextDecoder(); return d.decode(new Uint8Array([0xe2, 0x82]), { stream: true }) + '|' + d.decode(new Uint8Array([0xac, 97]), { stream: true }) + '|' + d.decode() })()",
            "|€a|",
        ),
        (
            "(() => { const d = new TextDecoder(); return JSON.stringify(d.decode(new Uint8Array([0xe2]), { stream: true }) + d.decode()) })()",
            r#""�""#,
        ),
        (
            "JSON.stringify([new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 97])), new TextDecoder('utf-8', { ignoreBOM: true }).decode(new Uint8Array([0xef, 0xbb, 0xbf, 97]))])",
            r#"["a","﻿a"]"#,
        ),
        (
            "(() => { const d = new TextDecoder(); return JSON.stringify(d.decode(new Uint8Array([0xef, 0xbb]), { stream: true }) + d.decode(new Uint8Array([0xbf, 97]))) })()",
            r#""a""#,
        ),
        (
            "new TextDecoder('utf-16le').decode(new Uint8Array([97, 0, 0xac, 0x20])) + new TextDecoder('utf-16').encoding",
            "a€utf-16le",
        ),
        ("JSON.stringify(new TextDecoder('utf-16le').decode(new Uint8Array([0x3d, 0xd8, 97])))", r#""�""#),
        (
            "(() => { const d = new TextDecoder('utf-16le'); return d.decode(new Uint8Array([0x3d, 0xd8, 0]), { stream: true }) + d.decode(new Uint8Array([0xde])) })()",
            "😀",
        ),
        (
            "new TextDecoder('latin1').encoding + new TextDecoder('ascii').decode(new Uint8Array([0x80, 0xe4, 65]))",
            "windows-1252€äA",
        ),
        (
            "new TextDecoder(' UTF8 ').encoding + new TextDecoder().fatal + new TextDecoder().ignoreBOM",
            "utf-8falsefalse",
        ),
        ("(() => { try { new TextDecoder('klingon') } catch (e) { return e.name } })()", "RangeError"),
        ("(() => { try { new TextDecoder().decode('x') } catch (e) { return e.name } })()", "TypeError"),
        (
            "new TextDecoder().decode(new Uint16Array([0x6261])) + new TextDecoder().decode(new DataView(new Uint8Array([97, 98, 99]).buffer, 1)) + new TextDecoder().decode(new Uint8Array([97]).buffer) + new TextDecoder().decode(undefined)",
            "abbca",
        ),
        ("btoa('hello') + btoa('') + btoa('ÿ') + btoa('a') + btoa('ab')", "aGVsbG8=/w==YQ==YWI="),
        ("atob('aGVsbG8=') + atob(' aGVs bG8 ') + atob('') + atob('YQ') + atob('YR==')", "hellohelloaa"),
        ("(() => { try { atob('a') } catch (e) { return e.name + e.code } })()", "InvalidCharacterError5"),
        ("(() => { try { atob('ab=') } catch (e) { return e.name } })()", "InvalidCharacterError"),
        (
            "(() => { try { atob('a*bc') } catch (e) { return e.name + (e instanceof DOMException) + (e instanceof Error) } })()",
            "InvalidCharacterErrortruetrue",
        ),
        ("(() => { try { btoa('€') } catch (e) { return e.name } })()", "InvalidCharacterError"),
        ("btoa(null) + btoa(12) + atob('bnVsbA==')", "bnVsbA==MTI=null"),
    ]);
}

#[test]
fn clone() {
    rows(&[
        (
            "JSON.stringify(structuredClone({ a: [1, { b: null }], c: 'x', d: undefined, e: true }))",
            r#"{"a":[1,{"b":null}],"c":"x","e":true}"#,
        ),
        (
            "(() => { const o = { n: 1 }; o.self = o; o.list = [o]; const c = structuredClone(o); return (c !== o) + '' + (c.self === c) + (c.list[0] === c) })()",
            "truetruetrue",
        ),
        (
            "(() => { const c = structuredClone(new Map([[{ k: 1 }, new Set([1, new Date(5)])]])); const [[k, v]] = c; return k.k + [...v][1].getTime() + c.constructor.name })()",
            "6Map",
        ),
        (
            r#"(() => { const c = structuredClone(/a\/b/gi); return c + c.lastIndex + (c instanceof RegExp) })()"#,
            r#"/a\/b/gi0true"#,
        ),
        (
            "(() => { const e = new TypeError('bad', { cause: { a: 1 } }); const c = structuredClone(e); return c.name + c.message + c.cause.a + (c instanceof TypeError) + (typeof c.stack) })()",
            "TypeErrorbad1truestring",
        ),
        (
            "(() => { class E extends Error { name = 'Mine' } const c = structuredClone(new E('m')); return c.name + c.message + c.constructor.name })()",
            "ErrormError",
        ),
        (
            "(() => { const b = new Uint8Array([1, 2, 3, 4]); const c = structuredClone({ v: b.subarray(1, 3), w: new Uint16Array(b.buffer, 2, 1), d: new DataView(b.buffer, 1, 2) }); return c.v + '|' + c.w + (c.v.buffer === c.w.buffer) + c.d.byteOffset + c.d.byteLength + c.v.byteOffset })()",
            "2,3|1027true121",
        ),
        (
            "(() => { const b = new ArrayBuffer(4); const c = structuredClone(b, { transfer: [b] }); return b.byteLength + '' + c.byteLength })()",
            "04",
        ),
        (
            "(() => { const a = [1, , 3]; a.x = 1; const c = structuredClone(a); return c.length + '' + (1 in c) + c.x })()",
            "3false1",
        ),
        (
            "(() => { class P { constructor() { this.a = 1 } get g() { return 1 } } const c = structuredClone(new P()); return c.constructor.name + Object.keys(c) })()",
            "Objecta",
        ),
        (
            "(() => { const c = structuredClone({ get a() { return 7 }, [Symbol('s')]: 1 }); return JSON.stringify(c) + Object.getOwnPropertyDescriptor(c, 'a').value + Object.getOwnPropertySymbols(c).length })()",
            r#"{"a":7}70"#,
        ),
        (
            "[structuredClone(1n), structuredClone('x'), structuredClone(null), structuredClone(undefined), Object.is(structuredClone(-0), -0), structuredClone(NaN)].join()",
            "1,x,,,true,NaN",
        ),
        (
            "typeof structuredClone(new Number(3)) + structuredClone(new String('s')).length + typeof structuredClone(Object(1n))",
            "object1object",
        ),
        (
            "(() => { try { structuredClone(() => {}) } catch (e) { return e.name + e.code + (e instanceof DOMException) } })()",
            "DataCloneError25true",
        ),
        ("(() => { try { structuredClone({ a: Symbol() }) } catch (e) { return e.name } })()", "DataCloneError"),
        ("(() => { try { structuredClone(new WeakMap()) } catch (e) { return e.name } })()", "DataCloneError"),
        ("(() => { try { structuredClone(Promise.resolve()) } catch (e) { return e.name } })()", "DataCloneError"),
        ("(() => { try { structuredClone(new Proxy({}, {})) } catch (e) { return e.name } })()", "DataCloneError"),
        ("(() => { try { structuredClone() } catch (e) { return e.name } })()", "TypeError"),
        (
            "(() => { let o = null; for (let i = 0; i < 1000; i++) o = { o }; let c = structuredClone(o), n = 0; while (c) { c = c.o; n++ } return n })()",
            "1000",
        ),
        (
            "(() => { const d = new Date(NaN); return String(structuredClone(d).getTime()) + Object.getPrototypeOf(structuredClone(Object.create(null))).constructor.name })()",
            "NaNObject",
        ),
        (
            "(() => { const shared = { s: 1 }; const c = structuredClone([shared, shared]); return c[0] === c[1] })()",
            "true",
        ),
    ]);
}

#[test]
fn events() {
    rows(&[
        (
            "(() => { const t = new EventTarget(); const r = []; t.addEventListener('x', e => r.push(e.type, e.target === t, e.currentTarget === t, e.eventPhase)); t.addEventListener('x', { handleEvent(e) { r.push('obj', this !== undefined) } }); r.push(t.dispatchEvent(new Event('x'))); return r.join() })()",
            "x,true,true,2,obj,true,true",
        ),
        (
            "(() => { const t = new EventTarget(); let n = 0; const f = () => n++; t.addEventListener('x', f); t.addEventListener('x', f); t.addEventListener('x', f, true); t.addEventListener('x', () => n += 10, { once: true }); t.dispatchEvent(new Event('x')); t.dispatchEvent(new Event('x')); t.removeEventListener('x', f); t.dispatchEvent(new Event('x')); return n })()",
            "15",
        ),
        (
            "(() => { const t = new EventTarget(); t.addEventListener('x', e => e.preventDefault()); return [t.dispatchEvent(new Event('x')), t.dispatchEvent(new Event('x', { cancelable: true }))].join() })()",
            "true,false",
        ),
        (
            "(() => { const t = new EventTarget(); const r = []; t.addEventListener('x', e => { r.push(1); e.stopImmediatePropagation() }); t.addEventListener('x', () => r.push(2)); t.dispatchEvent(new Event('x')); return r.join() })()",
            "1",
        ),
        (
            "(() => { const t = new EventTarget(); const r = []; const b = () => r.push('b'); t.addEventListener('x', () => { r.push('a'); t.removeEventListener('x', b); t.addEventListener('x', () => r.push('c')) }); t.addEventListener('x', b); t.dispatchEvent(new Event('x')); return r.join() })()",
            "a",
        ),
        (
            "(() => { const e = new CustomEvent('c', { detail: { a: 1 }, bubbles: true }); return e.detail.a + e.type + e.bubbles + e.defaultPrevented + e.isTrusted + (e instanceof Event) + Event.AT_TARGET + String(new CustomEvent('d').detail) })()",
            "1ctruefalsefalsetrue2null",
        ),
        ("(() => { try { new Event() } catch (e) { return e.name } })()", "TypeError"),
        ("(() => { try { new EventTarget().dispatchEvent({}) } catch (e) { return e.name } })()", "TypeError"),
        (
            "(() => { class T extends EventTarget { #n = 5; get n() { return this.#n } } const t = new T(); let s; t.addEventListener('x', function () { s = this.n }); t.dispatchEvent(new Event('x')); return s })()",
            "5",
        ),
        (
            "(() => { const t = new EventTarget(); const c = new AbortController(); let n = 0; t.addEventListener('x', () => n++, { signal: c.signal }); t.dispatchEvent(new Event('x')); c.abort(); t.dispatchEvent(new Event('x')); return n })()",
            "1",
        ),
        (
            "(() => { const c = new AbortController(); const r = []; c.signal.addEventListener('abort', e => r.push(e.type, c.signal.aborted, c.signal.reason.name)); c.signal.onabort = () => r.push('on'); c.abort(); c.abort(); return r.join() })()",
            "abort,true,AbortError,on",
        ),
        (
            "(() => { const c = new AbortController(); c.abort('why'); try { c.signal.throwIfAborted() } catch (e) { return e + c.signal.reason } })()",
            "whywhy",
        ),
        (
            "(() => { const s = AbortSignal.abort(); return s.aborted + s.reason.name + s.reason.code + (s.reason instanceof DOMException) })()",
            "trueAbortError20true",
        ),
        (
            "(() => { const a = new AbortController(), b = new AbortController(); const s = AbortSignal.any([a.signal, b.signal]); const r = [s.aborted]; s.addEventListener('abort', () => r.push('fired')); b.abort(5); r.push(s.aborted, s.reason); a.abort(6); r.push(s.reason); return r.join() })()",
            "false,fired,true,5,5",
        ),
        (
            "(() => AbortSignal.any([AbortSignal.abort(1), AbortSignal.abort(2)]).reason + '' + AbortSignal.any([]).aborted)()",
            "1false",
        ),
        ("(() => { try { new AbortSignal() } catch (e) { return e.name } })()", "TypeError"),
        (
            "(() => { const e = new DOMException('m', 'NotFoundError'); return e.name + e.message + e.code + e + (e instanceof Error) + Object.prototype.toString.call(e) })()",
            "NotFoundErrorm8NotFoundError: mtrue[object DOMException]",
        ),
        ("(() => { const e = new DOMException(); return e.name + '|' + e.message + '|' + e.code })()", "Error||0"),
        (
            "Object.prototype.toString.call(new AbortController().signal) + Object.prototype.toString.call(new Event('x'))",
            "[object AbortSignal][object Event]",
        ),
        (
            "(() => { const e = new Event('x', { cancelable: true }); e.preventDefault(); return e.defaultPrevented + '' + e.composedPath().length + e.returnValue })()",
            "true0false",
        ),
    ]);
}

#[test]
fn language() {
    rows(&[
        (
            "'abcdef'.substr(1, 2) + 'abc'.substr(-2) + 'abc'.substr(1) + 'abc'.substr(5) + 'abc'.substr(0, -1) + 'abc'.substr(NaN, Infinity)",
            "bcbcbcabc",
        ),
        ("' x '.trimLeft() + '|' + ' x '.trimRight() + '|'", "x | x|"),
        ("escape('a b+ä€/@*') + unescape('%E4%u20AC%20%zz%u12')", "a%20b+%E4%u20AC/@*ä€ %zz%u12"),
        (
            r#"/a\/b/.source + new RegExp('a/b').source + /[/]/.source + String(/\//) + new RegExp(/x\/y/.source).test('x/y') + new RegExp('').source"#,
            r#"a\/ba\/b[/]/\//true(?:)"#,
        ),
        (
            "(1234.5).toLocaleString() + ' ' + (0).toLocaleString() + ' ' + (-1234567.891).toLocaleString() + ' ' + (1e21).toLocaleString() + ' ' + NaN.toLocaleString() + ' ' + (-Infinity).toLocaleString()",
            "1,234.5 0 -1,234,567.891 1,000,000,000,000,000,000,000 NaN -∞",
        ),
        (
            "(1.005).toLocaleString(undefined, { maximumFractionDigits: 2 }) + ' ' + (2.5).toLocaleString('en-US', { maximumFractionDigits: 0 }) + ' ' + (1234).toLocaleString('en-US', { minimumFractionDigits: 2 }) + ' ' + (0.000001).toLocaleString()",
            "1.01 3 1,234.00 0",
        ),
        (
            "(0.256).toLocaleString('en-US', { style: 'percent' }) + ' ' + (0.256).toLocaleString('en-US', { style: 'percent', minimumFractionDigits: 1 })",
            "26% 25.6%",
        ),
        (
            "(1234.5).toLocaleString('en-US', { style: 'currency', currency: 'USD' }) + ' ' + (-5).toLocaleString('en-US', { style: 'currency', currency: 'EUR' }) + ' ' + (1234.5).toLocaleString('en-US', { style: 'currency', currency: 'JPY' }) + ' ' + (1).toLocaleString('en-US', { style: 'currency', currency: 'CHF' })",
            "$1,234.50 -€5.00 ¥1,235 CHF 1.00",
        ),
        (
            "(1234567n).toLocaleString() + ' ' + (12345).toLocaleString('en-US', { useGrouping: false }) + ' ' + (5).toLocaleString('en-US', { minimumIntegerDigits: 2 }) + ' ' + (123456.789).toLocaleString('en-US', { maximumSignificantDigits: 3 }) + ' ' + (0.00012345).toLocaleString('en-US', { maximumSignificantDigits: 2 })",
            "1,234,567 12345 05 123,000 0.00012",
        ),
        (
            "(999.9996).toLocaleString() + ' ' + (999999.9999).toLocaleString() + ' ' + (0.0004).toLocaleString() + ' ' + (0.9999).toLocaleString()",
            "1,000 1,000,000 0 1",
        ),
        ("(-0).toLocaleString() + new Number(1e6).toLocaleString()", "-01,000,000"),
        (
            "['+02:00', '-05:30', '+-05:00', '-+05:00', '+05:-30'].map((timeZone) => { try { return new Date(0).toLocaleTimeString('en-US', { timeZone, hour12: false }) } catch (error) { return error.name } }).join(' ')",
            "02:00:00 18:30:00 RangeError RangeError RangeError",
        ),
        (
            "new Date(Date.UTC(2024, 0, 2, 15, 4, 5)).toLocaleDateString() + ' ' + new Date(Date.UTC(2024, 11, 31)).toLocaleDateString('en-US')",
            "1/2/2024 12/31/2024",
        ),
        (
            "new Date(Date.UTC(2024, 0, 2)).toLocaleDateString('en-US', { year: 'numeric', month: 'long', day: 'numeric' }) + '; ' + new Date(Date.UTC(2024, 0, 2)).toLocaleDateString('en-US', { weekday: 'long', year: 'numeric', month: 'short', day: 'numeric' }) + '; ' + new Date(0).toLocaleDateString('en-US', { month: 'long', year: 'numeric' }) + '; ' + new Date(0).toLocaleDateString('en-US', { month: 'short', day: 'numeric' }) + '; ' + new Date(0).toLocaleDateString('en-US', { weekday: 'short' })",
            "January 2, 2024; Tuesday, Jan 2, 2024; January 1970; Jan 1; Thu",
        ),
        (
            "new Date(Date.UTC(2024, 0, 2)).toLocaleDateString('en-US', { month: '2-digit', day: '2-digit', year: 'numeric' }) + ' ' + new Date(Date.UTC(2024, 0, 2)).toLocaleDateString('en-CA') + ' ' + new Date(Date.UTC(2024, 0, 2)).toLocaleDateString('en-GB') + ' ' + new Date(Date.UTC(2024, 0, 2, 3)).toLocaleString('sv-SE').replace(',', '')",
            "01/02/2024 2024-01-02 02/01/2024 2024-01-02 03:00:00",
        ),
        (
            "new Date(Date.UTC(2024, 0, 2, 15, 4, 5)).toLocaleTimeString('en-US', { hour12: false }) + ' ' + new Date(NaN).toLocaleString()",
            "15:04:05 Invalid Date",
        ),
        (
            "new Date(Date.UTC(1969, 6, 20, 20, 17, 40)).toLocaleDateString() + ' ' + new Date(Date.UTC(2000, 1, 29)).toLocaleDateString() + ' ' + new Date(Date.UTC(-1, 0, 1)).getUTCFullYear()",
            "7/20/1969 2/29/2000 -1",
        ),
        (
            "['b', 'a', 'C', 'A', 'ä', 'z', 'Z', 'é', 'e', 'f'].sort((x, y) => x.localeCompare(y)).join('')",
            "aAäbCeéfzZ",
        ),
        ("['a10', 'a9', 'a1'].sort((x, y) => x.localeCompare(y, undefined, { numeric: true })).join()", "a1,a9,a10"),
        (
            "[ 'a'.localeCompare('b'), 'b'.localeCompare('a'), 'a'.localeCompare('a'), 'a'.localeCompare('A'), 'résumé'.localeCompare('resume'), 'a'.localeCompare('á', undefined, { sensitivity: 'base' }), 'a'.localeCompare('A', undefined, { sensitivity: 'base' }), 'a b'.localeCompare('ab'), '_a'.localeCompare('a'), '1'.localeCompare('a'), 'ab'.localeCompare('abc'), ''.localeCompare('a') ].join()",
            "-1,1,0,-1,1,0,0,-1,-1,-1,-1,-1",
        ),
        (
            "['item 2', 'Item 10', 'item-3', 'item_1', '#x', '42', 'öl', 'Ol', 'oz'].sort((a, b) => a.localeCompare(b)).join()",
            "#x,42,Item 10,item 2,item_1,item-3,Ol,öl,oz",
        ),
    ]);
}

#[test]
fn base64() {
    rows(&[
        (
            "new Uint8Array([104, 105, 255]).toBase64() + new Uint8Array([251, 255]).toBase64({ alphabet: 'base64url' })",
            "aGn/-_8=",
        ),
        ("new Uint8Array([1]).toBase64({ omitPadding: true }) + new Uint8Array(0).toBase64()", "AQ"),
        (
            "Uint8Array.fromBase64(' aG k/\\n') + '|' + Uint8Array.fromBase64('-_8', { alphabet: 'base64url' })",
            "104,105,63|251,255",
        ),
        (
            "Uint8Array.fromBase64('YQ') + '|' + Uint8Array.fromBase64('YR==') + '|' + Uint8Array.fromBase64('')",
            "97|97|",
        ),
        ("try { Uint8Array.fromBase64('YR==', { lastChunkHandling: 'strict' }) } catch (e) { e.name }", "SyntaxError"),
        ("try { Uint8Array.fromBase64('YQ', { lastChunkHandling: 'strict' }) } catch (e) { e.name }", "SyntaxError"),
        ("try { Uint8Array.fromBase64('Y') } catch (e) { e.name }", "SyntaxError"),
        ("try { Uint8Array.fromBase64('Y=') } catch (e) { e.name }", "SyntaxError"),
        ("try { Uint8Array.fromBase64('YQ==x') } catch (e) { e.name }", "SyntaxError"),
        ("try { Uint8Array.fromBase64(5) } catch (e) { e.name }", "TypeError"),
        ("try { Uint8Array.fromBase64('', { alphabet: 'x' }) } catch (e) { e.name }", "TypeError"),
        ("String(Uint8Array.fromBase64('YWJjZG', { lastChunkHandling: 'stop-before-partial' }))", "97,98,99"),
        (
            "const b = new Uint8Array(4); JSON.stringify(b.setFromBase64('YWJjZGVm')) + b",
            "{\"read\":4,\"written\":3}97,98,99,0",
        ),
        ("const b = new Uint8Array(2); JSON.stringify(b.setFromBase64('YWI=')) + b", "{\"read\":4,\"written\":2}97,98"),
        ("const b = new Uint8Array(3); b.setFromBase64('YWJj*').read + '|' + b", "4|97,98,99"),
        (
            "const b = new Uint8Array(6); try { b.setFromBase64('YWJj*') } catch (e) { e.name + b }",
            "SyntaxError97,98,99,0,0,0",
        ),
        ("new Uint8Array([0, 171, 255]).toHex() + Uint8Array.fromHex('00aBff')", "00abff0,171,255"),
        ("try { Uint8Array.fromHex('abc') } catch (e) { e.name }", "SyntaxError"),
        ("const b = new Uint8Array(2); JSON.stringify(b.setFromHex('010203')) + b", "{\"read\":4,\"written\":2}1,2"),
        ("try { Uint8Array.prototype.toBase64.call(new Int8Array(1)) } catch (e) { e.name }", "TypeError"),
        ("Uint8Array.fromBase64.name + Uint8Array.fromBase64.length + Object.keys(Uint8Array)", "fromBase641"),
    ]);
}

#[test]
fn polyfills() {
    rows(&[
        ("Array.fromAsync([1, Promise.resolve(2)]).then(String)", "1,2"),
        ("Array.fromAsync((async function* () { yield 1; yield 2 })(), (x, i) => x * 10 + i).then(String)", "10,21"),
        ("Array.fromAsync({ length: 2, 0: 'a', 1: Promise.resolve('b') }).then(String)", "a,b"),
        ("Array.fromAsync(new Set([3])).then(a => Array.isArray(a) + '' + a)", "true3"),
        ("Array.fromAsync(null).catch(e => e.name)", "TypeError"),
        ("Array.fromAsync([1], 5).catch(e => e.name)", "TypeError"),
        ("Array.fromAsync([Promise.reject(7)]).catch(e => e)", "7"),
        ("class A extends Array {} A.fromAsync([1]).then(a => a.constructor.name + a)", "A1"),
        ("Array.fromAsync.call({}, [1]).then(a => Array.isArray(a))", "true"),
        (
            "Error.isError(new TypeError()) + '' + Error.isError({ __proto__: Error.prototype }) + Error.isError(new DOMException())",
            "truefalsetrue",
        ),
        (
            "const b = new Uint8Array([1, 2, 3]).buffer; const c = b.transfer(2); [b.detached, b.byteLength, new Uint8Array(c), c.detached].join()",
            "true,0,1,2,false",
        ),
        (
            "new Uint8Array(new Uint8Array([1]).buffer.transfer(3)).join() + new ArrayBuffer(8).transferToFixedLength().byteLength",
            "1,0,08",
        ),
        ("const b = new ArrayBuffer(1); b.transfer(); try { b.transfer() } catch (e) { e.name }", "TypeError"),
        ("const o = {}; Error.captureStackTrace(o); typeof o.stack", "string"),
        (
            "class E extends Error { constructor(m) { super(m); Error.captureStackTrace(this, E); this.name = 'E' } } String(new E('m'))",
            "E: m",
        ),
        (
            "[1, 3, 2].toSorted() + Object.groupBy([1, 2], x => x % 2 ? 'odd' : 'even').odd + Math.sumPrecise([0.1, 0.2])",
            "1,2,310.30000000000000004",
        ),
    ]);
}

#[test]
fn sorting() {
    rows(&[
        (
            "[3, , undefined, 20, 1].sort().map(String).join() + [3, , 1].sort().hasOwnProperty(2)",
            "1,20,3,undefined,false",
        ),
        ("[5, 1, 4].sort((a, b) => b - a) + '|' + [5, 1, 4].toSorted((a, b) => a > b)", "5,4,1|1,4,5"),
        ("[3, , 1].toSorted().hasOwnProperty(2) + '' + [,].toSorted((a, b) => b).length", "true1"),
        // Longer than what Rust sorts by insertion, with many equal items.
        (
            "const a = Array.from({ length: 999 }, (_, i) => ({ k: i % 7, i })); a.sort((x, y) => x.k - y.k); a.every((x, i) => !i || a[i - 1].k < x.k || a[i - 1].k === x.k && a[i - 1].i < x.i)",
            "true",
        ),
        (
            "const a = Array.from({ length: 999 }, (_, i) => i * 7919 % 1009); a.sort().every((x, i) => !i || String(a[i - 1]) < String(x))",
            "true",
        ),
        // Inconsistent comparisons: no item is lost.
        (
            "const a = Array.from({ length: 999 }, (_, i) => i).sort(() => Math.random() - 0.5); a.length + ' ' + new Set(a).size + ' ' + a.every((x, i) => x === i)",
            "999 999 false",
        ),
        (
            "const a = Array.from({ length: 99 }, (_, i) => i); a.sort(() => 1).length + a.toSorted(() => -1).length",
            "198",
        ),
        (
            "let n = 0; const a = Array.from({ length: 99 }, () => ({ toString: () => n++ % 10 })); a.sort().length",
            "99",
        ),
        ("let n = 0; try { [3, 2, 1].sort(() => { n++; throw 'no' }) } catch (e) { e + n }", "no1"),
        ("try { [2, 1].sort('x') } catch (e) { e.name }", "TypeError"),
        ("try { [].toSorted.call({ length: 2 ** 32 }) } catch (e) { e.name }", "RangeError"),
        ("JSON.stringify([].sort.call({ length: 3, 0: 'b', 2: 'a' }))", r#"{"0":"a","1":"b","length":3}"#),
        ("[Symbol.iterator].sort().length + [].sort.call(1).valueOf()", "2"),
        ("try { [Symbol.iterator, 1].sort() } catch (e) { e.name }", "TypeError"),
        ("try { [].sort.call(null) } catch (e) { e.name }", "TypeError"),
        ("[].sort.name + [].sort.length + [].toSorted.name + [].toSorted.length", "sort1toSorted1"),
        // Typed arrays: numeric order by default, and comparisons that return 0.
        ("new Float64Array([3, NaN, 0, -0, 10, -Infinity, 0.5]).sort().join()", "-Infinity,0,0,0.5,3,10,NaN"),
        ("Object.is(new Float32Array([0, -0]).sort()[0], -0)", "true"),
        ("new BigInt64Array([3n, -1n, 2n ** 40n]).toSorted().join()", "-1,3,1099511627776"),
        (
            "const a = new Uint8Array(999).map((_, i) => i * 7); const b = a.toSorted((x, y) => x - y); b.every((x, i) => !i || b[i - 1] <= x) + ' ' + a[1] + b.constructor.name",
            "true 7Uint8Array",
        ),
        (
            "const a = new Uint8Array(99).map((_, i) => i); a.sort(() => Math.random() - 0.5) === a && new Set(a).size === 99",
            "true",
        ),
        ("try { Uint8Array.prototype.sort.call([]) } catch (e) { e.name }", "TypeError"),
        (
            "const b = new ArrayBuffer(8, { maxByteLength: 8 }); const a = new Uint8Array(b, 4); b.resize(2); try { a.sort() } catch (e) { e.name }",
            "TypeError",
        ),
        (
            "const b = new ArrayBuffer(4, { maxByteLength: 8 }); const a = new Uint8Array(b); a.set([4, 3, 2, 1]); a.toSorted((x, y) => { b.resize(2); return x - y }).join() + '|' + a.join()",
            "1,2,3,4|4,3",
        ),
        (
            "const b = new ArrayBuffer(8); const a = new Uint8Array(b); b.transfer(); try { a.sort() } catch (e) { e.name }",
            "TypeError",
        ),
        (
            "const b = new ArrayBuffer(8); const a = new Uint8Array(b); let n = 0; a.sort(() => { if (!n++) b.transfer(); return 1 }).length",
            "0",
        ),
    ]);
}

#[test]
fn chance_and_time() {
    rows(&[
        ("/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())", "true"),
        ("crypto.randomUUID() !== crypto.randomUUID()", "true"),
        ("const a = new Uint16Array(8); (crypto.getRandomValues(a) === a) + '' + a.some(x => x > 255)", "truetrue"),
        (
            "const a = new Uint8Array(10); crypto.getRandomValues(a.subarray(3, 5)); '' + a.slice(0, 3) + a.slice(5)",
            "0,0,00,0,0,0,0",
        ),
        ("try { crypto.getRandomValues(new Uint8Array(65537)) } catch (e) { e.name + e.code }", "QuotaExceededError22"),
        ("try { crypto.getRandomValues(new Float64Array(1)) } catch (e) { e.name }", "TypeMismatchError"),
        ("try { crypto.getRandomValues([1]) } catch (e) { e.name }", "TypeMismatchError"),
        (
            "const r = Array.from({ length: 1000 }, Math.random); r.every(x => x >= 0 && x < 1) + '' + (new Set(r).size === 1000)",
            "truetrue",
        ),
        (
            "const m = Array.from({ length: 1000 }, Math.random).reduce((a, b) => a + b) / 1000; m > 0.4 && m < 0.6",
            "true",
        ),
        ("typeof performance.now() + performance.timeOrigin", "number0"),
        ("Object.keys(globalThis).length", "0"),
        (
            "[typeof window, typeof document, typeof process, typeof Buffer, typeof WebAssembly, typeof localStorage].join()",
            "undefined,undefined,undefined,undefined,undefined,undefined",
        ),
        (
            "new Promise(r => { const o = []; queueMicrotask(() => o.push('m')); Promise.resolve().then(() => { o.push('p'); r(o.join()) }) })",
            "m,p",
        ),
        ("try { queueMicrotask(5) } catch (e) { e.name }", "TypeError"),
    ]);
}

#[test]
fn what_is_missing_says_what_to_use() {
    rows(&[
        (
            "fetch('https://x').catch(e => e.name + e.code + e.message.includes('Runtime.evaluate'))",
            "ReferenceErrorUNSUPPORTED_OPERATIONtrue",
        ),
        ("fetch() instanceof Promise", "true"),
        (
            "try { require('fs') } catch (e) { e.message.startsWith('require is not available in the sandbox: ') }",
            "true",
        ),
        ("try { new XMLHttpRequest() } catch (e) { e.code }", "UNSUPPORTED_OPERATION"),
        ("try { new WebSocket('ws://x') } catch (e) { e.code }", "UNSUPPORTED_OPERATION"),
        ("try { document.title } catch (e) { e.message }", "document is not defined"),
    ]);
}

/// A script that replaces the language's built-ins can neither break nor observe the platform's globals.
#[test]
fn pollution() {
    const POISON: &str = r#"
        var made = new Map([[1, /x/g]]), seen = [];
        const spy = (name) => function () { seen.push(name); throw new Error('hooked ' + name) };
        const { ownKeys } = Reflect;
        for (const [owner, label] of [[Array.prototype, 'Array'], [Map.prototype, 'Map'], [Set.prototype, 'Set'], [String.prototype, 'String'],
            [Function.prototype, 'Function'], [Promise.prototype, 'Promise'], [Object, 'Object'], [Reflect, 'Reflect'], [JSON, 'JSON'],
            [RegExp.prototype, 'RegExp'], [Uint8Array.prototype, 'Uint8Array'], [ArrayBuffer.prototype, 'ArrayBuffer'], [Date.prototype, 'Date'],
            [Number.prototype, 'Number'], [Math, 'Math'], [Error.prototype, 'Error'], [Symbol.prototype, 'Symbol']]) {
            for (const key of ownKeys(owner)) {
                if (key === 'constructor' || key === 'push' || (owner === Array.prototype && key === Symbol.iterator) || key === 'join') continue;
                try { owner[key] = spy(label + '.' + String(key)) } catch {}
            }
        }
        globalThis.Promise = globalThis.TypeError = globalThis.Error = globalThis.Reflect = globalThis.Array = undefined;
    "#;
    let failures: Vec<String> = [
        ("new URL('/b?x=1', 'https://a.b').searchParams.get('x') + new URLSearchParams('a=1&b=2') + new URLSearchParams({ q: 1 }).size", "1a=1&b=21"),
        ("(() => { let t = ''; for (const pair of new URLSearchParams('a=1&b=2')) t += pair[0] + pair[1]; return t })()", "a1b2"),
        ("new TextDecoder().decode(new TextEncoder().encode('aä'))", "aä"),
        ("atob(btoa('x')) + structuredClone({ a: made }).a.size", "x1"),
        ("(() => { const t = new EventTarget(); let n = 0; t.addEventListener('x', () => n++); t.addEventListener('x', { handleEvent() { n += 10 } }); t.dispatchEvent(new Event('x')); return n })()", "11"),
        ("(() => { const c = new AbortController(); let n = 0; const s = AbortSignal.any([c.signal]); s.onabort = () => n++; c.abort(); return n + s.reason.name })()", "1AbortError"),
        ("crypto.randomUUID().length + (1234.5).constructor.name", "36Number"),
        ("(() => { console.log('%s', { a: [1, made, new Date(0), /x/g, new RangeError('r')] }); console.table([{ a: 1 }]); console.group('g'); console.groupEnd(); return 'printed' })()", "printed"),
        ("(() => { setTimeout(() => {}, 1); return 'set' })()", "set"),
    ]
    .iter()
    .filter_map(|(source, expected)| {
        let context = &mut context();
        context.eval(Source::from_bytes(POISON)).unwrap();
        let shown = match context.eval(Source::from_bytes(*source)) {
            Ok(value) => value.as_string().map_or_else(|| value.display().to_string(), |text| text.to_std_string_lossy()),
            Err(error) => format!("! {error}"),
        };
        let seen = context.eval(Source::from_bytes("seen")).unwrap();
        let seen = crate::console::inspect(&[seen], context);
        (shown != *expected || seen != "[]").then(|| format!("{source}\n  expected {expected}\n  but got  {shown}\n  seen {seen}"))
    })
    .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn setters_on_array_and_object_prototypes_see_nothing() {
    let context = &mut context();
    let poison = r#"
        var seen = [];
        for (const key of ['0', '1', '2', 'length0', 'value', 'get', 'set', 'type', 'callback', 'capture', 'removed', 'aborted', 'algorithms', 'read', 'next'])
            for (const prototype of [Array.prototype, Object.prototype])
                Reflect.defineProperty(prototype, key, { __proto__: null, configurable: true, get() { return undefined },
                    set(value) { Reflect.defineProperty(seen, seen.length, { __proto__: null, value: key, enumerable: true }) } });
    "#;
    context.eval(Source::from_bytes(poison)).unwrap();
    let source = r#"
        const target = new EventTarget();
        let count = '';
        target.addEventListener('x', () => count += 'a');
        target.addEventListener('x', () => count += 'b', { once: true });
        target.dispatchEvent(new Event('x'));
        const signal = AbortSignal.any([AbortSignal.abort(1), new AbortController().signal]);
        count += signal.reason + new URLSearchParams([['k', 'v']]).toString() + new URL('https://a.b/?c=d').searchParams.getAll('c');
        count + '|' + seen.length
    "#;
    assert_eq!(show(source, context), "ab1k=vd|0");
}

#[test]
fn a_listener_that_throws_is_reported_and_the_next_one_runs() {
    let context = &mut context();
    let source = "const t = new EventTarget(); let n = 0; t.addEventListener('x', () => { throw new Error('boom') }); t.addEventListener('x', () => n++); t.dispatchEvent(new Event('x')); queueMicrotask(() => { throw 5 }); n";
    assert_eq!(show(source, context), "1");
    let reported = crate::state::with(|state| std::mem::take(&mut state.uncaught));
    assert_eq!(reported.len(), 2, "{reported:?}");
}

#[test]
fn a_timeout_aborts_when_it_is_due() {
    let context = &mut context();
    context
        .eval(Source::from_bytes(
            "var s = AbortSignal.timeout(5), log = ''; s.addEventListener('abort', () => log += s.reason.name)",
        ))
        .unwrap();
    assert_eq!(crate::timers::next_due(), Some(5.0));
    crate::timers::run_due(4.0, context).unwrap();
    assert_eq!(show("log", context), "");
    crate::timers::run_due(5.0, context).unwrap();
    assert_eq!(show("log", context), "TimeoutError");
}

#[test]
fn a_deep_structure_is_cloned_without_recursion() {
    let source = "let o = null; for (let i = 0; i < 100000; i++) o = { o }; let c = structuredClone(o), n = 0; while (c) { c = c.o; n++ } n";
    assert_eq!(show(source, &mut context()), "100000");
}

#[test]
fn what_is_held_outside_the_script_survives_a_collection() {
    let context = &mut context();
    let source = "var u = new URL('https://a.b/?c=d'), log = ''; u.searchParams; setTimeout((x) => { u.searchParams.append('e', x.y); log = u.href }, 1, { y: 'f' })";
    show(source, context);
    boa_gc::force_collect();
    crate::timers::run_due(1.0, context).unwrap();
    boa_gc::force_collect();
    assert_eq!(
        show("try { atob('?') } catch (e) { log + e.name }", context),
        "https://a.b/?c=d&e=fInvalidCharacterError"
    );
}

#[test]
fn objects_become_primitive_values_however_often_they_are_asked() {
    rows(&[
        ("String({toString(){return '5'}, valueOf(){return 7}})", "5"),
        ("+{toString(){return '5'}}", "5"),
        ("`${{valueOf(){return 7}}}`", "[object Object]"),
        ("1n + {valueOf(){return 2n}}", "3"),
        ("({valueOf(){throw new RangeError('r')}}) * 2", "! RangeError: r"),
        ("const m = {valueOf(){return parseFloat(`${this}`)}, toString(){return '5'}}; +m", "5"),
        ("const m = {toString(){return 'n' + (this - 1)}, valueOf(){return 3}}; `${m}`", "n2"),
        ("let n = 0; const o = {toString(){return n++ < 40 ? `(${this})` : '.'}}; `${o}`.length", "81"),
        ("''+{toString:1, valueOf:1}", "! TypeError: cannot convert object to primitive value"),
        ("`${Object.create(null)}`", "! TypeError: cannot convert object to primitive value"),
        ("''+{toString(){return {}}}", "! TypeError: cannot convert object to primitive value"),
        // Arrays that contain themselves.
        ("const a = [1]; a.push(a); ''+a", "1,"),
        ("const a = [1]; a.push(a); +a", "NaN"),
        ("const a = []; const b = [a, 2]; a.push(b, 1); String(a)", ",2,1"),
        ("const a = [[1], [1, [2]]]; a[2] = a[0]; `${a}|${a}`", "1,1,2,1|1,1,2,1"),
        ("const a = [{toString(){throw new RangeError('r')}}]; try {''+a} catch {} a[0] = 1; ''+a", "1"),
        ("class M extends Array {toString(){return 'm' + this.length}}; ''+new M(3)", "m3"),
        // Dates, and objects with their own conversion.
        ("const d = new Date(0); d.toString = () => 'T'; d.valueOf = () => 9; [d+'', d-0].join()", "T,9"),
        ("new Date(NaN)+''", "Invalid Date"),
        ("Date.prototype[Symbol.toPrimitive].call({valueOf(){return 1}, toString(){return 'x'}}, 'default')", "x"),
        ("try {Date.prototype[Symbol.toPrimitive].call({}, 'nope')} catch (e) {e.name}", "TypeError"),
        ("Date.prototype[Symbol.toPrimitive].name", "[Symbol.toPrimitive]"),
        ("({[Symbol.toPrimitive](h){return h}}) + ''", "default"),
        ("''+{[Symbol.toPrimitive]: undefined, toString(){return 't'}}", "t"),
        ("const o = {}; o[Symbol.toPrimitive] = () => 4; o + 1", "5"),
        ("new Proxy({}, {get(t, k){return k === Symbol.toPrimitive ? () => 3 : undefined}}) + 1", "4"),
        ("Symbol.iterator.toString()+''", "Symbol(Symbol.iterator)"),
        // Enumeration does not show the conversion.
        (
            "const keys = []; for (const key in {}) keys.push(key); keys.length + Object.keys(Object.prototype).length",
            "0",
        ),
        ("JSON.stringify(Object.assign({}, Object.prototype))", "{}"),
    ]);
}
