//! Defines native helper functions as properties of objects.

use boa_engine::{
    Context, JsError, JsNativeError, JsObject, JsValue, NativeFunction, js_string,
    native_function::NativeFunctionPointer,
    object::FunctionObjectBuilder,
    property::{Attribute, PropertyDescriptor},
};

/// A native helper: its name, the number of declared arguments, and the function.
pub type Helper = (&'static str, usize, NativeFunctionPointer);

/// The attributes of built-in methods: writable, configurable, not enumerable.
pub const HIDDEN: Attribute = Attribute::WRITABLE.union(Attribute::CONFIGURABLE);

/// Replaces methods of the engine by native helpers.
pub fn define<const N: usize>(methods: [(JsObject, Helper); N], context: &Context) {
    for (prototype, (name, length, function)) in methods {
        let function = FunctionObjectBuilder::new(context.realm(), NativeFunction::from_fn_ptr(function))
            .name(js_string!(name))
            .length(length)
            .build();
        prototype.insert_property(js_string!(name), hidden(function));
    }
}

/// A writable, configurable, non-enumerable property.
pub fn hidden(value: impl Into<JsValue>) -> PropertyDescriptor {
    PropertyDescriptor::builder().value(value).writable(true).enumerable(false).configurable(true).build()
}

/// Creates a `TypeError`.
pub fn type_error(message: impl Into<std::borrow::Cow<'static, str>>) -> JsError {
    JsNativeError::typ().with_message(message).into()
}
