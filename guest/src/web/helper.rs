//! How a helper in Rust becomes a property of an object.

use boa_engine::{
    Context, JsError, JsNativeError, JsObject, JsValue, NativeFunction, js_string,
    native_function::NativeFunctionPointer,
    object::FunctionObjectBuilder,
    property::{Attribute, PropertyDescriptor},
};

/// A helper in Rust: its name, how many arguments it declares, and what it does.
pub type Helper = (&'static str, usize, NativeFunctionPointer);

/// As the built-in methods are: writable, configurable, and not shown by enumeration.
pub const HIDDEN: Attribute = Attribute::WRITABLE.union(Attribute::CONFIGURABLE);

/// Puts methods of ours in the place of the engine's.
pub fn define<const N: usize>(methods: [(JsObject, Helper); N], context: &Context) {
    for (prototype, (name, length, function)) in methods {
        let function = FunctionObjectBuilder::new(context.realm(), NativeFunction::from_fn_ptr(function))
            .name(js_string!(name))
            .length(length)
            .build();
        prototype.insert_property(js_string!(name), hidden(function));
    }
}

/// A writable, configurable property that enumeration does not show.
pub fn hidden(value: impl Into<JsValue>) -> PropertyDescriptor {
    PropertyDescriptor::builder().value(value).writable(true).enumerable(false).configurable(true).build()
}

/// A `TypeError`.
pub fn type_error(message: impl Into<std::borrow::Cow<'static, str>>) -> JsError {
    JsNativeError::typ().with_message(message).into()
}
