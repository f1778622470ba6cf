//! Layers: JavaScript of a namespace's own between its methods and the script, see `codemode_spec::Manifest::layer`.
//!
//! A layer is evaluated when the image is made, so that an execution finds its functions compiled; what it makes of the
//! methods is made at the first use of its global, so that an execution which does not use it pays nothing for it.

#[cfg(test)]
mod tests;

use crate::{
    codec::data_property,
    fault,
    state::{self, FailedCall},
};
use boa_engine::{
    Context, JsArgs, JsData, JsError, JsNativeError, JsObject, JsResult, JsString, JsValue, NativeFunction, Script,
    Source,
    gc::{Finalize, Trace},
    js_string,
    object::FunctionObjectBuilder,
    property::PropertyDescriptor,
};
use codemode_spec::{
    ErrorCode,
    message::{CallError, Layer},
};
use std::{collections::BTreeMap, path::Path};

/// The functions of the layers, by namespace.
#[derive(Default)]
pub struct Layers(BTreeMap<String, JsObject>);

impl Layers {
    /// Evaluates a layer and keeps its function.
    ///
    /// # Errors
    /// Why it cannot be used, in words for its author.
    pub fn add(&mut self, layer: &Layer, context: &mut Context) -> Result<(), String> {
        let name = format!("codemode:{}", layer.namespace);
        let source = Source::from_bytes(layer.source.as_bytes()).with_path(Path::new(&name));
        let value = Script::parse(source, None, context).and_then(|script| script.evaluate(context));
        let value = value.map_err(|error| fault::text(error, context))?;
        let Some(function) = value.as_callable() else {
            return Err(format!("the layer's value is not a function (call, name) => object, but {}", value.type_of()));
        };
        self.0.insert(layer.namespace.clone(), function);
        Ok(())
    }

    /// The function of a namespace's layer.
    pub fn function(&self, namespace: &str) -> Option<JsObject> {
        self.0.get(namespace).cloned()
    }
}

/// What it takes to make a layered namespace.
#[derive(Debug, Clone, Trace, Finalize)]
pub struct LayeredNamespace {
    /// The global's name.
    #[unsafe_ignore_trace]
    pub name: JsString,
    /// The engine's own `Proxy`.
    pub proxy: JsObject,
    /// What the namespace of the methods is a proxy of, ...
    pub target: JsObject,
    /// ... and with which traps.
    pub handler: JsObject,
    /// The layer's function.
    pub layer: JsObject,
}

/// What the global's accessors share.
#[derive(Debug, Trace, Finalize, JsData)]
enum Global {
    Unused(LayeredNamespace),
    /// The layer's function runs.
    InTheMaking,
    /// Made, or assigned by the script.
    Value(JsValue),
}

impl LayeredNamespace {
    /// The global: hidden and writable, as that of any namespace is.
    ///
    /// Invariant: it stays a pair of accessors. The engine remembers for each place in a source where a property was
    /// found, and loses track of one that its own getter turns into another kind.
    pub fn global(self, context: &mut Context) -> PropertyDescriptor {
        let name = self.name.clone();
        let global = JsObject::from_proto_and_data(None, Global::Unused(self));
        let get = NativeFunction::from_copy_closure_with_captures(
            |_, _, global, context| value(global, context),
            global.clone(),
        );
        let set = NativeFunction::from_copy_closure_with_captures(
            |_, arguments, global, _| {
                if let Some(mut global) = global.downcast_mut::<Global>() {
                    *global = Global::Value(arguments.get_or_undefined(0).clone());
                }
                Ok(JsValue::undefined())
            },
            global,
        );
        let get = FunctionObjectBuilder::new(context.realm(), get).name(name.clone()).build();
        let set = FunctionObjectBuilder::new(context.realm(), set).name(name).length(1).build();
        PropertyDescriptor::builder().get(get).set(set).enumerable(false).configurable(true).build()
    }

    /// Calls the layer.
    fn make(&self, context: &mut Context) -> JsResult<JsValue> {
        let methods =
            self.proxy.construct(&[self.target.clone().into(), self.handler.clone().into()], None, context)?;
        let fail = NativeFunction::from_fn_ptr(fail).to_js_function(context.realm());
        let arguments = [methods.into(), self.name.clone().into(), fail.into()];
        let made = self.layer.call(&JsValue::undefined(), &arguments, context)?;
        if !made.is_object() {
            return Err(self.error(&format!("returned {}, not an object", made.type_of())));
        }
        Ok(made)
    }

    fn error(&self, what: &str) -> JsError {
        JsNativeError::typ().with_message(format!("the layer of {} {what}", self.name.to_std_string_lossy())).into()
    }
}

/// `fail(error, code, hint)`: an error of the layer's own, which counts as a refused call of the namespace with that code
/// if the script throws it on. Returns the error.
fn fail(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let code = arguments.get_or_undefined(1).to_string(context)?.to_std_string_lossy();
    let hint = arguments.get_or_undefined(2).to_string(context)?.to_std_string_lossy();
    let known = ErrorCode::ALL.iter().find(|known| known.as_str() == code);
    let (Some(error), Some(known)) = (arguments.get_or_undefined(0).as_object(), known) else {
        let message = "a layer fails with an error and a code of the table";
        return Err(JsNativeError::typ().with_message(message).into());
    };
    let message = error.get(js_string!("message"), context)?.to_string(context)?.to_std_string_lossy();
    let refused = CallError {
        code,
        message: fault::bounded(message),
        hint: fault::bounded(hint),
        retryable: known.retryable(),
        details: None,
    };
    error.insert_property(js_string!("code"), data_property(js_string!(refused.code.as_str())));
    error.insert_property(js_string!("hint"), data_property(js_string!(refused.hint.as_str())));
    error.insert_property(js_string!("retryable"), data_property(refused.retryable));
    state::with(|state| state.remember_failed(error.clone(), FailedCall::Refused(refused)));
    Ok(error.into())
}

/// The global's value; at its first use, what the layer's function makes. One that throws is called again at the next use.
fn value(global: &JsObject, context: &mut Context) -> JsResult<JsValue> {
    let unused = match global.downcast_mut::<Global>() {
        None => return Ok(JsValue::undefined()),
        Some(mut global) => match &*global {
            Global::Value(value) => return Ok(value.clone()),
            Global::InTheMaking => {
                let message = "a layer used its own global while it made it";
                return Err(JsNativeError::reference().with_message(message).into());
            }
            Global::Unused(namespace) => {
                let namespace = namespace.clone();
                *global = Global::InTheMaking;
                namespace
            }
        },
    };
    let made = unused.make(context);
    if let Some(mut global) = global.downcast_mut::<Global>() {
        *global = match &made {
            Ok(value) => Global::Value(value.clone()),
            Err(_) => Global::Unused(unused),
        };
    }
    made
}
