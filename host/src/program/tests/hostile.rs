//! Texts designed to crash the host. Every test runs on half the stack of an ordinary thread: a native stack overflow
//! would abort the test's process.

use super::super::{
    Program,
    nesting::{SHALLOW_BRACKETS_MAX, SHALLOW_TOKENS_MAX, scan},
};
use codemode_spec::{
    ErrorCode,
    limits::{SOURCE_BYTES_MAX, SOURCE_NESTING_MAX},
};
use proptest::{prelude::*, test_runner::RngSeed};
use std::thread;

/// Half of the default stack size of threads.
const STACK_BYTES: usize = 1 << 20;

fn with_little_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work).unwrap().join().unwrap()
    })
}

/// Nested code: a prefix, the opening piece, the middle, the closing piece.
const NESTS: &[(&str, &str, &str, &str)] = &[
    ("", "(", "1", ")"),
    ("", "[", "1", "]"),
    ("", "{", "", "}"),
    ("", "`${", "1", "}`"),
    ("", "f(", "1", ")"),
    ("", "({a:", "1", "})"),
    ("", "({b(){", "", "}})"),
    ("", "(()=>{", "1", "})"),
    ("", "!function(){", "", "}"),
    ("", "function f(){", "", "}"),
    ("", "(a,b=", "1", ")"),
    ("", "(a=(", "1", "))"),
    ("", "(async(a=", "1", ")=>1)"),
    ("", "async(", "1", ")"),
    ("", "({a=", "1", "})"),
    ("", "(class{b=", "1", "})"),
    ("", "class A{b(){", "", "}}"),
    ("", "class A{static{", "", "}}"),
    ("", "[a=", "b", "]"),
    ("", "[...", "a", "]"),
    ("", "a[", "1", "]"),
    ("let ", "{a:", "b", "} = c"),
    ("", "try{", "", "}catch{}"),
    ("", "switch(a){case 1:", "", "}"),
    ("", "import(", "1", ")"),
    ("", "<T>(a=", "1", ")"),
    ("", "a?(", "1", "):c"),
    ("", "a?(b):c=>(", "1", ")"),
    ("type A=", "[", "B", "]"),
    ("type A=", "(", "B", ")"),
    ("type A=", "{a:", "B", "}"),
    ("type A=", "`${", "B", "}`"),
    ("type A=", "B[", "C", "]"),
    ("", "namespace a{", "", "}"),
    ("let x:", "(a:", "B", ")=>c"),
    ("", "/(", "", ")/"),
];

/// Code that nests without brackets, or whose tree leans to one side.
const CHAINS: &[(&str, &str, &str, &str)] = &[
    ("", "!", "x", ""),
    ("", "- ", "x", ""),
    ("", "typeof ", "x", ""),
    ("", "await ", "x", ""),
    ("", "new ", "a", ""),
    ("", "x=>", "x", ""),
    ("", "async x=>", "x", ""),
    ("", "a?a:", "a", ""),
    ("", "a?", "b", ":c"),
    ("", "a=", "a", ""),
    ("", "a**", "a", ""),
    ("", "a+", "a", ""),
    ("", "'a'+\n", "a", ""),
    ("", "a&&", "a", ""),
    ("", "a??", "a", ""),
    ("", "a,", "a", ""),
    ("", "a.", "a", ""),
    ("", "a?.", "a", ""),
    ("a", "()", "", ""),
    ("a", "``", "", ""),
    ("a", "[0]", "", ""),
    ("", "if(a)", "b", ""),
    ("", "if(a)b;else ", "c", ""),
    ("", "if(a)b,c;else\n", "c", ""),
    ("", "if(a){b}else ", "c", ""),
    ("", "for(;;)", "b", ""),
    ("", "while(a)\n", "b", ""),
    ("", "with(a)", "b", ""),
    ("", "do ", "x", ";while(1)"),
    ("", "a:", "b", ""),
    ("", "(a)=>", "1", ""),
    ("", "class extends ", "a", "{}"),
    ("", "a<", "b", ""),
    ("", "a<", "b", ">()"),
    ("", "<a>", "b", ""),
    ("a", " as b", "", ""),
    ("a", "!", "", ""),
    ("type A=", "B<", "C", ">"),
    ("type A=", "B<C,", "C", ">"),
    ("type A=", "keyof ", "B", ""),
    ("type A=", "readonly\n", "B", ""),
    ("type A=", "B extends C?D:", "E", ""),
    ("type A=", "()=>", "B", ""),
    ("let x:", "new()=>", "B", ""),
    ("type A=", "B|", "C", ""),
    ("type A=", "B.", "C", ""),
    ("type A=B", "[]", "", ""),
    ("namespace ", "a.", "b", "{}"),
    ("", "yield ", "b", ""),
    ("", "/(/+", "b", ""),
    ("", "``+", "b", ""),
    ("", "{}/", "b", ""),
];

fn text((before, open, middle, close): (&str, &str, &str, &str), count: usize) -> String {
    [before, &open.repeat(count), middle, &close.repeat(count)].concat()
}

#[test]
fn a_mebibyte_of_anything_is_survived() {
    with_little_stack(|| {
        for shape in NESTS.iter().chain(CHAINS) {
            let count = SOURCE_BYTES_MAX / (shape.1.len() + shape.3.len()) - 10;
            for source in [text(*shape, count), shape.1.repeat(SOURCE_BYTES_MAX / shape.1.len())] {
                if let Err(report) = Program::prepare(&source) {
                    assert!(report.message.len() < 2_000);
                }
            }
        }
    });
}

#[test]
fn the_deepest_that_is_let_through_is_survived() {
    with_little_stack(|| {
        for shape in NESTS {
            let per_piece = shape.1.matches(['(', '[', '{']).count().max(1);
            for count in [SOURCE_NESTING_MAX / per_piece / 2, SOURCE_NESTING_MAX / per_piece] {
                let _ = Program::prepare(&text(*shape, count));
            }
        }
        for shape in CHAINS {
            for count in [1_000, 5_900, 20_000] {
                let _ = Program::prepare(&text(*shape, count));
                let _ = Program::prepare(&(text(*shape, count) + "\nlet typed: number = 1"));
            }
        }
    });
}

#[test]
fn the_deepest_that_is_parsed_on_the_callers_stack_fits_it() {
    with_little_stack(|| {
        for shape in NESTS.iter().chain(CHAINS) {
            let shallow = |count: &usize| scan(&text(*shape, *count)).is_ok_and(|found| found.is_shallow());
            let most = (1..=SHALLOW_TOKENS_MAX.max(SHALLOW_BRACKETS_MAX)).take_while(shallow).last();
            let Some(most) = most else { continue };
            let _ = Program::prepare(&text(*shape, most));
            let _ = Program::prepare(&(text(*shape, most) + "\nlet typed: number = 1"));
        }
    });
}

#[test]
fn nesting_beyond_the_bound_says_so() {
    for (text, accepted) in [
        (text(("", "(", "1", ")"), SOURCE_NESTING_MAX), true),
        (text(("", "(", "1", ")"), SOURCE_NESTING_MAX + 1), false),
        (text(("", "[", "1", "]"), SOURCE_NESTING_MAX), true),
        (text(("", "!", "1", ""), 2_000), true),
        (text(("", "'a' + ", "'b'", ""), 5_000), true),
        (text(("", "a?b:", "c", ""), 2_000), true),
        (text(("", "if(a){b}else ", "c", ""), 2_000), true),
        (text(("a", "\n  .b()", "", ""), 2_000), true),
        (text(("", "!", "1", ""), 10_000), false),
        (text(("", "'a' + ", "'b'", ""), 100_000), false),
        (format!("[{}]", "{a: [1, {b: 2}]}, ".repeat(8_000)), true),
    ] {
        let prepared = Program::prepare(&text);
        let code = prepared.err().map(|report| report.code);
        assert_eq!(code, (!accepted).then_some(ErrorCode::SourceTooNested), "{}", &text[..20]);
    }
}

#[test]
fn reading_again_and_again_is_bounded() {
    let data = "1,".repeat(60_000);
    for (open, close) in
        [("(a=(", "))"), ("(a,b=", ")"), ("(x=a?(", "):c)"), ("async(a=", ")"), ("({a=", "})"), ("<T>(a=", ")")]
    {
        let text = format!("{}[{data}]{}", open.repeat(190), close.repeat(190));
        assert_eq!(Program::prepare(&text).unwrap_err().code, ErrorCode::SourceTooNested, "{open}");
    }
    let data = "1,".repeat(60_000);
    assert!(Program::prepare(&format!("(async () => {{ const x = [{data}]; return x }})()")).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn soups_of_tokens_are_survived(
        pieces in prop::collection::vec(0..NESTS.len() + CHAINS.len(), 1..8),
        order in prop::collection::vec((0..8_usize, 1..120_usize, any::<bool>()), 1..20),
    ) {
        let shapes: Vec<_> = NESTS.iter().chain(CHAINS).collect();
        let mut soup = String::new();
        for (index, count, middle) in order {
            let shape = shapes[pieces[index % pieces.len()]];
            soup.push_str(shape.0);
            soup.push_str(&shape.1.repeat(count));
            if middle {
                soup.push_str(shape.2);
                soup.push_str(&shape.3.repeat(count));
            }
        }
        with_little_stack(|| {
            let _ = Program::prepare(&soup);
        });
    }

    #[test]
    fn any_text_is_survived_and_its_faults_lie_within_it(text in "\\PC{0,60}|[-(){}\\[\\]`'\"/*!=<>?:;,.a \\n\r\u{2028}~#$\\\\]{0,80}") {
        match Program::prepare(&text) {
            Ok(program) => {
                for line in 0..4 {
                    let (line, column) = program.map_position(line, 7);
                    prop_assert!(program.code_frame(line, column).contains('^'));
                }
            }
            Err(report) => {
                let line = report.details["line"].as_u64().unwrap() as usize;
                let lines = text.split(['\n', '\r', '\u{2028}', '\u{2029}']).count();
                prop_assert!((1..=lines).contains(&line));
            }
        }
    }
}
