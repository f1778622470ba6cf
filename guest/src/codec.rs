//! Converts the engine's values to and from the bytes of the value codec, without an intermediate representation.

mod buffer;

use crate::web;
use boa_engine::{
    Context, JsError, JsNativeError, JsObject, JsResult, JsString, JsValue, JsVariant,
    builtins::{date::Date, error::Error, proxy::Proxy},
    js_string,
    object::builtins::{JsArray, JsDate, JsMap, JsPromise, JsSet},
    property::{PropertyDescriptor, PropertyKey},
    string::{JsStr, JsStrVariant},
};
use codemode_spec::{
    limits::{CODEC_KEYS_MAX, VALUE_DEPTH_MAX},
    manifest::HANDLE_PROPERTY,
    value::{DecodeError, Key, RawText, Reader, Token, Writer},
};

/// Why a value cannot cross the boundary.
pub enum Refusal {
    /// A part of the value cannot be represented outside the engine.
    Unserialisable {
        /// The property accesses that lead to the part, the innermost first.
        path: Vec<String>,
        /// A description of the part.
        what: String,
    },
    /// The encoded value would be larger than the bound.
    TooLarge,
    /// Reading the value threw: a getter, a proxy's trap or a `toJSON`.
    Threw(JsError),
}

impl Refusal {
    fn new(what: impl Into<String>) -> Self {
        Self::Unserialisable { path: Vec::new(), what: what.into() }
    }

    fn at(mut self, segment: impl FnOnce() -> String) -> Self {
        if let Self::Unserialisable { path, .. } = &mut self {
            path.push(segment());
        }
        self
    }

    /// The path as a JavaScript expression, as `result.items[3]`.
    pub fn path_text(root: &str, path: &[String]) -> String {
        path.iter().rev().fold(root.to_owned(), |text, segment| text + segment)
    }
}

impl From<JsError> for Refusal {
    fn from(error: JsError) -> Self {
        Self::Threw(error)
    }
}

/// Encodes a value into at most `bytes_max` bytes.
pub fn encode(value: &JsValue, bytes_max: usize, context: &mut Context) -> Result<Vec<u8>, Refusal> {
    let (writer, ancestors) = (Writer::default(), Vec::new());
    let mut encoder = Encoder { writer, bytes_max, ancestors, takes_handles: true, context };
    encoder.value(value)?;
    Ok(encoder.writer.finish())
}

/// Encodes the arguments of a call as an array. Handles are refused, see [`HANDLE_PROPERTY`].
pub fn encode_arguments(arguments: &[JsValue], bytes_max: usize, context: &mut Context) -> Result<Vec<u8>, Refusal> {
    let (writer, ancestors) = (Writer::default(), Vec::new());
    let mut encoder = Encoder { writer, bytes_max, ancestors, takes_handles: false, context };
    encoder.writer.array(arguments.len());
    for (place, argument) in arguments.iter().enumerate() {
        encoder.value(argument).map_err(|refusal| refusal.at(|| format!("argument {}", place + 1)))?;
    }
    Ok(encoder.writer.finish())
}

struct Encoder<'a> {
    writer: Writer,
    bytes_max: usize,
    /// The objects that contain the current value, the outermost first.
    ancestors: Vec<JsObject>,
    /// Whether handles are encoded, as the value that their `toJSON` returns.
    takes_handles: bool,
    context: &'a mut Context,
}

impl Encoder<'_> {
    fn value(&mut self, value: &JsValue) -> Result<(), Refusal> {
        match value.variant() {
            JsVariant::Undefined => self.writer.undefined(),
            JsVariant::Null => self.writer.null(),
            JsVariant::Boolean(value) => self.writer.bool(value),
            JsVariant::Integer32(number) => self.writer.number(f64::from(number)),
            JsVariant::Float64(number) => self.writer.number(number),
            JsVariant::BigInt(number) => {
                let digits = number.to_string();
                self.room(digits.len())?;
                self.writer.bigint(&digits);
            }
            JsVariant::String(text) => self.string(&text)?,
            JsVariant::Symbol(_) => return Err(Refusal::new("a symbol")),
            JsVariant::Object(object) => return self.object(&object),
        }
        self.room(0)
    }

    /// Checks that the bytes fit. Called before they are copied, so that the bound is never exceeded.
    fn room(&self, bytes: usize) -> Result<(), Refusal> {
        if self.writer.len() + bytes > self.bytes_max { Err(Refusal::TooLarge) } else { Ok(()) }
    }

    fn string(&mut self, text: &JsString) -> Result<(), Refusal> {
        match text.as_str().variant() {
            JsStrVariant::Latin1(bytes) => {
                self.room(bytes.len())?;
                self.writer.latin1(bytes);
            }
            JsStrVariant::Utf16(units) => {
                self.room(units.len() * 2)?;
                self.writer.utf16(units.iter().copied());
            }
        }
        Ok(())
    }

    fn object(&mut self, object: &JsObject) -> Result<(), Refusal> {
        if self.ancestors.iter().any(|ancestor| JsObject::equals(ancestor, object)) {
            return Err(Refusal::new("a cycle: the object contains itself"));
        }
        if self.ancestors.len() >= VALUE_DEPTH_MAX {
            return Err(Refusal::new(format!("nesting deeper than {VALUE_DEPTH_MAX} levels")));
        }
        self.ancestors.push(object.clone());
        self.content(object)?;
        self.ancestors.pop();
        self.room(0)
    }

    fn content(&mut self, object: &JsObject) -> Result<(), Refusal> {
        if object.is_callable() {
            return Err(Refusal::new("a function"));
        }
        if object.is_array() || (object.is::<Proxy>() && web::is_array(object, self.context)?) {
            return self.array(object);
        }
        if object.is_ordinary() {
            return self.plain(object);
        }
        if object.is::<Date>() {
            let ms = JsDate::from_object(object.clone())?.get_time(self.context)?;
            self.writer.date(ms.as_number().unwrap_or(f64::NAN));
            return Ok(());
        }
        if object.is::<Error>() {
            return self.error(object);
        }
        if let Ok(map) = JsMap::from_object(object.clone()) {
            return self.map(&map);
        }
        if let Ok(set) = JsSet::from_object(object.clone()) {
            return self.set(&set);
        }
        if let Some(view) = web::View::of(&object.clone().into(), self.context)? {
            self.room(view.length)?;
            let kind = buffer::kind_of(object, &view);
            view.read(|bytes| self.writer.bytes(kind, bytes));
            return Ok(());
        }
        if JsPromise::from_object(object.clone()).is_ok() {
            return Err(Refusal::new("a promise that was not awaited"));
        }
        self.plain(object)
    }

    fn array(&mut self, object: &JsObject) -> Result<(), Refusal> {
        let length = object.get(js_string!("length"), self.context)?.as_number().unwrap_or(0.0) as usize;
        // A hole is encoded as one byte, so this check also bounds sparse arrays.
        self.room(length)?;
        self.writer.array(length);
        for index in 0..length {
            let item = object.get(index as u32, self.context)?;
            self.value(&item).map_err(|refusal| refusal.at(|| format!("[{index}]")))?;
        }
        Ok(())
    }

    fn map(&mut self, map: &JsMap) -> Result<(), Refusal> {
        let mut entries = Vec::new();
        map.for_each_native(|key, value| {
            entries.push((key, value));
            Ok(())
        })?;
        self.room(entries.len())?;
        self.writer.map(entries.len());
        for (index, (key, value)) in entries.iter().enumerate() {
            self.value(key).map_err(|refusal| refusal.at(|| format!(".keys()[{index}]")))?;
            self.value(value).map_err(|refusal| refusal.at(|| format!(".values()[{index}]")))?;
        }
        Ok(())
    }

    fn set(&mut self, set: &JsSet) -> Result<(), Refusal> {
        let mut items = Vec::new();
        set.for_each_native(|item| {
            items.push(item);
            Ok(())
        })?;
        self.room(items.len())?;
        self.writer.set(items.len());
        for (index, item) in items.iter().enumerate() {
            self.value(item).map_err(|refusal| refusal.at(|| format!(".values()[{index}]")))?;
        }
        Ok(())
    }

    fn error(&mut self, error: &JsObject) -> Result<(), Refusal> {
        let has_cause = error.has_own_property(js_string!("cause"), self.context)?;
        self.writer.error(has_cause);
        for key in [js_string!("name"), js_string!("message"), js_string!("stack")] {
            let value = error.get(key, self.context)?;
            match value.as_string() {
                Some(text) => self.string(&text)?,
                None => self.writer.latin1(b""),
            }
        }
        if has_cause {
            let cause = error.get(js_string!("cause"), self.context)?;
            self.value(&cause).map_err(|refusal| refusal.at(|| ".cause".to_owned()))?;
        }
        Ok(())
    }

    /// Encodes the own enumerable properties with string keys. An object with a `toJSON` is encoded as the value that
    /// it returns, as in `JSON.stringify`.
    fn plain(&mut self, object: &JsObject) -> Result<(), Refusal> {
        let to_json = object.get(js_string!("toJSON"), self.context)?;
        if let Some(to_json) = to_json.as_callable() {
            self.refuse_handle(object)?;
            let value = to_json.call(&object.clone().into(), &[js_string!("").into()], self.context)?;
            return self.value(&value);
        }
        let mut entries = Vec::new();
        for key in object.own_property_keys(self.context)? {
            if matches!(key, PropertyKey::Symbol(_)) || !self.is_enumerable(object, &key)? {
                continue;
            }
            let value = object.get(key.clone(), self.context)?;
            entries.push((key, value));
        }
        self.writer.object(entries.len());
        for (key, value) in &entries {
            let name = key_string(key);
            self.string(&name)?;
            self.value(value).map_err(|refusal| refusal.at(|| segment(&name)))?;
        }
        Ok(())
    }

    /// Refuses a handle in an argument, where its `toJSON` text would be taken for the argument itself.
    fn refuse_handle(&mut self, object: &JsObject) -> Result<(), Refusal> {
        if self.takes_handles {
            return Ok(());
        }
        match object.get(js_string!(HANDLE_PROPERTY), self.context)?.as_string() {
            Some(what) => Err(Refusal::new(what.to_std_string_lossy())),
            None => Ok(()),
        }
    }

    fn is_enumerable(&mut self, object: &JsObject, key: &PropertyKey) -> Result<bool, Refusal> {
        if object.is_ordinary() {
            let own = object.borrow().properties().get(key);
            return Ok(own.is_some_and(|property| property.enumerable() == Some(true)));
        }
        // For a proxy or another exotic object, its internal methods decide.
        Ok(web::property_is_enumerable(object, key_string(key), self.context)?)
    }
}

fn key_string(key: &PropertyKey) -> JsString {
    match key {
        PropertyKey::String(text) => text.clone(),
        PropertyKey::Index(index) => js_string!(index.get().to_string()),
        PropertyKey::Symbol(_) => js_string!(),
    }
}

fn segment(key: &JsString) -> String {
    let text = key.to_std_string_lossy();
    if codemode_spec::manifest::is_identifier(&text) { format!(".{text}") } else { format!("[{text:?}]") }
}

/// Decodes a value. The bytes come from the host, which is trusted: malformed bytes are a defect of the host.
pub fn decode(bytes: &[u8], context: &mut Context) -> JsResult<JsValue> {
    let mut decoder = Decoder { reader: Reader::new(bytes), keys: Vec::new(), context };
    decoder.value()
}

struct Decoder<'a> {
    reader: Reader<'a>,
    keys: Vec<PropertyKey>,
    context: &'a mut Context,
}

impl Decoder<'_> {
    fn value(&mut self) -> JsResult<JsValue> {
        Ok(match self.reader.token().map_err(broken)? {
            Token::Undefined => JsValue::undefined(),
            Token::Null => JsValue::null(),
            Token::Bool(value) => value.into(),
            Token::Number(number) => number.into(),
            Token::BigInt(digits) => {
                let digits = JsValue::from(js_string!(digits));
                digits.to_bigint(self.context)?.into()
            }
            Token::String(raw) => string(raw).into(),
            Token::Date(ms) => self.date(ms)?,
            Token::Bytes(kind, bytes) => buffer::of_kind(kind, bytes, self.context)?,
            Token::Map(count) => {
                let map = JsMap::new(self.context);
                for _ in 0..count {
                    let (key, value) = (self.value()?, self.value()?);
                    map.set(key, value, self.context)?;
                }
                map.into()
            }
            Token::Set(count) => {
                let set = JsSet::new(self.context);
                for _ in 0..count {
                    let item = self.value()?;
                    set.add(item, self.context)?;
                }
                set.into()
            }
            Token::Error { has_cause } => self.error(has_cause)?,
            Token::Array(count) => {
                let mut items = Vec::with_capacity(count);
                for _ in 0..count {
                    items.push(self.value()?);
                }
                JsArray::from_iter(items, self.context).into()
            }
            Token::Object(count) => {
                let object = JsObject::with_object_proto(self.context.intrinsics());
                for _ in 0..count {
                    let key = self.key()?;
                    let value = self.value()?;
                    object.insert_property(key, data_property(value));
                }
                object.into()
            }
        })
    }

    fn key(&mut self) -> JsResult<PropertyKey> {
        match self.reader.key().map_err(broken)? {
            Key::New(raw) => {
                let key = PropertyKey::from(string(raw));
                if self.keys.len() < CODEC_KEYS_MAX {
                    self.keys.push(key.clone());
                }
                Ok(key)
            }
            Key::Seen(index) => self.keys.get(index).cloned().ok_or_else(|| broken(DecodeError::UNKNOWN_KEY)),
        }
    }

    fn date(&mut self, ms: f64) -> JsResult<JsValue> {
        let date = JsDate::new(self.context);
        date.set_time(ms, self.context)?;
        Ok(date.into())
    }

    fn error(&mut self, has_cause: bool) -> JsResult<JsValue> {
        let name = string(self.reader.string().map_err(broken)?);
        let message = string(self.reader.string().map_err(broken)?);
        let stack = string(self.reader.string().map_err(broken)?);
        let error = JsNativeError::error().with_message(message.to_std_string_lossy()).into_opaque(self.context);
        error.insert_property(js_string!("name"), hidden_property(name));
        error.insert_property(js_string!("stack"), hidden_property(stack));
        if has_cause {
            let cause = self.value()?;
            error.insert_property(js_string!("cause"), hidden_property(cause));
        }
        Ok(error.into())
    }
}

fn string(raw: RawText<'_>) -> JsString {
    match raw {
        RawText::Latin1(bytes) => JsString::from(JsStr::latin1(bytes)),
        RawText::Utf8(text) => JsString::from(text),
        RawText::Utf16(bytes) => {
            let units: Vec<u16> = RawText::units(bytes).collect();
            JsString::from(units.as_slice())
        }
    }
}

/// A property as an assignment creates it.
pub fn data_property(value: impl Into<JsValue>) -> PropertyDescriptor {
    PropertyDescriptor::builder().value(value).writable(true).enumerable(true).configurable(true).build()
}

/// A property that enumeration does not show.
pub fn hidden_property(value: impl Into<JsValue>) -> PropertyDescriptor {
    PropertyDescriptor::builder().value(value).writable(true).enumerable(false).configurable(true).build()
}

fn broken(error: DecodeError) -> JsError {
    JsNativeError::typ().with_message(error.to_string()).into()
}
