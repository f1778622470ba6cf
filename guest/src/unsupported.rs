//! Globals of other JavaScript hosts that a script may expect here, and what to use instead.
//!
//! Some functions and constructors of those hosts are defined here as stubs that fail with a message naming the
//! alternative. All other names stay undefined, so that feature detection works; the `ReferenceError` gets the
//! alternative as a hint.

use boa_engine::{
    Context, JsNativeError, JsResult, JsString, JsValue, NativeFunction, js_string,
    object::{FunctionObjectBuilder, builtins::JsPromise},
    property::{Attribute, PropertyDescriptor, PropertyKey},
};

const PAGE: &str = "the script runs beside the browser, not in a page: evaluate in the page through a namespace, with the command Runtime.evaluate and {expression: \"document.title\", returnByValue: true}";
const NETWORK: &str = "scripts have no network of their own: request it in the page through a namespace, with the command Runtime.evaluate and {expression: \"fetch(url).then(r => r.text())\", awaitPromise: true, returnByValue: true}, or call a namespace that offers it";
const MODULES: &str = "there are no modules: everything a script can use is a global, namely the namespaces, console, timers, URL, TextEncoder, crypto and the language itself";
const FILES: &str =
    "scripts reach no file, process or environment: return the data as the result, or call a namespace that offers it";
const BYTES: &str = "use Uint8Array: Uint8Array.fromBase64(text), bytes.toBase64(), bytes.toHex(), new TextEncoder().encode(text), new TextDecoder().decode(bytes), atob and btoa";
const LOCALES: &str = "locales are not built in: number.toLocaleString(), date.toLocaleString() and text.localeCompare(other) work in the en-US forms, in UTC";
const THREADS: &str = "a script is one thread: start several calls and await Promise.all([…])";
const STORAGE: &str =
    "nothing of a script outlives it: return the data as the result, or use the page's own storage through a namespace";
const LIBRARY: &str = "this library is not here: use the namespaces that are injected, and plain JavaScript";
const DATES: &str = "use Date: new Date(), Date.now(), date.toISOString()";
const DIALOGS: &str = "nobody sees a dialog: write with console.log, or return the data as the result";

/// The unsupported globals, and what to use instead of each.
pub const UNSUPPORTED: &[(&str, &str)] = &[
    ("fetch", NETWORK),
    ("XMLHttpRequest", NETWORK),
    ("WebSocket", NETWORK),
    ("EventSource", NETWORK),
    ("Headers", NETWORK),
    ("Request", NETWORK),
    ("Response", NETWORK),
    ("FormData", NETWORK),
    ("require", MODULES),
    ("module", MODULES),
    ("exports", MODULES),
    ("importScripts", MODULES),
    ("process", FILES),
    ("fs", FILES),
    ("path", FILES),
    ("os", FILES),
    ("child_process", FILES),
    ("__dirname", FILES),
    ("__filename", FILES),
    ("Deno", FILES),
    ("Bun", FILES),
    ("File", FILES),
    ("FileReader", BYTES),
    ("Blob", BYTES),
    ("Buffer", BYTES),
    ("WebAssembly", "it is not available in the sandbox: write it in JavaScript, or run it in the page"),
    ("Worker", THREADS),
    ("setImmediate", "use setTimeout(callback, 0) or queueMicrotask(callback)"),
    ("requestAnimationFrame", "use setTimeout(callback, 16); to wait for a frame of the page, evaluate it there"),
    ("global", "use globalThis"),
    ("self", "use globalThis"),
    ("window", PAGE),
    ("document", PAGE),
    ("location", PAGE),
    ("navigator", PAGE),
    ("history", PAGE),
    ("screen", PAGE),
    ("DOMParser", PAGE),
    ("HTMLElement", PAGE),
    ("Element", PAGE),
    ("Node", PAGE),
    ("NodeFilter", PAGE),
    ("XPathResult", PAGE),
    ("MutationObserver", PAGE),
    ("getComputedStyle", PAGE),
    ("$", PAGE),
    ("$$", PAGE),
    ("$x", PAGE),
    ("jQuery", PAGE),
    ("localStorage", STORAGE),
    ("sessionStorage", STORAGE),
    ("indexedDB", STORAGE),
    ("alert", DIALOGS),
    ("confirm", DIALOGS),
    ("prompt", DIALOGS),
    ("Intl", LOCALES),
    ("Temporal", DATES),
    ("moment", DATES),
    ("dayjs", DATES),
    ("_", LIBRARY),
    ("axios", NETWORK),
    ("puppeteer", LIBRARY),
    ("playwright", LIBRARY),
    ("chromium", LIBRARY),
    ("page", LIBRARY),
    ("context", LIBRARY),
    ("expect", LIBRARY),
    ("cheerio", LIBRARY),
];

/// The unsupported globals that are defined as stubs, which fail with the alternative.
const STUBS: &[&str] = &["fetch", "require", "importScripts", "XMLHttpRequest", "WebSocket", "EventSource", "Worker"];

/// The stubs' error message, between the name and the alternative.
const UNAVAILABLE: &str = " is not available in the sandbox: ";

/// The alternative to the global that is undefined according to an error's message.
pub fn hint_for(message: &str) -> Option<&'static str> {
    // The message of a stub names the alternative itself, and needs no hint.
    let name = message.strip_suffix(" is not defined")?;
    alternative_to(name)
}

fn alternative_to(name: &str) -> Option<&'static str> {
    UNSUPPORTED.iter().find(|(global, _)| *global == name).map(|(_, instead)| *instead)
}

/// Defines the stubs.
pub fn install(context: &mut Context) -> JsResult<()> {
    for name in STUBS {
        let function = NativeFunction::from_copy_closure_with_captures(
            |_, _, name: &JsString, context| fail(name, context),
            js_string!(*name),
        );
        let function = FunctionObjectBuilder::new(context.realm(), function)
            .name(js_string!(*name))
            .length(1)
            .constructor(true)
            .build();
        let hidden = Attribute::WRITABLE | Attribute::NON_ENUMERABLE | Attribute::CONFIGURABLE;
        context.register_global_property(js_string!(*name), function, hidden)?;
    }
    Ok(())
}

fn fail(name: &JsString, context: &mut Context) -> JsResult<JsValue> {
    let name = name.to_std_string_lossy();
    let instead = alternative_to(&name).unwrap_or(MODULES);
    let error = JsNativeError::reference().with_message(format!("{name}{UNAVAILABLE}{instead}")).into_opaque(context);
    let code = PropertyDescriptor::builder()
        .value(js_string!(codemode_spec::ErrorCode::UnsupportedOperation.as_str()))
        .writable(true)
        .enumerable(true)
        .configurable(true);
    error.insert_property(PropertyKey::from(js_string!("code")), code.build());
    let error = boa_engine::JsError::from_opaque(error.into());
    if name == "fetch" { Ok(JsPromise::reject(error, context)?.into()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_once_and_every_stub_has_an_answer() {
        for (index, (name, instead)) in UNSUPPORTED.iter().enumerate() {
            assert!(UNSUPPORTED[index + 1..].iter().all(|(other, _)| other != name), "{name} twice");
            assert!(!instead.is_empty());
        }
        assert!(STUBS.iter().all(|name| alternative_to(name).is_some()));
    }

    #[test]
    fn a_reference_error_gets_its_hint() {
        assert_eq!(hint_for("document is not defined"), Some(PAGE));
        assert_eq!(hint_for("Buffer is not defined"), Some(BYTES));
        assert_eq!(hint_for("documents is not defined"), None);
        assert_eq!(hint_for("x is not a function"), None);
    }
}
