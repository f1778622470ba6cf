//! The console's output, as rows of arguments and the expected line. The lines of the first table are those of Node 20
//! with a depth of 4.

use super::inspect;
use crate::{
    state,
    web::tests::{context, show},
};
use boa_engine::{Context, JsValue, Source, object::builtins::JsArray};
use codemode_spec::limits::CONSOLE_LINE_BYTES_MAX;

fn line(arguments: &str, context: &mut Context) -> String {
    let array = context.eval(Source::from_bytes(&format!("({arguments})"))).unwrap();
    let array = JsArray::from_object(array.as_object().unwrap()).unwrap();
    let length = array.length(context).unwrap();
    let values: Vec<JsValue> = (0..length).map(|index| array.at(index as i64, context).unwrap()).collect();
    inspect(&values, context)
}

#[track_caller]
fn rows(rows: &[(&str, &str)]) {
    let context = &mut context();
    let failures: Vec<String> = rows
        .iter()
        .filter_map(|(arguments, expected)| {
            let line = line(arguments, context);
            (line != *expected).then(|| format!("{arguments}\n  expected\n{expected}\n  but got\n{line}"))
        })
        .collect();
    assert!(failures.is_empty(), "{} of {} rows:\n{}", failures.len(), rows.len(), failures.join("\n"));
}

#[test]
fn values_look_as_in_node() {
    rows(&[
        ("['a', 1, 'b', true, null, undefined]", "a 1 b true null undefined"),
        ("[-0, 0, 1.5, 1e21, NaN, -Infinity, 10n, -3n]", "-0 0 1.5 1e+21 NaN -Infinity 10n -3n"),
        ("[Symbol('x'), Symbol(), Symbol.iterator]", "Symbol(x) Symbol() Symbol(Symbol.iterator)"),
        ("[[]]", "[]"),
        ("[{}]", "{}"),
        ("[[1, 2, 3]]", "[ 1, 2, 3 ]"),
        (
            r#"[['a', "it's", 'say "hi"', "it's \"both\"", 'it\'s "all" `']]"#,
            r#"[ 'a', "it's", 'say "hi"', `it's "both"`, 'it\'s "all" `' ]"#,
        ),
        (
            r#"['plain\nline', ['a\nb\tc\\d\x00\x1b\x7f']]"#,
            r#"plain
line [ 'a\nb\tc\\d\x00\x1B\x7F' ]"#,
        ),
        (r#"[['\ud83d', '😀', 'ä', '\ud83dx']]"#, r#"[ '\ud83d', '😀', 'ä', '\ud83dx' ]"#),
        (
            "[{ a: 1, 'b-c': 2, 3: 'x', [Symbol('s')]: 4, _ok: 5, 'x y': 6, '': 7 }]",
            "{ '3': 'x', a: 1, 'b-c': 2, _ok: 5, 'x y': 6, '': 7, [Symbol(s)]: 4 }",
        ),
        ("[{ a: { b: { c: {} } } }]", "{ a: { b: { c: {} } } }"),
        (
            "[{ a: { b: { c: { d: 1 } } } }]",
            r#"{
  a: { b: { c: { d: 1 } } }
}"#,
        ),
        (
            "[{ a: { b: { c: { d: { e: { f: 1 } } } } } }]",
            r#"{
  a: {
    b: { c: { d: { e: [Object] } } }
  }
}"#,
        ),
        (
            "[[[[[[[1]]]]]]]",
            r#"[
  [
    [ [ [ [Array] ] ] ]
  ]
]"#,
        ),
        ("[[1, , 3], [, , ,], [1, , , ]]", "[ 1, <1 empty item>, 3 ] [ <3 empty items> ] [ 1, <2 empty items> ]"),
        ("[new Array(5)]", "[ <5 empty items> ]"),
        ("[(() => { const a = [1, 2]; a.x = 'y'; a[-1] = 3; return a })()]", "[ 1, 2, x: 'y', '-1': 3 ]"),
        ("[(() => { const a = []; a[1000000] = 1; return a })()]", "[ <1000000 empty items>, 1 ]"),
        (
            "[Array.from({ length: 101 }, (_, i) => i)]",
            r#"[
   0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11,
  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
  24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,
  36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
  48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59,
  60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71,
  72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83,
  84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95,
  96, 97, 98, 99,
  ... 1 more item
]"#,
        ),
        (
            "[Array.from({ length: 200 }, (_, i) => i * 1000)]",
            r#"[
      0,  1000,  2000,  3000,  4000,  5000,  6000,  7000,
   8000,  9000, 10000, 11000, 12000, 13000, 14000, 15000,
  16000, 17000, 18000, 19000, 20000, 21000, 22000, 23000,
  24000, 25000, 26000, 27000, 28000, 29000, 30000, 31000,
  32000, 33000, 34000, 35000, 36000, 37000, 38000, 39000,
  40000, 41000, 42000, 43000, 44000, 45000, 46000, 47000,
  48000, 49000, 50000, 51000, 52000, 53000, 54000, 55000,
  56000, 57000, 58000, 59000, 60000, 61000, 62000, 63000,
  64000, 65000, 66000, 67000, 68000, 69000, 70000, 71000,
  72000, 73000, 74000, 75000, 76000, 77000, 78000, 79000,
  80000, 81000, 82000, 83000, 84000, 85000, 86000, 87000,
  88000, 89000, 90000, 91000, 92000, 93000, 94000, 95000,
  96000, 97000, 98000, 99000,
  ... 100 more items
]"#,
        ),
        (
            "[Array.from({ length: 30 }, (_, i) => 'item' + i)]",
            r#"[
  'item0',  'item1',  'item2',
  'item3',  'item4',  'item5',
  'item6',  'item7',  'item8',
  'item9',  'item10', 'item11',
  'item12', 'item13', 'item14',
  'item15', 'item16', 'item17',
  'item18', 'item19', 'item20',
  'item21', 'item22', 'item23',
  'item24', 'item25', 'item26',
  'item27', 'item28', 'item29'
]"#,
        ),
        ("[Array.from({ length: 7 }, (_, i) => 'x'.repeat(i))]", "[ '', 'x', 'xx', 'xxx', 'xxxx', 'xxxxx', 'xxxxxx' ]"),
        (
            "[Array.from({ length: 10 }, (_, i) => ({ id: i }))]",
            r#"[
  { id: 0 }, { id: 1 },
  { id: 2 }, { id: 3 },
  { id: 4 }, { id: 5 },
  { id: 6 }, { id: 7 },
  { id: 8 }, { id: 9 }
]"#,
        ),
        (
            "[Array.from({ length: 8 }, (_, i) => 'some longer text number ' + i)]",
            r#"[
  'some longer text number 0',
  'some longer text number 1',
  'some longer text number 2',
  'some longer text number 3',
  'some longer text number 4',
  'some longer text number 5',
  'some longer text number 6',
  'some longer text number 7'
]"#,
        ),
        (
            "[Array.from({ length: 27 }, (_, i) => i % 2 ? 'ab' : 100)]",
            r#"[
  100,  'ab', 100,  'ab', 100,
  'ab', 100,  'ab', 100,  'ab',
  100,  'ab', 100,  'ab', 100,
  'ab', 100,  'ab', 100,  'ab',
  100,  'ab', 100,  'ab', 100,
  'ab', 100
]"#,
        ),
        (
            "[{ list: Array.from({ length: 40 }, (_, i) => i), name: 'n' }]",
            r#"{
  list: [
     0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
    10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
    20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
    30, 31, 32, 33, 34, 35, 36, 37, 38, 39
  ],
  name: 'n'
}"#,
        ),
        (
            "[{ a: 'x'.repeat(30), b: 'y'.repeat(30) }]",
            r#"{
  a: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
  b: 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy'
}"#,
        ),
        (
            "[{ a: 'x'.repeat(40), b: 'y'.repeat(30) }]",
            r#"{
  a: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
  b: 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy'
}"#,
        ),
        (
            "[{ name: 'Alice', age: 30, email: 'alice@example.com', address: { city: 'Berlin', zip: '10115' } }]",
            r#"{
  name: 'Alice',
  age: 30,
  email: 'alice@example.com',
  address: { city: 'Berlin', zip: '10115' }
}"#,
        ),
        (
            "[[{ id: 1, title: 'First post', tags: ['a', 'b'] }, { id: 2, title: 'Second post', tags: [] }]]",
            r#"[
  { id: 1, title: 'First post', tags: [ 'a', 'b' ] },
  { id: 2, title: 'Second post', tags: [] }
]"#,
        ),
        ("[new Map([['a', 1], [{ k: 1 }, [1]]])]", "Map(2) { 'a' => 1, { k: 1 } => [ 1 ] }"),
        ("[new Set([1, 'a', { x: 1 }])]", "Set(3) { 1, 'a', { x: 1 } }"),
        ("[new Map(), new Set()]", "Map(0) {} Set(0) {}"),
        (
            "[new Map([[new Map([['in', 1]]), new Set([new Set([1])])]])]",
            "Map(1) { Map(1) { 'in' => 1 } => Set(1) { Set(1) { 1 } } }",
        ),
        (
            "[new Uint8Array([1, 2, 3]), new Float64Array(2), new BigInt64Array(1), new Uint8Array(0)]",
            "Uint8Array(3) [ 1, 2, 3 ] Float64Array(2) [ 0, 0 ] BigInt64Array(1) [ 0n ] Uint8Array(0) []",
        ),
        (
            "[new Uint8Array(120)]",
            r#"Uint8Array(120) [
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0, 0, 0, 0,
  ... 20 more items
]"#,
        ),
        (
            "[new ArrayBuffer(3), new ArrayBuffer(0)]",
            "ArrayBuffer { [Uint8Contents]: <00 00 00>, byteLength: 3 } ArrayBuffer { [Uint8Contents]: <>, byteLength: 0 }",
        ),
        ("[new Uint8Array([1,2]).buffer]", "ArrayBuffer { [Uint8Contents]: <01 02>, byteLength: 2 }"),
        (
            "[new DataView(new ArrayBuffer(4), 1, 2)]",
            r#"DataView {
  byteLength: 2,
  byteOffset: 1,
  buffer: ArrayBuffer { [Uint8Contents]: <00 00 00 00>, byteLength: 4 }
}"#,
        ),
        (
            "[new Date(0), [new Date(1700000000123)], new Date(NaN)]",
            "1970-01-01T00:00:00.000Z [ 2023-11-14T22:13:20.123Z ] Invalid Date",
        ),
        (r#"[/a\/b/gi, [/x/u]]"#, r#"/a\/b/gi [ /x/u ]"#),
        (
            "[function foo() {}, () => {}, async () => {}, function* gen() {}, async function* ag() {}, class A {}, class B extends Array {}, class {}]",
            "[Function: foo] [Function (anonymous)] [AsyncFunction (anonymous)] [GeneratorFunction: gen] [AsyncGeneratorFunction: ag] [class A] [class B extends Array] [class (anonymous)]",
        ),
        ("[[function foo() {}, class A {}, Math.max]]", "[ [Function: foo], [class A], [Function: max] ]"),
        ("[Object.assign(function foo() {}, { a: 1 })]", "[Function: foo] { a: 1 }"),
        ("[class X { static y = 1 }]", "[class X] { y: 1 }"),
        ("[new (class Foo { constructor() { this.a = 1 } })()]", "Foo { a: 1 }"),
        ("[new (class Foo {})()]", "Foo {}"),
        ("[new (class Foo extends Map {})([[1, 2]])]", "Foo(1) [Map] { 1 => 2 }"),
        ("[new (class Bar extends Array {})(3)]", "Bar(3) [ <3 empty items> ]"),
        ("[Object.create(null)]", "[Object: null prototype] {}"),
        ("[Object.assign(Object.create(null), { a: 1 })]", "[Object: null prototype] { a: 1 }"),
        ("[Object.create({ inherited: 1 })]", "{}"),
        ("[Object.create(class Foo {}.prototype)]", "Foo {}"),
        ("[{ [Symbol.toStringTag]: 'Tag', a: 1 }]", "{ a: 1, [Symbol(Symbol.toStringTag)]: 'Tag' }"),
        (
            "[{ get a() { throw 1 }, set b(v) {}, get c() { return 1 }, set c(v) {} }]",
            "{ a: [Getter], b: [Setter], c: [Getter/Setter] }",
        ),
        (
            "[(() => { const o = { name: 'o' }; o.self = o; return o })()]",
            "<ref *1> { name: 'o', self: [Circular *1] }",
        ),
        ("[(() => { const a = [1]; a.push(a); return a })()]", "<ref *1> [ 1, [Circular *1] ]"),
        (
            "[(() => { const o = { a: {}, b: {} }; o.a.b = o.b; o.b.a = o.a; return o })()]",
            r#"{
  a: <ref *1> { b: { a: [Circular *1] } },
  b: <ref *2> { a: <ref *1> { b: [Circular *2] } }
}"#,
        ),
        ("[(() => { const m = new Map(); m.set('me', m); return m })()]", "<ref *1> Map(1) { 'me' => [Circular *1] }"),
        (
            "[Promise.resolve(1), Promise.resolve({ a: 1 }), new Promise(() => {})]",
            "Promise { 1 } Promise { { a: 1 } } Promise { <pending> }",
        ),
        ("[(() => { const p = Promise.reject(3); p.catch(() => {}); return p })()]", "Promise { <rejected> 3 }"),
        (
            "[new Number(3), new String('abc'), new Boolean(false), Object(Symbol('q')), Object(1n), new Number(-0)]",
            "[Number: 3] [String: 'abc'] [Boolean: false] [Symbol: Symbol(q)] [BigInt: 1n] [Number: -0]",
        ),
        ("[Object.assign(new String('ab'), { x: 1 })]", "[String: 'ab'] { x: 1 }"),
        ("[new WeakMap(), new WeakSet()]", "WeakMap { <items unknown> } WeakSet { <items unknown> }"),
        ("[(function* () {})()]", "Object [Generator] {}"),
        ("[[1][Symbol.iterator]()]", "Object [Array Iterator] {}"),
        ("[globalThis.Math, JSON, Reflect]", "Object [Math] {} Object [JSON] {} Object [Reflect] {}"),
        ("[[undefined, null, -0]]", "[ undefined, null, -0 ]"),
        ("[[['a', 'b'], ['c', 'd']]]", "[ [ 'a', 'b' ], [ 'c', 'd' ] ]"),
        ("[{ f() {}, g: () => {}, h: class Q {} }]", "{ f: [Function: f], g: [Function: g], h: [class Q] }"),
        (
            "[Array.from({ length: 3 }, () => ({ a: 1, b: { c: [1, 2, 3], d: { e: 'deep' } } }))]",
            r#"[
  { a: 1, b: { c: [ 1, 2, 3 ], d: { e: 'deep' } } },
  { a: 1, b: { c: [ 1, 2, 3 ], d: { e: 'deep' } } },
  { a: 1, b: { c: [ 1, 2, 3 ], d: { e: 'deep' } } }
]"#,
        ),
        (
            r#"[{ text: 'line one\nline two\nline three that is rather long so that the whole is long\n' }]"#,
            r#"{
  text: 'line one\n' +
    'line two\n' +
    'line three that is rather long so that the whole is long\n'
}"#,
        ),
        (
            "[{ a: [[[[]]]], b: [[[{}]]], c: new Map([['k', { x: [] }]]) }]",
            r#"{
  a: [ [ [ [] ] ] ],
  b: [ [ [ {} ] ] ],
  c: Map(1) { 'k' => { x: [] } }
}"#,
        ),
        (
            "[Array.from({ length: 12 }, (_, i) => 2 ** i)]",
            r#"[
    1,   2,    4,    8,
   16,  32,   64,  128,
  256, 512, 1024, 2048
]"#,
        ),
        (
            "[Array.from({ length: 12 }, (_, i) => -i / 3)]",
            r#"[
  -0,
  -0.3333333333333333,
  -0.6666666666666666,
  -1,
  -1.3333333333333333,
  -1.6666666666666667,
  -2,
  -2.3333333333333335,
  -2.6666666666666665,
  -3,
  -3.3333333333333335,
  -3.6666666666666665
]"#,
        ),
        (
            "[['apple', 'banana', 'cherry', 'date', 'elderberry', 'fig', 'grape', 'honeydew']]",
            r#"[
  'apple',
  'banana',
  'cherry',
  'date',
  'elderberry',
  'fig',
  'grape',
  'honeydew'
]"#,
        ),
        (
            "[[1.5, 2.25, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12345678]]",
            "[ 1.5, 2.25, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12345678 ]",
        ),
        (
            "[[true, false, true, false, true, false, true, false]]",
            r#"[
  true, false,
  true, false,
  true, false,
  true, false
]"#,
        ),
        (
            "[[[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12], [13, 14]]]",
            r#"[
  [ 1, 2 ],
  [ 3, 4 ],
  [ 5, 6 ],
  [ 7, 8 ],
  [ 9, 10 ],
  [ 11, 12 ],
  [ 13, 14 ]
]"#,
        ),
        (
            "[new Set(Array.from({ length: 120 }, (_, i) => i))]",
            r#"Set(120) {
  0,
  1,
  2,
  3,
  4,
  5,
  6,
  7,
  8,
  9,
  10,
  11,
  12,
  13,
  14,
  15,
  16,
  17,
  18,
  19,
  20,
  21,
  22,
  23,
  24,
  25,
  26,
  27,
  28,
  29,
  30,
  31,
  32,
  33,
  34,
  35,
  36,
  37,
  38,
  39,
  40,
  41,
  42,
  43,
  44,
  45,
  46,
  47,
  48,
  49,
  50,
  51,
  52,
  53,
  54,
  55,
  56,
  57,
  58,
  59,
  60,
  61,
  62,
  63,
  64,
  65,
  66,
  67,
  68,
  69,
  70,
  71,
  72,
  73,
  74,
  75,
  76,
  77,
  78,
  79,
  80,
  81,
  82,
  83,
  84,
  85,
  86,
  87,
  88,
  89,
  90,
  91,
  92,
  93,
  94,
  95,
  96,
  97,
  98,
  99,
  ... 20 more items
}"#,
        ),
        ("['%s is %d years', 'Bob', 42, 'extra', { a: 1 }]", "Bob is 42 years extra { a: 1 }"),
        ("['%s %s %s %s', 'a', -0, 5n, Symbol('x')]", "a -0 5n Symbol(x)"),
        ("['%d %d %d %d %d', '42', 4.5, 7n, {}, null]", "42 4.5 7n NaN 0"),
        ("['%i %i %i', 4.9, '12px', 'x']", "4 12 NaN"),
        ("['%f %f', '1.5abc', 2]", "1.5 2"),
        (
            "['%j', { a: [1, 'x', null, undefined, () => {}], b: undefined, c: { d: true } }]",
            r#"{"a":[1,"x",null,null,null],"c":{"d":true}}"#,
        ),
        ("['%o', 5]", "5"),
        ("['%O', { a: { b: { c: 1 } } }]", "{ a: { b: { c: 1 } } }"),
        ("['%c styled', 'color: red']", " styled"),
        ("['100%', 'x']", "100% x"),
        ("['%% %s', 'x']", "% x"),
        ("['%%']", "%%"),
        ("['%x %s', 1]", "%x 1"),
        ("['%s', null, undefined, 'x']", "null undefined x"),
        ("['%s', { a: { b: 1 } }]", "{ a: [Object] }"),
        ("['%s', [1, [2, [3]]]]", "[ 1, [Array] ]"),
        ("['a%', 1]", "a% 1"),
        ("['%s']", "%s"),
        ("[5, '%s', 'x']", "5 %s x"),
        ("['', 1]", " 1"),
        ("[]", ""),
        ("[[,'a'],[null]]", "[ <1 empty item>, 'a' ] [ null ]"),
        ("[{ '__proto__x': 1, constructor: 5 }]", "{ __proto__x: 1, constructor: 5 }"),
        ("[Object.freeze({ a: 1 })]", "{ a: 1 }"),
        ("[[Symbol('a')], { s: Symbol('b') }]", "[ Symbol(a) ] { s: Symbol(b) }"),
        ("[{ a: undefined, b: null, c: NaN }]", "{ a: undefined, b: null, c: NaN }"),
        (
            "[{ veryLongPropertyNameNumberOne: 'value one', veryLongPropertyNameNumberTwo: 'v2' }]",
            r#"{
  veryLongPropertyNameNumberOne: 'value one',
  veryLongPropertyNameNumberTwo: 'v2'
}"#,
        ),
        (
            "[{ url: 'https://example.com/a/very/long/path/that/goes/on?and=on', status: 200, ok: true }]",
            r#"{
  url: 'https://example.com/a/very/long/path/that/goes/on?and=on',
  status: 200,
  ok: true
}"#,
        ),
        (
            "[{ a: 1n, d: new Date(0), r: /x/, f: function () {} }]",
            "{ a: 1n, d: 1970-01-01T00:00:00.000Z, r: /x/, f: [Function: f] }",
        ),
        ("[[new Date(0), new Date(1)]]", "[ 1970-01-01T00:00:00.000Z, 1970-01-01T00:00:00.001Z ]"),
        ("[[[]], [{}], [[], {}]]", "[ [] ] [ {} ] [ [], {} ]"),
        ("[Object.assign(Object.create({ constructor: 5 }), { a: 1 })]", "{ a: 1 }"),
        (r#"[/[/]/, new RegExp('a/b'), /\//, /\\\//, /[\]/]/]"#, r#"/[/]/ /a\/b/ /\// /\\\// /[\]/]/"#),
    ]);
}

#[test]
fn values_that_node_shows_otherwise() {
    rows(&[
        ("[new URL('https://a.b/c?d=e')]", "URL { href: 'https://a.b/c?d=e' }"),
        ("[new URLSearchParams('a=1&b=x y')]", "URLSearchParams { 'a' => '1', 'b' => 'x y' }"),
        ("[new URLSearchParams()]", "URLSearchParams {}"),
        (
            "[new ArrayBuffer(51)]",
            &format!("ArrayBuffer {{\n  [Uint8Contents]: <{}... 1 more byte>,\n  byteLength: 51\n}}", "00 ".repeat(50)),
        ),
        ("[new Proxy({ a: 1 }, {}), new Proxy(function () {}, {})]", "Proxy {} [Function (Proxy)]"),
        ("[console, crypto, performance]", "Object [console] {} Object [Crypto] {} Object [Performance] {}"),
        ("[new AbortController().signal, new Event('x'), new TextEncoder()]", "AbortSignal {} Event {} TextEncoder {}"),
    ]);
}

#[test]
fn errors_have_their_place_and_what_they_carry() {
    rows(&[
        ("[new TypeError('bad')]", "TypeError: bad\n    at <main> (unknown at :1:3)"),
        ("[{ e: new Error('x') }]", "{\n  e: Error: x\n      at <main> (unknown at :1:8)\n}"),
        (
            "[Object.assign(new Error('x'), { code: 'E', hint: 'h' })]",
            "Error: x\n    at <main> (unknown at :1:17) {\n  code: 'E',\n  hint: 'h'\n}",
        ),
        ("[new Error('x', { cause: 'why' })]", "Error: x\n    at <main> (unknown at :1:3) {\n  [cause]: 'why'\n}"),
        (
            "[new AggregateError([1], 'all')]",
            "AggregateError: all\n    at <main> (unknown at :1:3) {\n  [errors]: [ 1 ]\n}",
        ),
        (
            "[(() => { class MyError extends Error {} const e = new MyError('m'); e.stack = ''; return e })()]",
            "[MyError: m]",
        ),
        (
            "[(() => { const e = new Error('m'); e.name = 'Custom'; e.stack = 'Custom: m\\n    at f (x.js:1:2)'; return e })()]",
            "Custom: m\n    at f (x.js:1:2)",
        ),
        ("['%s', new RangeError('r')]", "RangeError: r"),
        ("[new DOMException('m', 'AbortError')]", "AbortError: m\n    at <main> (unknown at :1:3)"),
    ]);
}

#[test]
fn nothing_of_the_script_runs() {
    let source = r#"[
        { get a() { throw 1 }, toString() { throw 2 }, toJSON() { throw 3 }, valueOf() { throw 4 }, [Symbol.toPrimitive]() { throw 5 },
          get [Symbol.toStringTag]() { throw 6 }, get constructor() { throw 7 } },
        '%s %d %j %i', 
        new Proxy({}, new Proxy({}, { get() { throw 8 } })),
        Object.setPrototypeOf({ x: 1 }, new Proxy({}, { get() { throw 9 }, getOwnPropertyDescriptor() { throw 10 }, getPrototypeOf() { throw 11 } })),
        Object.defineProperty(new Error('e'), 'name', { get() { throw 12 } }),
        Object.defineProperty(function () {}, 'name', { get() { throw 13 } }),
        Object.defineProperty(/x/g, 'flags', { get() { throw 14 } }),
        Object.defineProperty(/x/g, 'global', { get() { throw 15 } }),
    ]"#;
    let context = &mut context();
    context
        .eval(Source::from_bytes("Object.defineProperty(Error.prototype, 'stack', { get() { throw 16 } }); Date.prototype.toISOString = () => { throw 17 }; Array.prototype.toString = null"))
        .unwrap();
    let text = line(source, context);
    assert!(text.contains("a: [Getter]") && text.contains("Proxy {}") && text.contains("/x/g"), "{text}");
    for form in ["%s", "%d", "%i", "%f", "%j", "%o", "%O", "%c"] {
        line(&format!("['{form}', {source}[0]]"), context);
        line(&format!("['{form}', {source}[2]]"), context);
    }
}

#[test]
fn a_line_is_bounded_and_costs_what_it_shows() {
    let huge = [
        "['x'.repeat(5e6)]",
        "[{ text: 'x'.repeat(5e6) }]",
        "['%s'.repeat(1e6), 1, 2]",
        "['%j', Array.from({ length: 1e5 }, (_, i) => ({ i }))]",
        "['%j', 'x'.repeat(5e6)]",
        "[(() => { const o = {}; for (let i = 0; i < 50000; i++) o['key' + i] = i; return o })()]",
        "[Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => [])))]",
        "[(() => { let o = {}; for (let i = 0; i < 7; i++) o = Array(100).fill(o); return o })()]",
        "[new Map(Array.from({ length: 1e5 }, (_, i) => [i, { i }]))]",
        "[new Uint8Array(5e6), new Uint8Array(5e6).buffer]",
        "[(() => { const a = []; a[4294967294] = 1; return a })()]",
        "[2n ** 300000n]",
        "[Object.assign(() => {}, { name2: 'x'.repeat(1e6) }), Symbol('x'.repeat(1e5))]",
        "[new Error('x'.repeat(1e6))]",
        "Array.from({ length: 1e5 }, () => 'argument')",
        "[new RegExp('x'.repeat(1e5))]",
        "[(() => { class A {} Object.defineProperty(A, 'name', { value: 'N'.repeat(1e6) }); return [A, new A()] })()]",
        "[{ ['k'.repeat(1e6)]: 1 }]",
    ];
    for arguments in huge {
        let context = &mut context();
        let array = context.eval(Source::from_bytes(&format!("({arguments})"))).unwrap();
        let array = JsArray::from_object(array.as_object().unwrap()).unwrap();
        let length = array.length(context).unwrap();
        let values: Vec<JsValue> = (0..length).map(|index| array.at(index as i64, context).unwrap()).collect();
        let began = std::time::Instant::now();
        let text = inspect(&values, context);
        let took = began.elapsed();
        assert!(text.len() <= CONSOLE_LINE_BYTES_MAX, "{arguments}: {} bytes", text.len());
        println!("{:>8} bytes {took:?} {arguments}", text.len());
        assert!(took.as_secs() < 60, "{arguments}: {took:?}");
    }
}

#[test]
fn no_cut_splits_a_surrogate_pair() {
    let context = &mut context();
    // The room left for the last string is odd for one of the two.
    for before in ["x", "xx"] {
        // Both the text of a boxed string and the whole of it count, so that the last string ends before the line does.
        let text = line(&format!("[[new String('x'.repeat(4000)), '{before}', '😀'.repeat(999)]]"), context);
        assert!(text.contains("😀'... ") && text.contains(" more characters"), "it is cut: {text}");
        assert!(!text.contains("\\u"), "{text}");
    }
}

#[test]
fn the_console_writes_lines() {
    let context = &mut context();
    let source = r#"
        console.log('a', { b: 1 });
        console.warn('w'); console.error('e'); console.info('i'); console.debug('d');
        console.group('G'); console.log('in\nside'); console.group(); console.log('deep'); console.groupEnd(); console.groupEnd(); console.groupEnd();
        console.assert(true, 'no'); console.assert(false, 'x is %d', 5); console.assert(false);
        console.count(); console.count('c'); console.count('c'); console.countReset('c'); console.count('c'); console.countReset('nope');
        console.time('t'); console.time('t'); console.timeLog('t', 'more'); console.timeEnd('t'); console.timeEnd('t');
        console.dir({ a: 1 }, { depth: 0 });
        console.table([{ a: 1, b: 'x' }, { a: 2, c: true }]); console.table([[1, 2], [3]]); console.table(['p', 'q']); console.table(5);
        console.table({ r1: { v: 1 } }, ['v']); console.table(new Map([['k', 1]]));
        const { log } = console; log('detached');
        [1].forEach(console.log);
        console.trace('here');
    "#;
    show(source, context);
    let (lines, _) = state::with(|state| state.console.take());
    let text: Vec<String> = lines.iter().map(|line| format!("{:?} {}", line.level, line.text)).collect();
    let expected = "\
Log a { b: 1 }
Warn w
Error e
Info i
Debug d
Log G
Log   in
  side
Log     deep
Error Assertion failed: x is 5
Error Assertion failed
Log default: 1
Log c: 1
Log c: 2
Log c: 1
Warn Count for 'nope' does not exist
Warn Timer 't' already exists
Log t: 0ms more
Log t: 0ms
Warn No such timer 't'
Log { a: 1 }
Log ┌─────────┬───┬─────┬──────┐
│ (index) │ a │ b   │ c    │
├─────────┼───┼─────┼──────┤
│ 0       │ 1 │ 'x' │      │
│ 1       │ 2 │     │ true │
└─────────┴───┴─────┴──────┘
Log ┌─────────┬───┬───┐
│ (index) │ 0 │ 1 │
├─────────┼───┼───┤
│ 0       │ 1 │ 2 │
│ 1       │ 3 │   │
└─────────┴───┴───┘
Log ┌─────────┬────────┐
│ (index) │ Values │
├─────────┼────────┤
│ 0       │ 'p'    │
│ 1       │ 'q'    │
└─────────┴────────┘
Log 5
Log ┌─────────┬───┐
│ (index) │ v │
├─────────┼───┤
│ r1      │ 1 │
└─────────┴───┘
Log ┌───────┬────────┐
│ (key) │ Values │
├───────┼────────┤
│ 'k'   │ 1      │
└───────┴────────┘
Log detached
Log 1 0 [ 1 ]
Log Trace: here
    at <main> (unknown at :13:22)";
    assert_eq!(text.join("\n"), expected);
}
