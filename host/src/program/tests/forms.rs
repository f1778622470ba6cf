//! Tests of every form in which a script may come, with the resulting source.

use super::{super::Program, source};

/// The wrapped form of statements.
fn body(inside: &str) -> String {
    format!("(async () => {{{inside}\n}})")
}

/// The wrapped form of a value that is called if it is a function.
fn called(value: &str) -> String {
    format!("((f) => typeof f === 'function' ? f() : f)({value})")
}

#[test]
fn expressions_and_statements_give_their_last_value() {
    let rows = [
        ("1 + 1", "return (1 + 1)".to_owned()),
        ("1 + 1;", "return (1 + 1);".into()),
        ("// why\nf() // that", "// why\nreturn (f()) // that".into()),
        ("await f()", "return (await f())".into()),
        ("const a = await f();\na.b;", "const a = await f();\nreturn (a.b);".into()),
        ("const a = 1\na", format!("const a = 1\nreturn ({})", called("a"))),
        ("x = 5", "return (x = 5)".into()),
        ("a, b", "return (a, b)".into()),
        ("'hello'", "return ('hello')".into()),
        ("'use strict'; 1", "'use strict'; return (1)".into()),
        ("`a${b}`", "return (`a${b}`)".into()),
        ("(async () => 1)()", "return ((async () => 1)())".into()),
        ("(function () { return 1 })()", "return ((function () { return 1 })())".into()),
        ("return 1", "return 1".into()),
        ("if (a) return 1;\nreturn 2", "if (a) return 1;\nreturn 2".into()),
        ("const t = 1; return t", format!("const t = 1; return {}", called("t"))),
        ("return async () => 1", format!("return {}", called("async () => 1"))),
        ("if (a) { f(); g() } else h()", "if (a) { f(); return (g()) } else return (h())".into()),
        (
            "try { f() } catch (e) { e.message } finally { g() }",
            "try { return (f()) } catch (e) { return (e.message) } finally { g() }".into(),
        ),
        ("{ const a = 1; f(a) }", "{ const a = 1; return (f(a)) }".into()),
        ("for (const a of b) f(a)", "for (const a of b) f(a)".into()),
        ("f();\nconst a = 1", "f();\nconst a = 1".into()),
        ("throw new Error('x')", "throw new Error('x')".into()),
        ("f();;", "return (f());;".into()),
        ("with (a) b", "with (a) b".into()),
        ("010", "return (010)".into()),
        ("let package = 1; package + 1", "let package = 1; return (package + 1)".into()),
        ("f()\r\ng()\r\n", "f()\r\nreturn (g())\r\n".into()),
        ("'```js'; `\\`\\`\\``", "'```js'; return (`\\`\\`\\``)".into()),
        ("f()\n--> old", "return (f())\n--> old".into()),
        ("x = {} / 2", "return (x = {} / 2)".into()),
    ];
    for (text, expected) in rows {
        assert_eq!(source(text), body(&expected), "{text}");
    }
}

#[test]
fn an_object_is_an_object() {
    for text in
        ["{a: 1, b: 2}", "{a: 1}", "{}", "{a}", "{...a}", "{a() {}, 'b': [1]}", "{a: await f()}", " {a: 1} // x"]
    {
        assert_eq!(source(text), body(&format!("return (({}\n))", text.trim_end_matches(" // x"))), "{text}");
    }
    assert_eq!(source("{a: 1};"), body("return (({a: 1}\n))"));
    assert_eq!(source("{ f(); g() }"), body("{ f(); return (g()) }"));
}

#[test]
fn functions_are_called() {
    let rows = [
        ("async () => { return 1 }", "(async () => { return 1 })".to_owned()),
        ("() => 1;", "(() => 1);".into()),
        ("(async () => 1)", "((async () => 1))".into()),
        ("// c\nasync () => 1\n// d", "// c\n(async () => 1)\n// d".into()),
        ("function f() { return 1 }", "(function f() { return 1 })".into()),
        ("async function main() { return 1 };", "(async function main() { return 1 });".into()),
        ("async function () { return 1 }", "((async function () { return 1 }\n))".into()),
        ("function () { return 1 }", "((function () { return 1 }\n))".into()),
        ("async function main() {}\nmain()", body("async function main() {}\nreturn (main())")),
        ("await main();\nasync function main() {}", body("return (await main());\nasync function main() {}")),
        ("const main = async () => 1;", body("const main = async () => 1;\n;return main()")),
        ("const a = 1\nasync function main() {}", body("const a = 1\nasync function main() {}\n;return main()")),
        ("const f = () => 1; f", body(&format!("const f = () => 1; return ({})", called("f")))),
        ("'use strict'; function f() {}", body("'use strict'; function f() {}\n;return f()")),
        // Already called, or not the script's entry.
        ("function main() {}\nconst a = main()", body("function main() {}\nconst a = main()")),
        ("function a() {}\nfunction b() {}", body("function a() {}\nfunction b() {}")),
        ("const r = f(1); function f(x) { return x }", body("const r = f(1); function f(x) { return x }")),
    ];
    for (text, expected) in rows {
        assert_eq!(source(text), expected, "{text}");
    }
}

#[test]
fn what_is_exported_is_the_result() {
    let rows = [
        ("export default async () => 1", "var $default=  async () => 1", "$default"),
        ("export default {a: 1};", "var $default=  {a: 1};", "$default"),
        ("export default 1\nconst a = 2", "var $default=  1\nconst a = 2", "$default"),
        ("export default async function () {}", "async function $default       () {}", "$default"),
        ("export default async function run() {}", "               async function run() {}", "run"),
        ("async function f() {}\nexport default f", "async function f() {}\nvar $default=  f", "$default"),
        ("async function f() {}\nexport { f as default }", "async function f() {}\n;                      ", "f"),
        (
            "module.exports = async () => 1;",
            "const module = {exports: {}}; module.exports = async () => 1;",
            "module.exports",
        ),
    ];
    for (text, expected, name) in rows {
        assert_eq!(source(text), body(&format!("{expected}\n;return {}", called(name))), "{text}");
    }
    let rows = [
        ("export const run = async () => 17", "       const run = async () => 17", "run"),
        ("const a = 1;\nexport async function run() {}", "const a = 1;\n       async function run() {}", "run"),
        ("export const run = () => 1\nfunction main() {}", "       const run = () => 1\nfunction main() {}", "run"),
    ];
    for (text, expected, name) in rows {
        assert_eq!(source(text), body(&format!("{expected}\n;return {name}()")), "{text}");
    }
    assert_eq!(source("export const f = () => 1\nf(2)"), body("       const f = () => 1\nreturn (f(2))"));
    assert_eq!(source("export const a = 1;\na + 1"), body("       const a = 1;\nreturn (a + 1)"));
}

#[test]
fn types_are_stripped() {
    let rows = [
        ("const a: number = 1; a as string", body(&format!("const a = 1;\nreturn ({});\n", called("a")))),
        ("async function f(x: number): Promise<void> {}", "(async function f(x) {})\n".into()),
        ("async (x?: string) => x", "(async (x) => x);\n".into()),
        ("interface A { x: number }\ntype B = A | string\nf<B>({x: 1} satisfies A)", body("return (f({ x: 1 }));\n")),
        ("f<string>('a')", body("return (f(\"a\"));\n")),
        ("x!.y", body("return (x.y);\n")),
        ("(<any>x).y", body("return (x.y);\n")),
        ("declare const x: number; x.y", body("return (x.y);\n")),
        ("import type {A} from 'a'\nexport default async (a: A) => 1", {
            body(&format!(";\nvar $default = async (a) => 1;\n\n;return {}", called("$default")))
        }),
        ("{a: 1 as number}", body("return (({ a: 1 }));\n")),
        ("function f(a: string): void\nfunction f(a: any) {}\nf(1)", body("function f(a) {}\nreturn (f(1));\n")),
    ];
    for (text, expected) in rows {
        assert_eq!(source(text), expected, "{text}");
    }
    let contains = [
        ("enum Color { Red, Green = 'g' }\nColor.Red", "return (Color.Red)"),
        ("namespace N { export const x = 1 }\nN.x", "return (N.x)"),
        ("const enum A { X = 1 }\nA.X", "return (A.X)"),
        ("class A { constructor(private x: number) {} }\nnew A(1).x", "this.x = x"),
        ("abstract class A<T> { abstract f(): T }\nlet a: A<number>\nf(a)", "return (f(a))"),
        ("const f = <T,>(x: T) => x\nf(1)", "const f = (x) => x"),
        ("function f(this: Foo, x?: number) {}\nf()", "function f(x) {}"),
        ("for (const x of (y as any[])) f(x)\nlet z: any", "for (const x of y) f(x)"),
        ("let v = x as unknown as `a${string}`\nv.w", "let v = x"),
    ];
    for (text, expected) in contains {
        assert!(source(text).contains(expected), "{text}: {}", source(text));
    }
}

#[test]
fn wrappings_are_taken_off() {
    let plain = body("return (f())");
    for text in [
        "```js\nf()\n```",
        "```\nf()\n```",
        "~~~typescript\nf()\n~~~",
        "```javascript\nf()",
        "Run it:\n\n```js\nf()\n```\nDone.",
    ] {
        assert_eq!(source(text).replace("\n\n}", "\n}"), plain, "{text}");
    }
    assert_eq!(source("\u{FEFF}f()"), plain);
    assert_eq!(source("#!/usr/bin/env node\nf()"), body("\nreturn (f())"));
    assert_eq!(source("Then:\n~~~js\nf()\n~~~\n"), body("return (f())\n"));
    let template = "f(`\n~~~js\n1\n~~~\n`)";
    assert_eq!(source(template), body(&format!("return ({template})")));
}

#[test]
fn positions_lead_back_to_the_text_as_it_was_sent() {
    // In each text, `boom` marks the position of an error.
    let texts = [
        "boom()",
        "const a = 1;\n  boom()",
        "Look, it's 🦀:\n```ts\nconst a: number = 1;\nif (a) {\n  boom()\n}\n```",
        "#!/bin/node\n\nboom",
        "\u{FEFF}async () => { boom() }",
        "interface Long {\n  a: string\n  b: number\n}\nenum E { A, B }\nasync function main(x?: Long) {\n  /* é🦀 */ boom(E.A)\n}",
        "export default async () => {\n  await boom()\n}",
        "export default async (x?: number) => {\r\n  await boom()\r\n}",
        "{a: 1,\n b: boom()}",
        "{a: 1 as number,\n b: boom()}",
        "'é🦀'; boom()",
    ];
    for text in texts {
        let program = Program::prepare(text).unwrap();
        let place = |text: &str| {
            let at = text.find("boom").unwrap();
            let line = text[..at].matches('\n').count() + 1;
            let column = text[..at].chars().rev().take_while(|c| *c != '\n').count() + 1;
            (line as u32, column as u32)
        };
        let (line, column) = place(&program.source);
        let expected = place(text);
        assert_eq!(program.map_position(line, column), expected, "{text}\n{}", program.source);
        let stack = format!(
            "Error: x\n    at f (script.js:{line}:{column})\n    at native\n    at script.js:{line}:{column}\n"
        );
        let mapped = mapped(&program, &stack);
        let (line, column) = expected;
        let same = format!(
            "Error: x\n    at f (script.js:{line}:{column})\n    at native\n    at script.js:{line}:{column}\n"
        );
        assert_eq!(mapped, same);
        assert!(program.code_frame(line, column).contains(&format!("> {line} | ")));
    }
}

fn mapped(program: &Program, stack: &str) -> String {
    let mut mapped = stack.to_owned();
    program.stacks().map(&mut mapped);
    mapped
}

#[test]
fn hostile_stacks_are_harmless() {
    let program = Program::prepare(&format!("'é{}'", "🦀".repeat(100_000))).unwrap();
    let stacks = [
        "at script.js:1:150000 ".repeat(50_000),
        "at script.js:99999999999999999999:1".into(),
        "at script.js:4294967295:4294967295".into(),
        "at script.js:0:0".into(),
        "script.js".repeat(100_000),
        "at script.js:".repeat(100_000),
        "at script.js:1:".into(),
        "scriptxjs:1:2 é script.js:1".into(),
        format!("at script.js:{}", "1".repeat(1_000_000)),
    ];
    for stack in stacks {
        assert!(!mapped(&program, &stack).is_empty());
    }
    for other in ["no position", "at f (http://site.test/script.js:1:1)", "see script.js:1:1", "at script.js:1"] {
        assert_eq!(mapped(&program, other), other);
    }
    assert_eq!(program.map_position(u32::MAX, u32::MAX), (1, 100_004));
}

/// See `receiver`: the insertion goes into the outermost arrow function of a function, if that does not mention `this`
/// itself.
#[test]
fn this_reaches_arrow_functions_within_arrow_functions() {
    let rows = [
        ("({ m() { a((x) => b((y) => this.k)) } }).m()", "({ m() { a((x) => (0&&this,b((y) => this.k))) } }).m()"),
        ("f(function () { (x) => { (y) => this } })", "f(function () { (x) => {if(0)this; (y) => this } })"),
        (
            "f(function () { (x) => { 'use strict'; (y) => this } })",
            "f(function () { (x) => { 'use strict';;if(0)this; (y) => this } })",
        ),
        ("f(function () { () => () => () => this })", "f(function () { () => (0&&this,() => () => this) })"),
        ("f(class { a = () => () => this })", "f(class { a = () => (0&&this,() => this) })"),
        ("f(class { static { () => () => this } })", "f(class { static { () => (0&&this,() => this) } })"),
        ("f(function () { (a = () => this) => 1 })", "f(function () { (a = () => this) => (0&&this,1) })"),
    ];
    for (text, expected) in rows {
        assert_eq!(source(text), body(&format!("return ({expected})")), "{text}");
    }
    for unchanged in [
        "f(() => () => this)",
        "f(function () { () => this })",
        "f(function () { () => [this, () => this] })",
        "f(function () { () => function () { return this } })",
        "f(function () { () => () => { class A { a = this } } })",
    ] {
        assert_eq!(source(unchanged), body(&format!("return ({unchanged})")), "{unchanged}");
    }
}
