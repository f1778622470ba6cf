//! Tests of the nesting scanner.

use super::super::nesting::*;
use codemode_spec::limits::SOURCE_NESTING_MAX;

#[test]
fn brackets_are_followed_where_they_are_code() {
    for (source, brackets) in [
        ("", 0),
        ("([{}])", 3),
        ("'((((' + \"[[[[\" + `{{{{`", 0),
        ("// ((((\n/* [[[[\n */ ()", 1),
        ("`${`${`${(1)}`}`}`", 4),
        ("/[(]((/.test(x)", 1),
        ("a / (b) / (c)", 1),
        ("if (a) /((((/.test(b)", 1),
        ("f(a) / '((('.length", 1),
        ("x = a++ / (b) / 2", 1),
        ("return /\\/((/g", 0),
        ("a.return / (b) / 2", 1),
        ("'it\\'s ((('", 0),
        ("'a\\\r\n((('", 0),
        ("`\\`(((`", 0),
        ("`$(((`", 0),
        ("\\u{61}", 0),
        ("1e+5/(2)/1", 1),
    ] {
        assert_eq!(scan(source).map(|found| (found.brackets, found.unsure)), Ok((brackets, false)), "{source}");
    }
    assert!(scan("x = {} / 2").unwrap().unsure);
    assert!(scan("await / 2").unwrap().unsure);
    assert!(scan("a\n--> ((((").unwrap().unsure);
}

#[test]
fn statements_and_commas_end_what_nests_without_brackets() {
    let scripts = [
        "const x = await cdp.send('Page.navigate', {url: 'https://x.test/'});\n",
        "const x = await cdp.send('Page.navigate', {url: 'https://x.test/'})\n",
        "if (a) {b()} else {c()}\n",
        "if (a) b\n",
        "for (const a of b) { c(a) }",
        "f({a: -1, b: !x, c: y ? 1 : 2, d: [1, 2, 3]}),\n",
        "case 1:\ncase 2:\n",
    ];
    for script in scripts {
        let found = scan(&script.repeat(500)).unwrap();
        assert!(found.tokens <= 32 && found.brackets <= 3, "{script}: {found:?}");
        assert!(found.is_shallow());
    }
}

#[test]
fn chains_without_brackets_are_counted() {
    for chain in [
        "!",
        "x=>",
        "a?a:",
        "if(a)",
        "a=",
        "new ",
        "a:",
        "- ",
        "else if(a)b;",
        "else if(a)b\n",
        "else if(a){b,c}",
        "if(a)b,c;else ",
        "await\n",
        "typeof\n",
        "if(a)\n",
        "do\n",
        "for(;;)\n",
        "for await(a of b)\n",
        "A<B,",
        "a+",
        "a.b\n.",
        "keyof\n",
        "A extends B\n?C:",
        "while(a)",
        "a:\n",
        "label:if(a)b,c;else ",
    ] {
        let found = scan(&chain.repeat(1_000)).unwrap();
        assert!(found.tokens >= 1_000, "{chain}: {found:?}");
        assert!(!found.is_shallow(), "{chain}");
        assert!(scan(&chain.repeat(60_000)).is_err(), "{chain}");
    }
    for bracket in ["(", "[", "{", "`${", "f(", "[[", "({a:", "()=>{"] {
        assert!(scan(&bracket.repeat(SOURCE_NESTING_MAX + 1)).is_err(), "{bracket}");
    }
}

#[test]
fn what_cannot_be_read_for_sure_is_bounded_crudely() {
    let crafted = format!("x = {{}} /'/ {}", "(".repeat(200_000));
    assert!(scan(&crafted).is_err());
}

#[test]
fn the_ends_of_the_code_and_its_words_are_found() {
    let found = scan(" /* a */ {x};\n// b").unwrap();
    assert_eq!((found.first, found.last), (Some(9), 12));
    assert_eq!(scan(" // x").unwrap().first, None);
    assert!(scan("export default 1").unwrap().module_words);
    assert!(!scan("'export'; a.export; `import`").unwrap().module_words);
}
