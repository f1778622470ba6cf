//! Objects without a prototype, as scripts see them.

use crate::web::tests::rows;

#[test]
fn objects_without_a_prototype_are_converted_like_others() {
    rows(&[
        (
            "const m = Object.assign(Object.create(null), {valueOf(){return parseFloat(`${this}`)}, toString(){return '5'}}); +m",
            "5",
        ),
        (
            "const m = {toString(){return 'n' + (this - 1)}, valueOf(){return 3}}; Object.setPrototypeOf(m, null); `${m}`",
            "n2",
        ),
        ("const m = {toString(){return 'n' + +this}, valueOf(){return 3}}; m.__proto__ = null; String(m)", "n3"),
        (
            "class A {toString(){return 'a' + +this} valueOf(){return 1}}; Reflect.setPrototypeOf(A.prototype, null); ''+[new A]",
            "a1",
        ),
        ("const o = Object.create(null); o[Symbol.toPrimitive] = () => 4; o + 1", "5"),
        ("const o = Object.create(null); o.toString = () => 'k'; ({k: 7})[o]", "7"),
        ("`${Object.create(null)}`", "! TypeError: cannot convert object to primitive value"),
        // The stand-in prototype is not visible.
        (
            "const o = Object.create(null); [Object.getPrototypeOf(o), Reflect.getPrototypeOf(o), o.__proto__, Object.prototype.__lookupGetter__ === undefined || Object.prototype.__lookupGetter__('__proto__').call(o)].map(String).join()",
            "null,null,undefined,null",
        ),
        (
            "const o = Object.create(null); [o instanceof Object, 'toString' in o, Reflect.ownKeys(o).length].join()",
            "false,false,0",
        ),
        (
            "const o = Object.create(null, {a: {value: 1, enumerable: true}}); const k = []; for (const n in o) k.push(n); k.join() + JSON.stringify(o)",
            "a{\"a\":1}",
        ),
        (
            "const o = Object.freeze(Object.create(null)); [Object.setPrototypeOf(o, null) === o, Reflect.setPrototypeOf(o, null), Reflect.setPrototypeOf(o, {})].join()",
            "true,true,false",
        ),
        (
            "[Object.setPrototypeOf(Object.prototype, null) === Object.prototype, Reflect.setPrototypeOf(Object.prototype, null)].join()",
            "true,true",
        ),
        (
            "const o = Object.create(null); Object.setPrototypeOf(o, Array.prototype); Object.getPrototypeOf(o) === Array.prototype && o instanceof Array",
            "true",
        ),
        (
            "let seen = 'none'; const p = new Proxy({}, {setPrototypeOf(t, v) {seen = v; return true}}); Object.setPrototypeOf(p, null); String(seen)",
            "null",
        ),
        ("Object.getPrototypeOf(new Proxy(Object.create(null), {}))", "null"),
        ("Object.getPrototypeOf(Object.create(Object.create(null))) === null", "false"),
        (
            "const d = Object.create(null); for (let n = 0; n < 2000; n++) d['k' + n] = n; d.k1999 + Object.keys(d).length",
            "3999",
        ),
        (
            "[Object.create, Object.setPrototypeOf, Object.getPrototypeOf, Reflect.getPrototypeOf].map((f) => f.name + f.length).join()",
            "create2,setPrototypeOf2,getPrototypeOf1,getPrototypeOf1",
        ),
        ("try {Object.create()} catch (e) {e.name}", "TypeError"),
        ("try {Object.setPrototypeOf(null, null)} catch (e) {e.name}", "TypeError"),
        ("try {Reflect.getPrototypeOf(1)} catch (e) {e.name}", "TypeError"),
        ("Object.getPrototypeOf(structuredClone(Object.create(null))) === Object.prototype", "true"),
    ]);
}
