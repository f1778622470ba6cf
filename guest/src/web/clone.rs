//! `structuredClone`: a deep copy of a value, cycles included.
//!
//! The copy is made without recursion: each new object is created empty and put into a queue, from which it is filled
//! later. So a structure can be as deep as memory allows.

use super::{
    buffer::{View, array_buffer, is_detached},
    helper::{hidden, type_error},
    intrinsic::{dom_exception, to_string_tag},
    regexp::regexp_text,
};
use boa_engine::{
    Context, JsArgs, JsBigInt, JsError, JsNativeError, JsObject, JsResult, JsString, JsSymbol, JsValue, JsVariant,
    builtins::{
        date::Date, error::Error, map::ordered_map::OrderedMap, proxy::Proxy, set::ordered_set::OrderedSet,
        typed_array::TypedArrayKind,
    },
    js_string,
    object::builtins::{JsArrayBuffer, JsDataView, JsDate, JsMap, JsRegExp, JsSet},
    property::PropertyKey,
};
use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasherDefault, DefaultHasher},
};

/// Originals and their copies. The hash has no random seed, so that a copy costs the same in every execution.
type Copies = HashMap<JsObject, JsObject, BuildHasherDefault<DefaultHasher>>;

/// A new object that has not been filled from its original yet.
enum Unfilled {
    /// With its own enumerable properties.
    Properties,
    Map(Vec<(JsValue, JsValue)>),
    Set(Vec<JsValue>),
    Error,
}

struct Cloner<'a> {
    context: &'a mut Context,
    copies: Copies,
    unfilled: VecDeque<(JsObject, JsObject, Unfilled)>,
}

/// `structuredClone(value, {transfer})`
pub fn structured_clone(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let Some(value) = arguments.first() else { return Err(type_error("structuredClone needs a value")) };
    let transferred = transferred(arguments.get_or_undefined(1), context)?;
    let mut cloner = Cloner { context, copies: Copies::default(), unfilled: VecDeque::new() };
    let copy = cloner.value(value)?;
    cloner.fill()?;
    for buffer in transferred {
        buffer.detach(&JsValue::undefined())?;
    }
    Ok(copy)
}

/// The buffers in the `transfer` option.
fn transferred(options: &JsValue, context: &mut Context) -> JsResult<Vec<JsArrayBuffer>> {
    let Some(options) = options.as_object() else { return Ok(Vec::new()) };
    let list = options.get(js_string!("transfer"), context)?;
    let Some(list) = list.as_object() else { return Ok(Vec::new()) };
    let length = list.get(js_string!("length"), context)?.to_length(context)?;
    let mut buffers = Vec::new();
    for index in 0..length {
        let item = list.get(index, context)?;
        let buffer = item.as_object().and_then(|object| JsArrayBuffer::from_object(object).ok());
        match buffer.filter(|buffer| !is_detached(buffer)) {
            Some(buffer) => buffers.push(buffer),
            None => return Err(uncloneable("structuredClone can only transfer ArrayBuffers", context)),
        }
    }
    Ok(buffers)
}

fn uncloneable(message: &str, context: &mut Context) -> JsError {
    dom_exception("DataCloneError", message, context)
}

impl Cloner<'_> {
    fn value(&mut self, value: &JsValue) -> JsResult<JsValue> {
        match value.variant() {
            JsVariant::Object(object) => self.object(&object),
            JsVariant::Symbol(symbol) => {
                let symbol = symbol.descriptive_string().to_std_string_lossy();
                Err(uncloneable(&format!("structuredClone: {symbol} cannot be cloned"), self.context))
            }
            _ => Ok(value.clone()),
        }
    }

    fn object(&mut self, original: &JsObject) -> JsResult<JsValue> {
        if let Some(copy) = self.copies.get(original) {
            return Ok(copy.clone().into());
        }
        let (copy, unfilled) = self.empty(original)?;
        self.copies.insert(original.clone(), copy.clone());
        if let Some(unfilled) = unfilled {
            self.unfilled.push_back((original.clone(), copy.clone(), unfilled));
        }
        Ok(copy.into())
    }

    /// Creates an object of the same kind as the original. A second value means that it must be filled later.
    fn empty(&mut self, original: &JsObject) -> JsResult<(JsObject, Option<Unfilled>)> {
        let context = &mut *self.context;
        if original.is_callable() {
            return Err(uncloneable("structuredClone: a function cannot be cloned", context));
        }
        if original.is_array() {
            let length = original.get(js_string!("length"), context)?;
            let copy = context.intrinsics().constructors().array().constructor().construct(&[], None, context)?;
            copy.set(js_string!("length"), length, true, context)?;
            return Ok((copy, Some(Unfilled::Properties)));
        }
        if original.is_ordinary() {
            return Ok((JsObject::with_object_proto(context.intrinsics()), Some(Unfilled::Properties)));
        }
        if original.is::<Date>() {
            let time = JsDate::from_object(original.clone())?.get_time(context)?;
            let copy = JsDate::new(context);
            copy.set_time(time, context)?;
            return Ok((copy.into(), None));
        }
        if original.is::<Error>() {
            return Ok((self.empty_error(original)?, Some(Unfilled::Error)));
        }
        let entries = original
            .downcast_ref::<OrderedMap<JsValue>>()
            .map(|map| map.iter().map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>());
        if let Some(entries) = entries {
            return Ok((JsMap::new(context).into(), Some(Unfilled::Map(entries))));
        }
        let items = original.downcast_ref::<OrderedSet>().map(|set| set.iter().cloned().collect::<Vec<_>>());
        if let Some(items) = items {
            return Ok((JsSet::new(context).into(), Some(Unfilled::Set(items))));
        }
        if let Some((source, flags)) = regexp_text(original, context) {
            return Ok((JsRegExp::new(source, js_string!(flags), context)?.into(), None));
        }
        if let Some(primitive) = boxed(original) {
            return Ok((primitive.to_object(context)?, None));
        }
        if let Some(view) = View::of(&original.clone().into(), context)? {
            return Ok((self.view(original, &view)?, None));
        }
        let name = to_string_tag(original).map(|tag| tag.to_std_string_lossy());
        let name = match name {
            _ if original.is::<Proxy>() => "a Proxy".to_owned(),
            Some(name) => format!("a {name}"),
            None => "an object of this kind".to_owned(),
        };
        Err(uncloneable(&format!("structuredClone: {name} cannot be cloned"), context))
    }

    fn view(&mut self, original: &JsObject, view: &View) -> JsResult<JsObject> {
        let context = &mut *self.context;
        if JsObject::equals(&view.buffer, original) {
            let buffer = JsArrayBuffer::from_object(original.clone());
            if buffer.is_ok_and(|buffer| is_detached(&buffer)) {
                return Err(uncloneable("structuredClone: a detached ArrayBuffer cannot be cloned", context));
            }
            return Ok(view.read(|bytes| array_buffer(bytes, context))?.into());
        }
        let buffer = self.object(&view.buffer)?;
        let context = &mut *self.context;
        let Some(kind) = view.kind else {
            let buffer = JsArrayBuffer::from_object(buffer.to_object(context)?)?;
            let view =
                JsDataView::from_js_array_buffer(buffer, Some(view.offset as u64), Some(view.length as u64), context)?;
            return Ok(view.into());
        };
        let constructors = context.intrinsics().constructors();
        let (constructor, element_bytes) = match kind {
            TypedArrayKind::Int8 => (constructors.typed_int8_array(), 1),
            TypedArrayKind::Uint8 => (constructors.typed_uint8_array(), 1),
            TypedArrayKind::Uint8Clamped => (constructors.typed_uint8clamped_array(), 1),
            TypedArrayKind::Int16 => (constructors.typed_int16_array(), 2),
            TypedArrayKind::Uint16 => (constructors.typed_uint16_array(), 2),
            TypedArrayKind::Int32 => (constructors.typed_int32_array(), 4),
            TypedArrayKind::Uint32 => (constructors.typed_uint32_array(), 4),
            TypedArrayKind::BigInt64 => (constructors.typed_bigint64_array(), 8),
            TypedArrayKind::BigUint64 => (constructors.typed_biguint64_array(), 8),
            TypedArrayKind::Float16 => (constructors.typed_float16_array(), 2),
            TypedArrayKind::Float32 => (constructors.typed_float32_array(), 4),
            TypedArrayKind::Float64 => (constructors.typed_float64_array(), 8),
        };
        let length = view.length / element_bytes;
        constructor.constructor().construct(&[buffer, view.offset.into(), length.into()], None, context)
    }

    /// Creates an error of the same standard kind; any other kind becomes `Error`.
    fn empty_error(&mut self, original: &JsObject) -> JsResult<JsObject> {
        let context = &mut *self.context;
        let name = original.get(js_string!("name"), context)?;
        let name =
            if name.is_undefined() { "Error".to_owned() } else { name.to_string(context)?.to_std_string_lossy() };
        let error = match name.as_str() {
            "EvalError" => JsNativeError::eval(),
            "RangeError" => JsNativeError::range(),
            "ReferenceError" => JsNativeError::reference(),
            "SyntaxError" => JsNativeError::syntax(),
            "TypeError" => JsNativeError::typ(),
            "URIError" => JsNativeError::uri(),
            _ => JsNativeError::error(),
        };
        let copy = error.into_opaque(context);
        copy.delete_property_or_throw(js_string!("message"), context)?;
        Ok(copy)
    }

    fn fill(&mut self) -> JsResult<()> {
        while let Some((original, copy, unfilled)) = self.unfilled.pop_front() {
            match unfilled {
                Unfilled::Properties => self.fill_properties(&original, &copy)?,
                Unfilled::Map(entries) => {
                    let map = JsMap::from_object(copy)?;
                    for (key, value) in entries {
                        let (key, value) = (self.value(&key)?, self.value(&value)?);
                        map.set(key, value, self.context)?;
                    }
                }
                Unfilled::Set(items) => {
                    let set = JsSet::from_object(copy).map_err(|_| type_error("not a Set"))?;
                    for item in items {
                        let item = self.value(&item)?;
                        set.add(item, self.context)?;
                    }
                }
                Unfilled::Error => self.fill_error(&original, &copy)?,
            }
        }
        Ok(())
    }

    fn fill_properties(&mut self, original: &JsObject, copy: &JsObject) -> JsResult<()> {
        for key in original.own_property_keys(self.context)? {
            // An earlier getter may have deleted the property or made it non-enumerable.
            let property = original.borrow().properties().get(&key);
            let enumerable = property.is_some_and(|property| property.enumerable() == Some(true));
            if matches!(key, PropertyKey::Symbol(_)) || !enumerable {
                continue;
            }
            let value = original.get(key.clone(), self.context)?;
            let value = self.value(&value)?;
            copy.create_data_property_or_throw(key, value, self.context)?;
        }
        Ok(())
    }

    fn fill_error(&mut self, original: &JsObject, copy: &JsObject) -> JsResult<()> {
        for key in ["message", "stack", "cause"] {
            let key = js_string!(key);
            let is_own = original.has_own_property(key.clone(), self.context)?;
            if !is_own && key != js_string!("stack") {
                continue;
            }
            let value = original.get(key.clone(), self.context)?;
            let value = if key == js_string!("cause") {
                self.value(&value)?
            } else if value.is_undefined() {
                continue;
            } else {
                value.to_string(self.context)?.into()
            };
            copy.insert_property(key, hidden(value));
        }
        Ok(())
    }
}

/// The primitive value in a wrapper object, such as `new Number(…)`.
fn boxed(object: &JsObject) -> Option<JsValue> {
    if let Some(text) = object.downcast_ref::<JsString>() {
        return Some(text.clone().into());
    }
    if let Some(number) = object.downcast_ref::<f64>() {
        return Some((*number).into());
    }
    if let Some(truth) = object.downcast_ref::<bool>() {
        return Some((*truth).into());
    }
    if object.is::<JsSymbol>() {
        return None;
    }
    object.downcast_ref::<JsBigInt>().map(|number| JsValue::from(number.clone()))
}
