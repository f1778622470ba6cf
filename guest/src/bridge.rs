//! The bridge between scripts and the host: the namespaces as globals, and the calls that scripts make through them.
//!
//! A namespace is a proxy. Any method name is accepted and becomes a call, so that the host can suggest the nearest
//! real method. It has no `then`, so that awaiting it is harmless. It is read-only, so that a script cannot interfere
//! with later calls. If a namespace has a layer, the script sees the object that the layer creates instead.

use crate::{
    codec::{self, Refusal, data_property, hidden_property},
    fault,
    layer::{LayeredNamespace, Layers},
    stack,
    state::{self, FailedCall, PendingCall},
    web,
};
use boa_engine::{
    Context, JsData, JsError, JsNativeError, JsObject, JsResult, JsString, JsValue, NativeFunction,
    gc::{Finalize, Trace},
    js_string,
    object::{
        FunctionObjectBuilder,
        builtins::{JsArray, JsPromise},
    },
    property::PropertyKey,
};
use codemode_spec::{
    error::ErrorCode,
    limits::{ARGUMENT_BYTES_MAX, METHOD_NAME_CHARS_MAX},
    message::{Call, CallError, Encoded, Layer, Namespace, Reply},
};

/// The data of a namespace: the target of its proxy.
#[derive(Debug, Trace, Finalize, JsData)]
struct Target {
    #[unsafe_ignore_trace]
    name: JsString,
    #[unsafe_ignore_trace]
    methods: Vec<JsString>,
}

/// The objects that every namespace's proxy needs. Created once, in the image.
pub struct Bridge {
    proxy: JsObject,
    handler: JsObject,
    layers: Layers,
}

impl Bridge {
    /// Captures the engine's own `Proxy` before any script can replace it.
    pub fn new(context: &mut Context) -> JsResult<Self> {
        let proxy = context.global_object().get(js_string!("Proxy"), context)?;
        let Some(proxy) = proxy.as_constructor() else {
            return Err(JsNativeError::typ().with_message("the engine has no Proxy").into());
        };
        let handler = JsObject::with_null_proto();
        let traps: [(JsString, NativeFunction); 6] = [
            (js_string!("get"), NativeFunction::from_fn_ptr(get)),
            (js_string!("has"), NativeFunction::from_fn_ptr(has)),
            (js_string!("ownKeys"), NativeFunction::from_fn_ptr(own_keys)),
            (js_string!("set"), NativeFunction::from_fn_ptr(refuse_change)),
            (js_string!("defineProperty"), NativeFunction::from_fn_ptr(refuse_change)),
            (js_string!("deleteProperty"), NativeFunction::from_fn_ptr(refuse_change)),
        ];
        for (name, trap) in traps {
            let function = FunctionObjectBuilder::new(context.realm(), trap).name(name.clone()).build();
            handler.insert_property(name, data_property(function));
        }
        Ok(Self { proxy, handler, layers: Layers::default() })
    }

    /// Evaluates a namespace's layer and stores its function, while the image is built.
    ///
    /// # Errors
    /// Why the layer cannot be used, as a message for its author.
    pub fn add_layer(&mut self, layer: &Layer, context: &mut Context) -> Result<(), String> {
        self.layers.add(layer, context)
    }

    /// Defines a namespace as a global.
    pub fn install(&self, namespace: Namespace, context: &mut Context) -> JsResult<()> {
        let layer = self.layers.function(&namespace.name);
        let name = js_string!(namespace.name);
        let methods = namespace.methods.into_iter().map(|method| js_string!(method)).collect();
        let target = JsObject::from_proto_and_data(None, Target { name: name.clone(), methods });
        let handler = self.handler.clone();
        let global = match layer {
            Some(layer) => LayeredNamespace { name: name.clone(), proxy: self.proxy.clone(), target, handler, layer }
                .global(context),
            None => hidden_property(self.proxy.construct(&[target.into(), handler.into()], None, context)?),
        };
        context.global_object().insert_property(name, global);
        Ok(())
    }
}

fn target(arguments: &[JsValue]) -> JsResult<JsObject> {
    let target = arguments.first().and_then(JsValue::as_object);
    target
        .filter(|object| object.is::<Target>())
        .ok_or_else(|| JsNativeError::typ().with_message("not a namespace").into())
}

/// `get(target, key)`: the method of that name, created at its first use.
fn get(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let target = target(arguments)?;
    let Some(key) = arguments.get(1).and_then(JsValue::as_string) else { return Ok(JsValue::undefined()) };
    // The language itself reads these properties of any object: they must not look like methods.
    const NOT_METHODS: [&str; 4] = ["then", "toJSON", "constructor", "__proto__"];
    if NOT_METHODS.iter().any(|name| key == js_string!(*name)) {
        return Ok(JsValue::undefined());
    }
    if key == js_string!("toString") || key == js_string!("valueOf") {
        let text = js_string!(format!("[object {}]", namespace_name(&target).to_std_string_lossy()));
        let function = NativeFunction::from_copy_closure_with_captures(|_, _, text, _| Ok(text.clone().into()), text);
        return Ok(FunctionObjectBuilder::new(context.realm(), function).name(key).build().into());
    }
    let made = target.borrow().properties().get(&PropertyKey::from(key.clone()));
    if let Some(made) = made {
        return Ok(made.expect_value().clone());
    }
    let captures = (namespace_name(&target), key.clone());
    let function = NativeFunction::from_copy_closure_with_captures(
        |_, arguments, (namespace, method), context| call(namespace, method, arguments, context),
        captures,
    );
    let function = FunctionObjectBuilder::new(context.realm(), function).name(key.clone()).build();
    target.insert_property(key, data_property(function.clone()));
    Ok(function.into())
}

/// `has(target, key)`
fn has(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let target = target(arguments)?;
    let key = arguments.get(1).and_then(JsValue::as_string);
    let known = target.downcast_ref::<Target>().is_some_and(|data| key.is_some_and(|key| data.methods.contains(&key)));
    Ok(known.into())
}

/// `ownKeys(target)`
fn own_keys(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let target = target(arguments)?;
    let methods = target.downcast_ref::<Target>().map(|data| data.methods.clone()).unwrap_or_default();
    Ok(JsArray::from_iter(methods.into_iter().map(JsValue::from), context).into())
}

/// The trap for every operation that would change the namespace.
fn refuse_change(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let name = namespace_name(&target(arguments)?).to_std_string_lossy();
    Err(JsNativeError::typ().with_message(format!("the namespace {name} is read-only")).into())
}

fn namespace_name(target: &JsObject) -> JsString {
    target.downcast_ref::<Target>().map(|data| data.name.clone()).unwrap_or_default()
}

/// Puts a call into the outbox and returns a promise of its reply.
fn call(namespace: &JsString, method: &JsString, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let (promise, resolvers) = JsPromise::new_pending(context);
    let error = context.intrinsics().constructors().error().constructor().construct(&[], None, context)?;
    let namespace = namespace.to_std_string_lossy();
    // No method has a longer name: one character more than the bound is enough for the host to refuse it.
    let method = JsString::from(method.iter().take(METHOD_NAME_CHARS_MAX + 1).collect::<Vec<_>>().as_slice());
    let method = method.to_std_string_lossy();
    let pending = PendingCall { resolvers, error, name: format!("{namespace}.{method}") };
    match codec::encode_arguments(arguments, ARGUMENT_BYTES_MAX, context) {
        Ok(encoded) => send(namespace, method, encoded, pending, context)?,
        Err(refusal) => {
            let refused = refused_arguments(refusal, &pending.name)?;
            reject(pending, None, refused, context)?;
        }
    }
    Ok(promise.into())
}

fn send(
    namespace: String,
    method: String,
    encoded: Vec<u8>,
    pending: PendingCall,
    context: &mut Context,
) -> JsResult<()> {
    let refused = state::with(|state| {
        if state.next_call >= state.calls_max {
            return Some((pending, state.calls_max));
        }
        let id = state.next_call;
        state.next_call += 1;
        state.outbox.push_back(Call { id, namespace, method, arguments: Encoded(encoded) });
        state.pending.insert(id, pending);
        None
    });
    let Some((pending, calls_max)) = refused else { return Ok(()) };
    let message = format!("this execution has made {calls_max} calls, which is the most it may make");
    reject(pending, None, call_error(ErrorCode::CallsExceeded, message), context)
}

fn refused_arguments(refusal: Refusal, name: &str) -> JsResult<CallError> {
    match refusal {
        Refusal::Unserialisable { path, what } => {
            let message = format!("{name}: {} is {what}; only plain data can be passed", Refusal::path_text("", &path));
            Ok(call_error(ErrorCode::InvalidArgument, message))
        }
        Refusal::TooLarge => {
            let message = format!("{name}: the arguments are larger than {ARGUMENT_BYTES_MAX} bytes");
            Ok(call_error(ErrorCode::InvalidArgument, message))
        }
        Refusal::Threw(error) => Err(error),
    }
}

fn call_error(code: ErrorCode, message: String) -> CallError {
    CallError {
        code: code.as_str().to_owned(),
        message: fault::bounded(message),
        hint: code.hint().to_owned(),
        retryable: code.retryable(),
        details: None,
    }
}

/// Settles the promise of a call that the host has answered.
pub fn settle(reply: Reply, context: &mut Context) -> JsResult<()> {
    let Some(pending) = state::with(|state| state.pending.remove(&reply.call)) else { return Ok(()) };
    match reply.result {
        Ok(Encoded(bytes)) => {
            let value = codec::decode(&bytes, context)?;
            pending.resolvers.resolve.call(&JsValue::undefined(), &[value], context)?;
            Ok(())
        }
        Err(error) => reject(pending, Some(reply.call), error, context),
    }
}

/// Rejects the promise of a call with the `Error` that was created when the call was made, extended by the host's
/// error.
fn reject(pending: PendingCall, call: Option<u32>, with: CallError, context: &mut Context) -> JsResult<()> {
    let PendingCall { resolvers, error, name } = pending;
    let failed = call.map_or_else(|| FailedCall::Refused(with.clone()), FailedCall::Answered);
    let place = web::error_stack(&error, context).map(|text| text.to_std_string_lossy()).unwrap_or_default();
    let place = stack::without_internal_frames(&place);
    error.insert_property(js_string!("name"), hidden_property(js_string!("CallError")));
    error.insert_property(js_string!("message"), hidden_property(js_string!(with.message.as_str())));
    let stack = format!("CallError: {}\n{}", with.message, place.trim_end());
    error.insert_property(js_string!("stack"), hidden_property(js_string!(stack)));
    error.insert_property(js_string!("code"), data_property(js_string!(with.code)));
    error.insert_property(js_string!("hint"), data_property(js_string!(with.hint)));
    error.insert_property(js_string!("retryable"), data_property(with.retryable));
    error.insert_property(js_string!("call"), data_property(js_string!(name)));
    if let Some(Encoded(details)) = with.details {
        let details = codec::decode(&details, context)?;
        error.insert_property(js_string!("details"), data_property(details));
    }
    state::with(|state| state.remember_failed(error.clone(), failed));
    resolvers.reject.call(&JsValue::undefined(), &[error.into()], context)?;
    Ok(())
}

/// Settles a call. An error that JavaScript can catch is the script's and is reported as uncaught; an engine error is
/// returned.
pub fn settle_or_report(reply: Reply, context: &mut Context) -> Result<(), JsError> {
    match settle(reply, context) {
        Err(error) if error.as_engine().is_none() => {
            fault::report_uncaught(error, context);
            Ok(())
        }
        settled => settled,
    }
}
