//! Namespaces with a JavaScript layer, from the manifest to the answer.

use crate::support::{
    image_dir,
    lab::{self, Lab},
};
use codemode_host::{
    engine::{Engine, Image},
    exec::{NoObserver, Request},
    service::{ExecuteRequest, Service, Settings},
};
use codemode_provider::{Closures, Provider, closure};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{IMAGES_CACHED_MAX, LAYERS_BYTES_MAX},
    message::Layer,
};
use serde_json::{Value as Json, json};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::Path,
    sync::{Arc, LazyLock, Mutex},
    time::{Duration, SystemTime},
};
use tokio_util::sync::CancellationToken;

/// A namespace whose layer gives scripts an object with methods; one waits for events as long as the script runs.
fn shop() -> Closures {
    let layer = "(() => {
  class Cart {
    #call;
    constructor(call) { this.#call = call }
    add(item) {
      return this.#call.add(item).catch((error) => {
        error.message = 'cart.add: ' + error.message;
        throw error;
      });
    }
    watch() { this.#call.events() }
  }
  return (call) => ({ cart: new Cart(call), number: Math.random(), raw: call });
})()";
    closure("shop", "A shop.")
        .write("add", "Adds an item.", ["item"], |item: String| async move {
            if item == "tea" { Err(ErrorReport::new(ErrorCode::CallFailed, "tea is sold out")) } else { Ok(item.len()) }
        })
        .read("events", "Never answers.", [], std::future::pending::<Result<(), ErrorReport>>)
        .in_background()
        .read("hang", "Never answers either.", [], std::future::pending::<Result<(), ErrorReport>>)
        .layer(layer)
        .declaration("declare const shop: { cart: { add(item: string): Promise<number> } };\n")
}

fn desk() -> Closures {
    closure("desk", "A desk.")
        .read("lamp", "Whether it is lit.", [], || async { Ok::<_, ErrorReport>(true) })
        .layer("(call, name) => ({ name, get lit() { return call.lamp() } })")
}

fn providers() -> Vec<Arc<dyn Provider>> {
    let plain = closure("plain", "Without a layer.").read("one", "One.", [], || async { Ok::<_, ErrorReport>(1) });
    vec![Arc::new(shop()), Arc::new(plain), Arc::new(desk())]
}

fn lab() -> &'static Lab {
    // Created once, so that concurrent tests do not each compile the image.
    static LAB: LazyLock<Lab> =
        LazyLock::new(|| Lab::layered(providers(), Path::new(env!("CARGO_TARGET_TMPDIR")).join("state")));
    &LAB
}

fn layers(providers: &[Arc<dyn Provider>]) -> Vec<Layer> {
    providers.iter().filter_map(|provider| provider.manifest().to_layer()).collect()
}

#[test]
fn scripts_see_the_objects_of_the_layers() {
    let lab = lab();
    lab::block_on(async {
        let code = "[await shop.cart.add('cup'), await desk.lit, desk.name, await plain.one(), typeof shop.add]";
        assert_eq!(lab.result(code).await, json!([3, true, "desk", 1, "undefined"]));
        assert_eq!(lab.result("await shop.raw.add('four')").await, json!(4));
        let unknown = lab.execute(Request::new("await shop.raw.ad('x')")).await.outcome.unwrap_err();
        assert_eq!(unknown.code, ErrorCode::UnknownMethod);
    });
    assert!(shop().manifest().to_dts().starts_with("declare const shop: { cart:"));
}

#[test]
fn the_same_seed_gives_the_same_answer() {
    let lab = lab();
    lab::block_on(async {
        let mut numbers = Vec::new();
        for seed in [[1; 32], [1; 32], [2; 32]] {
            let request = Request { seed: Some(seed), ..Request::new("[shop.number, Math.random()]") };
            numbers.push(lab.execute(request).await.outcome.unwrap().result);
        }
        assert_eq!(numbers[0], numbers[1]);
        assert_ne!(numbers[0], numbers[2]);
    });
}

#[test]
fn a_failed_call_says_what_the_layer_says_and_where_the_script_is() {
    let lab = lab();
    lab::block_on(async {
        let error =
            lab.execute(Request::new("const item = 'tea';\nawait shop.cart.add(item);")).await.outcome.unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (ErrorCode::CallFailed, "cart.add: tea is sold out"));
        assert_eq!(error.details["call"], "shop.add");
        let stack = error.details["stack"].as_str().unwrap();
        assert!(stack.contains("script.js:2:") && !stack.contains("codemode:"), "{stack}");
        // A script cannot replace the host's message by its own.
        let forged = "try { await shop.raw.add('tea') } catch (error) { error.message = 'all is well'; throw error }";
        let error = lab.execute(Request::new(forged)).await.outcome.unwrap_err();
        assert_eq!(error.message, "tea is sold out");
    });
}

#[test]
fn only_calls_that_should_have_been_awaited_are_warned_of() {
    let lab = lab();
    let hang = "1 calls had not ended when the script ended and were cancelled (shop.hang): await every call";
    let rows: [(&str, &[&str]); 4] = [
        ("shop.cart.watch(); await plain.one()", &[]),
        ("shop.cart.watch(); 1", &[]),
        ("shop.cart.watch(); shop.raw.hang(); await plain.one()", &[hang]),
        ("shop.cart.watch(); shop.raw.hang(); 1", &[hang]),
    ];
    lab::block_on(async {
        for (code, warnings) in rows {
            let execution = lab.execute(Request::new(code)).await;
            assert_eq!(
                (execution.outcome.map(|shaped| shaped.result), execution.warnings),
                (Ok(json!(1)), warnings.iter().map(|text| (*text).to_owned()).collect()),
                "{code}"
            );
        }
    });
}

/// A script that only waits while a call is in progress in the background ends by its timeout: the call could still
/// settle what the script waits for.
#[test]
fn a_call_in_the_background_keeps_a_script_alive_for_its_time() {
    let lab = lab();
    lab::block_on(async {
        let request = Request {
            timeout: Duration::from_millis(300),
            ..Request::new("shop.cart.watch(); await new Promise(() => {})")
        };
        assert_eq!(lab.execute(request).await.outcome.unwrap_err().code, ErrorCode::TimeExceeded);
        let deadlock = lab.execute(Request::new("shop.cart; await new Promise(() => {})")).await.outcome.unwrap_err();
        assert_eq!(deadlock.code, ErrorCode::Deadlock);
    });
}

#[test]
fn an_image_is_that_of_its_layers_in_any_order() {
    lab();
    let mut layers = layers(&providers());
    layers.reverse();
    assert!(Image::is_cached(&image_dir(), &layers));
    layers[0].source.push(' ');
    assert!(!Image::is_cached(&image_dir(), &layers));
}

#[test]
fn images_used_longest_ago_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let file =
        |name: &str| File::options().create(true).truncate(false).write(true).open(folder.path().join(name)).unwrap();
    let old = |age: u64| SystemTime::now() - Duration::from_secs(age);
    let others: Vec<_> = (0..IMAGES_CACHED_MAX + 1).map(|number| format!("guest-{number:016x}.cwasm")).collect();
    for (number, name) in (0..).zip(&others) {
        file(name).set_modified(old(1_000 - number)).unwrap();
    }
    file("protocol.json").set_modified(old(2_000)).unwrap();
    let made = Mutex::new(Vec::new());
    let open = || drop(Engine::open(folder.path(), &[], &|line| made.lock().unwrap().push(line.to_owned())).unwrap());
    let names = || {
        let entries = fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<BTreeSet<_>>()
    };
    open();
    let mut left = names();
    let others: BTreeSet<_> = others.into_iter().skip(2).chain(["protocol.json".to_owned()]).collect();
    assert!(left.is_superset(&others), "{left:?}");
    left.retain(|name| !others.contains(name));
    let [image] = &Vec::from_iter(left)[..] else { panic!("{:?}", names()) };
    assert_eq!(made.lock().unwrap().len(), 2, "{made:?}");
    // Its use counts, not its age.
    file(image).set_modified(old(3_000)).unwrap();
    open();
    assert_eq!(made.lock().unwrap().len(), 2, "{made:?}");
    assert!(fs::metadata(folder.path().join(image)).unwrap().modified().unwrap() > old(1_000));
}

/// Executes with a layer of this source, which must be refused; returns the error, and whether an image was stored
/// anyway.
fn refused(source: &str) -> (ErrorReport, bool) {
    let folder = tempfile::tempdir().unwrap();
    let images = folder.path().join("images");
    let state_dir = Some(folder.path().join("state"));
    let settings = Settings { state_dir, image_dir: Some(images.clone()), ..Settings::default() };
    let service =
        Service::builder(settings).provider(desk()).provider(shop().layer(source)).without_browser().build().unwrap();
    let answer =
        lab::block_on(service.execute(ExecuteRequest::new("1"), Arc::new(NoObserver), CancellationToken::new()));
    let made = images.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    (answer.error.expect("the layer is broken"), made)
}

#[test]
fn a_layer_that_cannot_be_used_is_told_with_its_namespace() {
    let nested = format!("() => {}{}", "[".repeat(20_000), "]".repeat(20_000));
    let rows = [("(call) => {", "SyntaxError"), (nested.as_str(), "too deeply"), ("'x'.repeat(2 ** 29).split('')", "")];
    for (source, expected) in rows {
        let (error, made) = refused(source);
        assert_eq!((error.code, made), (ErrorCode::NotReady, false), "{error}");
        let beginning = "the layer of the namespace shop cannot be used: ";
        assert!(error.message.starts_with(beginning) && error.message.contains(expected), "{error}");
        assert!(error.hint.contains("layer"), "{}", error.hint);
    }
}

#[test]
fn layers_have_a_bound() {
    let source = " ".repeat(LAYERS_BYTES_MAX + 1);
    let layer = Layer { namespace: "large".to_owned(), source };
    let folder = tempfile::tempdir().unwrap();
    let error = Engine::open(folder.path(), &[layer], &|_| ()).map(drop).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the layers of the namespaces have {} bytes, at most {LAYERS_BYTES_MAX} are taken",
            LAYERS_BYTES_MAX + 1
        )
    );
}

/// A script that changes built-ins affects neither the layer nor other scripts.
#[test]
fn a_script_that_changed_the_language_changed_it_for_itself() {
    let lab = lab();
    lab::block_on(async {
        let code = "Proxy = null; Object.defineProperty = null; await shop.cart.add('cup')";
        assert_eq!(lab.result(code).await, json!(3));
        assert_eq!(lab.result("await shop.cart.add('cups')").await, Json::from(4));
    });
}
