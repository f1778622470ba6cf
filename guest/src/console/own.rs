//! Reads the stored properties of objects without running any code of the script.

use super::quote;
use boa_engine::{
    JsObject, JsValue,
    builtins::{proxy::Proxy, typed_array::TypedArray},
    js_string,
    property::{PropertyDescriptor, PropertyKey},
};

/// The name of the nearest constructor in an object's prototype chain.
pub fn constructor_name(object: &JsObject) -> Option<String> {
    let mut holder = Some(object.clone());
    for _ in 0..64 {
        let current = holder?;
        if current.is::<Proxy>() {
            return None;
        }
        let constructor = own_data(&current, "constructor").and_then(|constructor| constructor.as_object());
        let name = constructor.filter(JsObject::is_callable).filter(|constructor| !constructor.is::<Proxy>());
        if let Some(name) = quote::text_of(name.and_then(|constructor| own_data(&constructor, "name")))
            && !name.is_empty()
        {
            return Some(name);
        }
        holder = current.prototype();
    }
    None
}

/// An object's own property, as stored.
pub fn own_property(object: &JsObject, key: &PropertyKey) -> Option<PropertyDescriptor> {
    object.borrow().properties().get(key)
}

/// The value of an object's own data property.
pub fn own_data(object: &JsObject, name: &str) -> Option<JsValue> {
    own_property(object, &PropertyKey::from(js_string!(name)))?.value().cloned()
}

/// The keys that are shown: indices in order, then the other keys in insertion order. An array's indices are omitted:
/// they are its items.
pub fn enumerable_keys(object: &JsObject) -> Vec<PropertyKey> {
    if object.is::<Proxy>() {
        return Vec::new();
    }
    let mut keys = Vec::new();
    if !object.is_array() && !object.is::<TypedArray>() {
        keys.extend(present_indices(object).into_iter().map(|index| PropertyKey::from(index as u32)));
    }
    let object = object.borrow();
    let (symbols, names): (Vec<_>, Vec<_>) =
        object.shape().keys().into_iter().partition(|key| matches!(key, PropertyKey::Symbol(_)));
    keys.extend(names);
    keys.extend(symbols);
    keys.retain(|key| object.properties().get(key).is_some_and(|property| property.enumerable() == Some(true)));
    keys
}

/// The indices at which an object has properties, in order.
pub fn present_indices(object: &JsObject) -> Vec<usize> {
    let object = object.borrow();
    let mut indices: Vec<usize> = object.properties().index_property_keys().map(|index| index as usize).collect();
    indices.sort_unstable();
    indices
}

/// How many items an array has, holes included.
pub fn array_length(array: &JsObject) -> usize {
    own_data(array, "length").and_then(|length| length.as_number()).unwrap_or(0.0) as usize
}
