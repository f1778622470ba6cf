//! Layers in a guest that was created as for an image.

use crate::Guest;
use codemode_spec::{
    limits::{CALLS_PER_EXECUTION_MAX, UNHANDLED_REJECTIONS_MAX},
    message::{Call, CallError, Encoded, Layer, Namespace, Outcome, Reply, Resume, Start, State, Thrown, Turn},
};
use serde_json::{Value as Json, json};

/// A layer whose object counts how often it was created, and forwards calls to the namespace.
const SHOP: &str = "(() => {
  'use strict';
  let made = 0;
  class Cart {
    #call;
    constructor(call) { this.#call = call }
    add(...items) { return this.#call.add({ items }) }
    async addLater(item) { await null; return this.add(item) }
    refuse() { throw new TypeError('the cart is full') }
  }
  return (call, name) => Object.freeze({ cart: new Cart(call), made: ++made, name, random: Math.random(), raw: call });
})()";

fn layer(namespace: &str, source: &str) -> Layer {
    Layer { namespace: namespace.to_owned(), source: source.to_owned() }
}

fn guest(layers: &[(&str, &str)]) -> Guest {
    let mut guest = Guest::new().unwrap();
    for (namespace, source) in layers {
        guest.add_layer(&layer(namespace, source)).unwrap();
    }
    guest
}

fn start(guest: &mut Guest, namespaces: &[&str], source: &str) -> Turn {
    let namespace = |name: &&str| Namespace { name: (*name).to_owned(), methods: vec!["add".to_owned()] };
    guest.start(Start {
        source: source.to_owned(),
        source_name: "script.js".to_owned(),
        namespaces: namespaces.iter().map(namespace).collect(),
        seed: [5; 32],
        now_ms: 0.0,
        calls_max: CALLS_PER_EXECUTION_MAX,
        call_bytes: 1_000_000,
    })
}

fn outcome(turn: Turn) -> Outcome {
    match turn.state {
        State::Done { outcome, .. } => outcome,
        waiting => panic!("it waits: {waiting:?}"),
    }
}

fn returned(turn: Turn) -> Json {
    match outcome(turn) {
        Outcome::Returned(value) => value.value().unwrap().to_json(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_error_of_a_layer_has_a_code_and_a_hint() {
    const FAILING: &str = "(call, name, fail) => ({
        no() { throw fail(new TypeError('nothing here'), 'UNSUPPORTED_OPERATION', 'use that') },
        odd() { throw fail(new TypeError('nothing here'), 'NO_SUCH_CODE', '') },
        none() { throw fail('a text', 'CALL_TIMEOUT', '') },
    })";
    let run = |source: &str| start(&mut guest(&[("shop", FAILING)]), &["shop"], source);
    let seen = "try { shop.no() } catch (e) { [e instanceof TypeError, e.message, e.code, e.hint, e.retryable] }";
    assert_eq!(returned(run(seen)), json!([true, "nothing here", "UNSUPPORTED_OPERATION", "use that", false]));
    for uncaught in
        ["shop.no()", "(async () => shop.no())()", "try { shop.no() } catch (e) { e.message = 'mine'; throw e }"]
    {
        let refused = thrown(run(uncaught)).refused.expect(uncaught);
        let told = (refused.code.as_str(), refused.message.as_str(), refused.hint.as_str());
        assert_eq!(told, ("UNSUPPORTED_OPERATION", "nothing here", "use that"), "{uncaught}");
    }
    for wrong in ["shop.odd()", "shop.none()"] {
        let thrown = thrown(run(wrong));
        assert!(thrown.refused.is_none() && thrown.message.contains("a code of the table"), "{thrown:?}");
    }
    // A script cannot forge such an error.
    let copy = "let own; try { shop.no() } catch (e) { own = Object.assign(new Error('copy'), e) } throw own";
    assert!(thrown(run(copy)).refused.is_none());
}

fn thrown(turn: Turn) -> Thrown {
    match outcome(turn) {
        Outcome::Threw(thrown) => thrown,
        other => panic!("{other:?}"),
    }
}

/// The result of a script in a new guest with both layers.
fn shown(source: &str) -> Json {
    let second = "(call) => ({ kind: 'second', same: () => typeof call.add })";
    returned(start(&mut guest(&[("shop", SHOP), ("desk", second)]), &["shop", "desk", "plain"], source))
}

fn calls(turn: Turn) -> Vec<Call> {
    match turn.state {
        State::Waiting { calls, .. } => calls,
        done => panic!("it is done: {done:?}"),
    }
}

#[test]
fn scripts_see_what_the_layers_make() {
    let rows = [
        (
            "[shop.name, shop.made, desk.kind, desk.same(), typeof plain.add]",
            json!(["shop", 1, "second", "function", "function"]),
        ),
        (
            "[shop === shop, shop.made, globalThis.shop === shop, globalThis['sh' + 'op'].made]",
            json!([true, 1, true, 1]),
        ),
        (
            "[typeof shop, 'shop' in globalThis, Object.keys(globalThis).includes('shop')]",
            json!(["object", true, false]),
        ),
        (
            "(() => { const seen = []; for (let n = 0; n < 50; n++) seen.push(shop.made); return new Set(seen).size })()",
            json!(1),
        ),
        ("(() => { const read = () => shop; return read() === read() && read() === globalThis.shop })()", json!(true)),
        ("shop = 5; shop", json!(5)),
        (
            "(() => { const read = () => shop; const before = read().made; shop = { made: 9 }; return [before, read().made] })()",
            json!([1, 9]),
        ),
        ("(() => { delete globalThis.shop; return typeof shop })()", json!("undefined")),
        ("(() => { const shop = 'mine'; return shop })()", json!("mine")),
        ("`${shop.raw}`", json!("[object shop]")),
        ("shop.nothing === undefined", json!(true)),
    ];
    for (source, expected) in rows {
        assert_eq!(shown(source), expected, "{source}");
    }
}

#[test]
fn a_layer_without_its_namespace_is_not_seen() {
    assert_eq!(returned(start(&mut guest(&[("shop", SHOP)]), &["desk"], "typeof shop")), "undefined");
}

#[test]
fn the_same_seed_gives_the_same_result() {
    let source = "[shop.random, Math.random(), desk.kind]";
    assert_eq!(shown(source), shown(source));
    assert_ne!(shown("Math.random()"), shown("shop.random; Math.random()"), "the layer draws when it is used");
}

#[test]
fn calls_of_a_layer_are_calls_of_the_namespace() {
    let mut guest = guest(&[("shop", SHOP)]);
    let made = calls(start(&mut guest, &["shop"], "async () => (await shop.cart.add('tea', 2)).sum"));
    assert_eq!((&*made[0].namespace, &*made[0].method), ("shop", "add"));
    assert_eq!(made[0].arguments.value().unwrap().to_json(), json!([{"items": ["tea", 2]}]));
    let result = Ok(Encoded::from(json!({"sum": 3})));
    let turn = guest.resume(Resume { now_ms: 1.0, replies: vec![Reply { call: 0, result }], call_bytes: 1_000_000 });
    assert_eq!(returned(turn), 3);
}

fn refusal() -> CallError {
    let (code, message) = ("CALL_FAILED".to_owned(), "sold out".to_owned());
    CallError { code, message, hint: String::new(), retryable: false, details: None }
}

fn failed(source: &str) -> Thrown {
    let mut guest = guest(&[("shop", SHOP)]);
    let made = calls(start(&mut guest, &["shop"], source));
    let reply = Reply { call: made[0].id, result: Err(refusal()) };
    thrown(guest.resume(Resume { now_ms: 1.0, replies: vec![reply], call_bytes: 1_000_000 }))
}

#[test]
fn errors_say_where_the_script_is() {
    let thrown_at = |source: &str| thrown(start(&mut guest(&[("shop", SHOP)]), &["shop"], source));
    let full = thrown_at("function buy() {\n  shop.cart.refuse();\n}\nbuy()");
    assert_eq!((&*full.name, &*full.message), ("TypeError", "the cart is full"));
    assert!(full.stack.contains("script.js:2:") && !full.stack.contains("codemode:"), "{}", full.stack);

    let sold_out = failed("async () => {\n  await shop.cart.add('tea');\n}");
    assert_eq!((&*sold_out.name, &*sold_out.message, sold_out.call), ("CallError", "sold out", Some(0)));
    assert!(sold_out.stack.contains("script.js:2:") && !sold_out.stack.contains("codemode:"), "{}", sold_out.stack);

    let later = failed("async () => {\n  await shop.cart.addLater('tea');\n}");
    assert!(later.stack.contains("codemode:shop"), "better than nothing: {}", later.stack);
}

#[test]
fn what_nothing_handled_names_the_place_in_the_script() {
    let source = "async () => {\n  (async () => shop.cart.refuse())();\n}";
    let State::Done { unhandled, .. } = start(&mut guest(&[("shop", SHOP)]), &["shop"], source).state else {
        panic!("it waits");
    };
    assert_eq!(unhandled.len(), 1);
    assert!(
        unhandled[0].starts_with("TypeError: the cart is full at ") && unhandled[0].contains("script.js:2:"),
        "{unhandled:?}"
    );
}

#[test]
fn what_nothing_handled_beyond_the_bound_is_counted() {
    let run = |rejected: usize, thrown: usize| {
        let source = format!(
            "async () => {{
                for (let i = 0; i < {thrown}; i++) queueMicrotask(() => {{ throw new Error('thrown ' + i) }});
                for (let i = 0; i < {rejected}; i++) Promise.reject(new Error('rejected ' + i));
            }}"
        );
        match start(&mut guest(&[]), &[], &source).state {
            State::Done { unhandled, .. } => unhandled,
            waiting => panic!("it waits: {waiting:?}"),
        }
    };
    let max = UNHANDLED_REJECTIONS_MAX;
    assert_eq!((run(max, 0).len(), run(0, max).len()), (max, max));
    for (rejected, thrown, last) in [
        (max + 1, 0, "1 more error"),
        (max + 7, 0, "7 more errors"),
        (0, max + 7, "7 more errors"),
        (5, max + 7, "12 more errors"),
        (max, 3, "3 more errors"),
    ] {
        let told = run(rejected, thrown);
        assert_eq!((told.len(), told[max].as_str()), (max + 1, last), "{rejected} rejected, {thrown} thrown: {told:?}");
    }
}

#[test]
fn a_layer_that_throws_throws_where_it_is_used() {
    let broken = "() => { throw new RangeError('no shop') }";
    let rows = [
        (broken, "1 + 1; shop", "RangeError", "no shop"),
        (broken, "try { shop } catch {} shop.x", "RangeError", "no shop"),
        ("() => 7", "shop", "TypeError", "the layer of shop returned number, not an object"),
        ("() => shop", "shop", "ReferenceError", "a layer used its own global while it made it"),
    ];
    for (layer, source, name, message) in rows {
        let thrown = thrown(start(&mut guest(&[("shop", layer)]), &["shop"], source));
        assert_eq!((&*thrown.name, &*thrown.message), (name, message), "{layer}: {source}");
        assert!(thrown.stack.contains("(script.js:"), "{}", thrown.stack);
    }
    let unused = start(&mut guest(&[("shop", broken)]), &["shop"], "1 + 1");
    assert_eq!(returned(unused), 2, "what is not used does not fail");
}

#[test]
fn a_layer_that_recurses_is_a_stack_that_ended() {
    let recursing = "() => { const deeper = () => deeper(); return deeper() }";
    let ended = outcome(start(&mut guest(&[("shop", recursing)]), &["shop"], "shop"));
    assert!(matches!(ended, Outcome::RecursionLimit { .. }), "{ended:?}");
}

#[test]
fn layers_that_cannot_be_used_are_refused_when_they_are_added() {
    let rows = [
        ("(call) => {", "SyntaxError"),
        ("({})", "the layer's value is not a function (call, name) => object, but object"),
        ("throw new Error('not today')", "Error: not today"),
        ("null.x; () => ({})", "codemode:shop:1:"),
        ("for (;;); () => ({})", "loop"),
        ("const deeper = () => deeper(); deeper()", "RuntimeLimitError"),
        ("console.log('hello'); () => ({})", "writes to the console before it is called: hello"),
        ("Promise.reject(new Error('lost')); () => ({})", "nothing handled: Error: lost"),
        // Last, because the timer remains set in this thread.
        ("setTimeout(() => {}, 5); () => ({})", "sets a timer"),
    ];
    for (source, expected) in rows {
        let why = Guest::new().unwrap().add_layer(&layer("shop", source)).unwrap_err();
        assert!(why.contains(expected), "{source}: {why}");
    }
}

#[test]
fn loops_of_scripts_are_not_counted() {
    let mut guest = guest(&[("shop", SHOP)]);
    assert_eq!(returned(start(&mut guest, &["shop"], "let n = 0; while (n < 1100000) n++; n")), 1_100_000);
}
