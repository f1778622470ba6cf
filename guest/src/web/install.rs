//! Installs every global that is not part of the language.

use super::{
    base64, buffer, clone,
    helper::{HIDDEN, Helper, hidden, type_error},
    intrinsic, locale, primitive, prototype, random, regexp, sort, text, url,
};
use crate::{console, fault, state, timers, unsupported};
use boa_engine::{
    Context, JsArgs, JsError, JsNativeError, JsObject, JsResult, JsValue, NativeFunction, Source,
    job::PromiseJob,
    js_string,
    object::{FunctionObjectBuilder, ObjectInitializer},
    property::{Attribute, PropertyDescriptor, PropertyKey},
};
use std::path::Path;

/// The scripts, in order of evaluation. Their names appear in stack traces.
const SCRIPTS: &[(&str, &str)] = &[
    ("codemode:prelude", include_str!("../../js/prelude.js")),
    ("codemode:events", include_str!("../../js/events.js")),
    ("codemode:url", include_str!("../../js/url.js")),
    ("codemode:text", include_str!("../../js/text.js")),
    ("codemode:polyfills", include_str!("../../js/polyfills.js")),
];

/// Installs every global that is not part of the language. Called once per context, before any script.
///
/// # Errors
/// When one of these scripts or the engine is defective: only while the image is built, never in an execution.
pub fn install(context: &mut Context) -> JsResult<()> {
    intrinsic::capture(context)?;
    install_globals(context)?;
    let helpers = helpers(context);
    let shared = JsObject::with_null_proto();
    for (name, source) in SCRIPTS {
        let script = context.eval(Source::from_bytes(*source).with_path(Path::new(name)))?;
        let Some(script) = script.as_callable() else {
            return Err(JsNativeError::typ().with_message(format!("{name} is not a function expression")).into());
        };
        script.call(&JsValue::undefined(), &[helpers.clone().into(), shared.clone().into()], context)?;
    }
    Ok(())
}

fn install_globals(context: &mut Context) -> JsResult<()> {
    timers::install(context)?;
    console::install(context)?;
    unsupported::install(context)?;
    locale::install(context);
    random::install(context)?;
    regexp::install(context);
    primitive::install(context);
    prototype::install(context)?;
    sort::install(context);
    let performance = ObjectInitializer::new(context)
        .function(NativeFunction::from_fn_ptr(performance_now), js_string!("now"), 0)
        .property(boa_engine::JsSymbol::to_string_tag(), js_string!("Performance"), Attribute::CONFIGURABLE)
        .build();
    let time_origin = FunctionObjectBuilder::new(
        context.realm(),
        NativeFunction::from_fn_ptr(|_, _, _| Ok(state::start_ms().into())),
    )
    .name(js_string!("get timeOrigin"))
    .build();
    performance.insert_property(
        js_string!("timeOrigin"),
        PropertyDescriptor::builder().get(time_origin).enumerable(false).configurable(true).build(),
    );
    context.register_global_property(js_string!("performance"), performance, HIDDEN)?;
    let globals: &[Helper] = &[("queueMicrotask", 1, queue_microtask), ("structuredClone", 1, clone::structured_clone)];
    for (name, length, function) in globals {
        context.register_global_builtin_callable(js_string!(*name), *length, NativeFunction::from_fn_ptr(*function))?;
    }
    Ok(())
}

/// The `native` object that is passed to these scripts. No script of a model gets it.
fn helpers(context: &mut Context) -> JsObject {
    const OWN: &[Helper] = &[
        ("append", 2, append),
        ("reportUncaught", 1, report_uncaught),
        ("keepDOMException", 1, intrinsic::keep_dom_exception),
        ("isError", 1, intrinsic::is_error),
        ("now", 0, performance_now),
    ];
    let helpers = JsObject::with_null_proto();
    for (name, length, function) in [OWN, base64::HELPERS, buffer::HELPERS, text::HELPERS, url::HELPERS].concat() {
        let function = FunctionObjectBuilder::new(context.realm(), NativeFunction::from_fn_ptr(function))
            .name(js_string!(name))
            .length(length)
            .build();
        helpers.insert_property(js_string!(name), hidden(function));
    }
    helpers
}

/// `append(array, item)`: like `push`, but invokes no setter on `Array.prototype`.
fn append(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let array = arguments.get_or_undefined(0).as_object().ok_or_else(|| type_error("not an array"))?;
    let length = array.get(js_string!("length"), context)?.to_length(context)?;
    array.create_data_property_or_throw(PropertyKey::from(length), arguments.get_or_undefined(1).clone(), context)?;
    Ok(JsValue::undefined())
}

fn report_uncaught(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    fault::report_uncaught(JsError::from_opaque(arguments.get_or_undefined(0).clone()), context);
    Ok(JsValue::undefined())
}

fn performance_now(_: &JsValue, _: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    Ok((state::now_ms() - state::start_ms()).into())
}

fn queue_microtask(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let Some(callback) = arguments.get_or_undefined(0).as_callable() else {
        return Err(type_error("queueMicrotask needs a function: queueMicrotask(() => { … })"));
    };
    let job = PromiseJob::new(move |context| match callback.call(&JsValue::undefined(), &[], context) {
        // An error that JavaScript can catch must not keep the later jobs from running.
        Err(error) if error.as_engine().is_none() => {
            fault::report_uncaught(error, context);
            Ok(JsValue::undefined())
        }
        called => called,
    });
    context.enqueue_job(job.into());
    Ok(JsValue::undefined())
}
