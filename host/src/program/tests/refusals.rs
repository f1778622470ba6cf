//! Tests of refusals: their codes and positions.

use super::super::Program;
use codemode_spec::{ErrorCode, limits::SOURCE_BYTES_MAX};

#[test]
fn faults_are_found_before_anything_runs() {
    use ErrorCode::{SyntaxError, UnsupportedOperation};
    // The text, the code, line and column, and a word of message or hint.
    let rows = [
        ("const = 1", SyntaxError, 1, 7, "Unexpected token"),
        ("f(\n  a b\n)", SyntaxError, 2, 5, "Expected"),
        ("foo(", SyntaxError, 1, 5, "EOF"),
        ("if (a) {\n  f()\n", SyntaxError, 3, 1, "Expected `}`"),
        ("f()\n}", SyntaxError, 2, 1, "Unexpected token"),
        ("}); (async () => {", SyntaxError, 1, 1, "Unexpected token"),
        ("}, async () => {", SyntaxError, 1, 1, "Unexpected token"),
        ("})\n//", SyntaxError, 1, 1, "Unexpected token"),
        ("'abc", SyntaxError, 1, 1, "Unterminated string"),
        ("`abc", SyntaxError, 1, 1, "Unterminated"),
        ("/* abc", SyntaxError, 1, 1, ""),
        ("let a = 1;\nlet a = 2;", SyntaxError, 2, 5, "already been declared"),
        ("const a;", SyntaxError, 1, 7, "Missing initializer"),
        ("break", SyntaxError, 1, 1, "break"),
        ("function f() {\n  await x\n}", SyntaxError, 2, 3, "async"),
        ("a.forEach(x => {\n  await f(x)\n})", SyntaxError, 2, 3, "async"),
        ("/(/", SyntaxError, 1, 2, ""),
        ("const x: = 1", SyntaxError, 1, 10, "Unexpected token"),
        ("const x: number = ;", SyntaxError, 1, 19, "Unexpected token"),
        ("interface A { x: number }\nlet a: A = {x: 1;}", SyntaxError, 2, 17, "Expected"),
        ("<div>a</div>", SyntaxError, 1, 1, "JSX"),
        ("const a = <div/>", SyntaxError, 1, 11, "JSX"),
        ("class A { @dec x = 1 }", SyntaxError, 1, 11, "decorators"),
        ("using x = f(); 1", SyntaxError, 1, 1, "finally"),
        ("if (a) {\n  await using x = f()\n}", SyntaxError, 2, 3, "finally"),
        ("for (using x of y) f(x)", SyntaxError, 1, 6, "finally"),
        ("using x: A = f(); 1", SyntaxError, 1, 1, "finally"),
        ("import.meta.url", SyntaxError, 1, 1, "namespaces"),
        ("", SyntaxError, 1, 1, "no code"),
        ("// nothing\n", SyntaxError, 1, 1, "no code"),
        ("```js\n```", SyntaxError, 2, 1, "no code"),
        ("```js\na b\n```", SyntaxError, 2, 2, "semicolon"),
        ("So:\n\n```ts\nlet a: = 1\n```", SyntaxError, 4, 8, "Unexpected token"),
        ("\u{FEFF}a b", SyntaxError, 1, 3, "semicolon"),
        ("🦀 = 1", SyntaxError, 1, 1, ""),
        ("'🦀' 'é' x", SyntaxError, 1, 4, ""),
        ("```js\n1\n```\n```js\n2\n```", SyntaxError, 4, 1, "one script"),
        ("export default class A {}", SyntaxError, 1, 16, "async () =>"),
        ("import {chromium} from 'playwright';\nf()", UnsupportedOperation, 1, 1, "'playwright'"),
        ("f();\nexport * from 'x'", UnsupportedOperation, 2, 1, "namespaces"),
        ("const fs = await import('fs')", UnsupportedOperation, 1, 18, "namespaces"),
        ("const x: any = await import('fs')", UnsupportedOperation, 1, 22, "namespaces"),
    ];
    for (text, code, line, column, word) in rows {
        let Err(report) = Program::prepare(text) else { panic!("{text:?} is accepted") };
        assert_eq!(report.code, code, "{text:?}: {report}");
        assert_eq!(
            (&report.details["line"], &report.details["column"]),
            (&line.into(), &column.into()),
            "{text:?}: {report}"
        );
        let words = format!("{} {}", report.message, report.hint);
        assert!(words.contains(word), "{text:?}: {words}");
        let frame = report.details["frame"].as_str().unwrap();
        assert!(
            report.message.ends_with(frame) && frame.contains(&format!("> {line} |")),
            "{text:?}: {}",
            report.message
        );
        assert!(report.hint.ends_with('.'), "{}", report.hint);
    }
}

#[test]
fn a_whole_report() {
    let report =
        Program::prepare("const rows = await f();\nconst total = rows.reduce((a, b) => a + b;\ntotal").unwrap_err();
    assert_eq!(
        report.message,
        "Expected `,` or `)` but found `;` at line 2, column 42\n\n  \
           1 | const rows = await f();\n\
         > 2 | const total = rows.reduce((a, b) => a + b;\n    \
             |                                          ^\n  \
           3 | total"
    );
}

#[test]
fn a_source_beyond_the_bound_is_refused() {
    let text = format!("'{}'", "x".repeat(SOURCE_BYTES_MAX));
    assert_eq!(Program::prepare(&text).unwrap_err().code, ErrorCode::SourceTooLarge);
    assert!(Program::prepare(&text[3..]).is_err());
    assert!(Program::prepare(&format!("'{}'", "x".repeat(SOURCE_BYTES_MAX - 2))).is_ok());
}
