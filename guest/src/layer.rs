//! Layers: JavaScript that a namespace puts between its methods and the script, see `codemode_spec::Manifest::layer`.
//!
//! A layer is evaluated while the image is built, so that its functions are already compiled in every execution. The
//! object that replaces the methods is created at the first use of the namespace's global, so that an execution which
//! does not use it pays nothing for it.

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
    /// Evaluates a layer and stores its function.
    ///
    /// # Errors
    /// Why the layer cannot be used, as a message for its author.
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

/// The parts from which the global of a namespace with a layer is created.
#[derive(Debug, Clone, Trace, Finalize)]
pub struct LayeredNamespace {
    /// The global's name.
    #[unsafe_ignore_trace]
    pub name: JsString,
    /// The engine's own `Proxy`.
    pub proxy: JsObject,
    /// The target of the proxy for the namespace's methods.
    pub target: JsObject,
    /// The traps of that proxy.
    pub handler: JsObject,
    /// The layer's function.
    pub layer: JsObject,
}

/// The state that the global's getter and setter share.
#[derive(Debug, Trace, Finalize, JsData)]
enum Global {
    Unused(LayeredNamespace),
    /// The layer's function is running.
    Initializing,
    /// Created by the layer, or assigned by the script.
    Value(JsValue),
}

impl LayeredNamespace {
    /// The global's property: not enumerable and writable, as for any namespace.
    ///
    /// Invariant: it stays an accessor property. The engine's inline caches remember, for each access in a source,
    /// where the property was found, and become wrong if a getter replaces its own property by a data property.
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

    /// Calls the layer's function.
    fn initialize(&self, context: &mut Context) -> JsResult<JsValue> {
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

/// `fail(error, code, hint)`: marks an error of the layer and returns it. If the script does not catch it, it counts as
/// a refused call of the namespace with that code.
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

/// The global's value. The first use calls the layer's function; if that throws, the next use calls it again.
fn value(global: &JsObject, context: &mut Context) -> JsResult<JsValue> {
    let unused = match global.downcast_mut::<Global>() {
        None => return Ok(JsValue::undefined()),
        Some(mut global) => match &*global {
            Global::Value(value) => return Ok(value.clone()),
            Global::Initializing => {
                let message = "a layer used its own global while it made it";
                return Err(JsNativeError::reference().with_message(message).into());
            }
            Global::Unused(namespace) => {
                let namespace = namespace.clone();
                *global = Global::Initializing;
                namespace
            }
        },
    };
    let made = unused.initialize(context);
    if let Some(mut global) = global.downcast_mut::<Global>() {
        *global = match &made {
            Ok(value) => Global::Value(value.clone()),
            Err(_) => Global::Unused(unused),
        };
    }
    made
}
