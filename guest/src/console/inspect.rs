//! Formats one value as text, as Node's `util.inspect` does.

use super::{
    layout::{Columns, Frame, lay_out},
    own::{array_length, constructor_name, enumerable_keys, own_data, own_property, present_indices},
    quote,
};
use crate::{stack::is_script_frame, web};
use boa_engine::{
    Context, JsBigInt, JsObject, JsString, JsSymbol, JsValue, JsVariant,
    builtins::{
        array_buffer::{ArrayBuffer, SharedArrayBuffer},
        dataview::DataView,
        date::Date,
        error::Error,
        function::OrdinaryFunction,
        map::ordered_map::OrderedMap,
        promise::{Promise, PromiseState},
        proxy::Proxy,
        set::ordered_set::OrderedSet,
    },
    js_string,
    object::builtins::{JsDate, JsPromise, JsTypedArray},
    property::{PropertyDescriptor, PropertyKey},
};

/// Objects nested deeper than this are shown by their name only.
const DEPTH_MAX: usize = 4;
/// Items shown of an array, a typed array, a map or a set; the others are counted.
const ITEMS_MAX: usize = 100;
/// Bytes shown of a buffer.
const BYTES_MAX: usize = 50;
/// Frames shown of a stack trace.
const FRAMES_MAX: usize = 10;

/// Formats a value recursively until its room is used up.
pub struct Inspector<'a> {
    pub context: &'a mut Context,
    /// Bytes that may still be written.
    room: usize,
    depth_max: usize,
    /// The objects that contain the current value, the outermost first.
    ancestors: Vec<JsObject>,
    /// The objects that contain themselves, in the order of their reference numbers.
    circular: Vec<JsObject>,
    /// The depth of the most recently started object.
    last_depth: usize,
    indentation: usize,
}

/// The parts of an object's text, before layout.
#[derive(Default)]
struct Draft {
    base: String,
    open: String,
    close: &'static str,
    entries: Vec<String>,
    left_out: Option<String>,
    /// How array items are laid out in columns.
    columns: Option<Columns>,
    /// Whether `base`, or the empty brackets, are the whole text of an object without further properties.
    is_complete_without_entries: bool,
}

impl<'a> Inspector<'a> {
    /// Creates an inspector that writes about `room` bytes.
    pub fn new(room: usize, context: &'a mut Context) -> Self {
        Self {
            context,
            room,
            depth_max: DEPTH_MAX,
            ancestors: Vec::new(),
            circular: Vec::new(),
            last_depth: 0,
            indentation: 0,
        }
    }

    /// Sets the bound on the depth.
    pub fn with_depth_max(mut self, depth_max: usize) -> Self {
        self.depth_max = depth_max;
        self
    }

    /// Formats a value; strings are quoted.
    pub fn value(&mut self, value: &JsValue) -> String {
        let text = match value.variant() {
            JsVariant::Undefined => "undefined".to_owned(),
            JsVariant::Null => "null".to_owned(),
            JsVariant::Boolean(value) => value.to_string(),
            JsVariant::Integer32(number) => number.to_string(),
            JsVariant::Float64(number) => quote::number(number),
            JsVariant::BigInt(number) => self.bigint(&number),
            JsVariant::Symbol(symbol) => symbol.descriptive_string().to_std_string_lossy(),
            JsVariant::String(text) => self.string(&text),
            JsVariant::Object(object) => return self.object(&object),
        };
        self.spend(text)
    }

    fn is_full(&self) -> bool {
        self.room == 0
    }

    fn spend(&mut self, text: String) -> String {
        // Every entry also counts its separator, or any number of empty entries would be written.
        self.room = self.room.saturating_sub(text.len() + 2);
        text
    }

    fn bigint(&self, number: &JsBigInt) -> String {
        // Formatting a bigint takes time quadratic in its length.
        if number.as_inner().bits() > 8 * self.room.max(64) as u64 {
            "[BigInt]".to_owned()
        } else {
            format!("{number}n")
        }
    }

    fn string(&mut self, text: &JsString) -> String {
        let shown = quote::units_kept(text, self.room.max(16));
        let units = || text.as_str().iter().take(shown);
        let rest = match text.len() - shown {
            0 => String::new(),
            rest => quote::more_characters(rest),
        };
        // A long text with line breaks is written as several lines.
        let line_break = u16::from(b'\n');
        let breaks = units().take(shown.saturating_sub(1)).any(|unit| unit == line_break);
        if shown <= 16 || shown + self.indentation + 4 <= 80 || !breaks {
            return quote::quoted(units()) + &rest;
        }
        let units: Vec<u16> = units().collect();
        let lines = units.split_inclusive(|unit| *unit == line_break);
        let lines: Vec<String> = lines.map(|line| quote::quoted(line.iter().copied())).collect();
        lines.join(&format!(" +\n{}", " ".repeat(self.indentation + 2))) + &rest
    }

    fn object(&mut self, object: &JsObject) -> String {
        if self.is_full() {
            return "…".to_owned();
        }
        if object.is::<Proxy>() {
            let text = if object.is_callable() { "[Function (Proxy)]" } else { "Proxy {}" };
            return self.spend(text.to_owned());
        }
        if self.ancestors.iter().any(|ancestor| JsObject::equals(ancestor, object)) {
            let number = self.circular_number(object);
            return self.spend(format!("[Circular *{number}]"));
        }
        let depth = self.ancestors.len();
        let name = constructor_name(object);
        let mut keys = enumerable_keys(object);
        let mut draft = self.draft(object, name.as_deref(), &mut keys);
        let is_empty = keys.is_empty() && draft.is_complete_without_entries;
        if is_empty {
            let text = if draft.base.is_empty() { draft.open + draft.close } else { draft.base };
            return self.spend(text);
        }
        if depth > self.depth_max {
            let name = match (name, object.is_array()) {
                (_, true) => "Array".to_owned(),
                (Some(name), false) => name,
                (None, false) => "Object: null prototype".to_owned(),
            };
            return self.spend(format!("[{name}]"));
        }
        let opening = draft.base.len() + draft.open.len();
        self.room = self.room.saturating_sub(opening + 2);
        self.ancestors.push(object.clone());
        self.last_depth = depth;
        self.indentation += 2;
        self.entries(object, &mut draft);
        self.properties(object, &keys, &mut draft);
        self.indentation -= 2;
        self.ancestors.pop();
        if let Some(number) = self.circular.iter().position(|circular| JsObject::equals(circular, object)) {
            let reference = format!("<ref *{}>", number + 1);
            draft.base = if draft.base.is_empty() { reference } else { format!("{reference} {}", draft.base) };
        }
        let frame = Frame {
            base: &draft.base,
            open: &draft.open,
            close: draft.close,
            indentation: self.indentation,
            levels: self.last_depth.saturating_sub(depth),
        };
        lay_out(&frame, draft.entries, draft.left_out, draft.columns.unwrap_or(Columns::None))
    }

    /// The reference number of an object that contains itself.
    fn circular_number(&mut self, object: &JsObject) -> usize {
        match self.circular.iter().position(|circular| JsObject::equals(circular, object)) {
            Some(index) => index + 1,
            None => {
                self.circular.push(object.clone());
                self.circular.len()
            }
        }
    }

    /// The text around the entries. Removes keys that the base already shows, and adds non-enumerable ones to be shown.
    fn draft(&mut self, object: &JsObject, name: Option<&str>, keys: &mut Vec<PropertyKey>) -> Draft {
        // A tag that is shown as a property is not repeated in the prefix.
        let tag_key = PropertyKey::from(JsSymbol::to_string_tag());
        let tag = web::to_string_tag(object).filter(|_| !keys.contains(&tag_key));
        let tag = tag.map(|tag| quote::beginning(&tag, 128).0).unwrap_or_default();
        let sized = |fallback: &str, size: usize| prefix(name, &tag, fallback, &format!("({size})"));
        let braces = |open: String, is_empty: bool| Draft {
            open: open + "{",
            close: "}",
            is_complete_without_entries: is_empty,
            ..Draft::default()
        };
        let brackets = |open: String, is_empty: bool| Draft {
            open: open + "[",
            close: "]",
            is_complete_without_entries: is_empty,
            columns: Some(Columns::Left),
            ..Draft::default()
        };
        let based = |base: String| Draft { base, ..braces(String::new(), true) };

        if object.is_array() {
            let length = array_length(object);
            let open = if name == Some("Array") && tag.is_empty() { String::new() } else { sized("Array", length) };
            return brackets(open, length == 0);
        }
        if object.is_callable() {
            return based(Self::function(object, name, &tag));
        }
        if object.is::<Error>() {
            return based(self.error(object, name, keys));
        }
        if let Some((source, flags)) = web::regexp_text(object, self.context) {
            let (source, rest) = quote::beginning(&source, self.room.max(16));
            let rest = if rest == 0 { String::new() } else { quote::more_characters(rest) };
            return based(format!("/{source}/{flags}{rest}"));
        }
        if object.is::<Date>() {
            return based(self.date(object));
        }
        if let Some(base) = self.boxed(object, keys) {
            return based(base);
        }
        if let Some(map) = object.downcast_ref::<OrderedMap<JsValue>>() {
            return braces(sized("Map", map.len()), map.is_empty());
        }
        if let Some(set) = object.downcast_ref::<OrderedSet>() {
            return braces(sized("Set", set.len()), set.is_empty());
        }
        if let Ok(array) = JsTypedArray::from_object(object.clone()) {
            let length = array.length(self.context).unwrap_or(0);
            return brackets(prefix(name, "", "TypedArray", &format!("({length})")), length == 0);
        }
        let is_filled = object.is::<ArrayBuffer>()
            || object.is::<SharedArrayBuffer>()
            || object.is::<DataView>()
            || object.is::<Promise>()
            || object.is::<web::Url>();
        let params = object.downcast_ref::<web::SearchParams>().map(|params| params.pairs().is_empty());
        if is_filled || params.is_some() {
            return braces(prefix(name, "", "Object", ""), params.unwrap_or(false));
        }
        if name == Some("Object") && tag.is_empty() {
            return braces(String::new(), true);
        }
        let mut draft = braces(prefix(name, &tag, "Object", ""), true);
        if matches!(tag.as_str(), "WeakMap" | "WeakSet") {
            draft.entries.push("<items unknown>".to_owned());
            draft.is_complete_without_entries = false;
        }
        draft
    }

    /// Formats the contents of an object other than its properties.
    fn entries(&mut self, object: &JsObject, draft: &mut Draft) {
        if object.is_array() {
            self.array_items(object, draft);
        } else if object.is::<OrderedMap<JsValue>>() {
            self.map_entries(object, draft);
        } else if object.is::<OrderedSet>() {
            self.set_items(object, draft);
        } else if let Ok(array) = JsTypedArray::from_object(object.clone()) {
            self.typed_items(&array, draft);
        } else if object.is::<ArrayBuffer>() || object.is::<SharedArrayBuffer>() {
            self.buffer_bytes(object, draft);
        } else if object.is::<DataView>() {
            self.data_view(object, draft);
        } else if let Ok(promise) = JsPromise::from_object(object.clone()) {
            let entry = match promise.state() {
                PromiseState::Pending => "<pending>".to_owned(),
                PromiseState::Fulfilled(value) => self.value(&value),
                PromiseState::Rejected(reason) => format!("<rejected> {}", self.value(&reason)),
            };
            draft.entries.push(entry);
        } else {
            self.platform_object(object, draft);
        }
    }

    fn platform_object(&mut self, object: &JsObject, draft: &mut Draft) {
        let href = object.downcast_ref::<web::Url>().map(|url| js_string!(url.href()));
        if let Some(href) = href {
            draft.entries.push(format!("href: {}", self.value(&href.into())));
        }
        let pairs = object.downcast_ref::<web::SearchParams>().map(|params| {
            let pairs = params.pairs().iter().take(ITEMS_MAX);
            let pairs: Vec<_> = pairs.map(|(name, value)| (js_string!(&**name), js_string!(&**value))).collect();
            (pairs, params.pairs().len())
        });
        let Some((pairs, count)) = pairs else { return };
        for (name, value) in pairs {
            if self.is_full() {
                break;
            }
            draft.entries.push(format!("{} => {}", self.value(&name.into()), self.value(&value.into())));
        }
        draft.left_out = more_items(count - draft.entries.len());
    }

    fn array_items(&mut self, object: &JsObject, draft: &mut Draft) {
        let length = array_length(object);
        let present = present_indices(object);
        let mut all_numbers = true;
        let mut next = 0;
        for index in present {
            if draft.entries.len() >= ITEMS_MAX || self.is_full() {
                break;
            }
            if index > next {
                all_numbers = false;
                draft.entries.push(empty_items(index - next));
                next = index;
                if draft.entries.len() >= ITEMS_MAX {
                    break;
                }
            }
            let Some(property) = own_property(object, &PropertyKey::from(index as u32)) else { continue };
            all_numbers &= property.value().is_some_and(|value| value.is_number() || value.is_bigint());
            let entry = self.property_value(&property);
            draft.entries.push(entry);
            next = index + 1;
        }
        let is_cut = draft.entries.len() >= ITEMS_MAX || self.is_full();
        if next < length && !is_cut {
            all_numbers = false;
            draft.entries.push(empty_items(length - next));
            next = length;
        }
        draft.left_out = more_items(length - next);
        draft.columns = Some(if all_numbers { Columns::Right } else { Columns::Left });
    }

    fn map_entries(&mut self, object: &JsObject, draft: &mut Draft) {
        let (entries, count) = match object.downcast_ref::<OrderedMap<JsValue>>() {
            Some(map) => {
                let entries = map.iter().take(ITEMS_MAX).map(|(key, value)| (key.clone(), value.clone()));
                (entries.collect::<Vec<_>>(), map.len())
            }
            None => return,
        };
        for (key, value) in entries {
            if self.is_full() {
                break;
            }
            draft.entries.push(format!("{} => {}", self.value(&key), self.value(&value)));
        }
        draft.left_out = more_items(count - draft.entries.len());
    }

    fn set_items(&mut self, object: &JsObject, draft: &mut Draft) {
        let (items, count) = match object.downcast_ref::<OrderedSet>() {
            Some(set) => (set.iter().take(ITEMS_MAX).cloned().collect::<Vec<_>>(), set.len()),
            None => return,
        };
        for item in items {
            if self.is_full() {
                break;
            }
            let entry = self.value(&item);
            draft.entries.push(entry);
        }
        draft.left_out = more_items(count - draft.entries.len());
    }

    fn typed_items(&mut self, array: &JsTypedArray, draft: &mut Draft) {
        let length = array.length(self.context).unwrap_or(0);
        for index in 0..length.min(ITEMS_MAX) {
            let Ok(item) = array.at(index as i64, self.context) else { break };
            let entry = self.value(&item);
            draft.entries.push(entry);
        }
        draft.left_out = more_items(length - draft.entries.len());
        draft.columns = Some(Columns::Right);
    }

    fn buffer_bytes(&mut self, object: &JsObject, draft: &mut Draft) {
        let Ok(Some(view)) = web::View::of(&object.clone().into(), self.context) else { return };
        let (shown, length) = view.read(|bytes| {
            let shown = bytes.iter().take(BYTES_MAX).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>();
            (shown.join(" "), bytes.len())
        });
        let rest = length.saturating_sub(BYTES_MAX);
        let rest = if rest == 0 { String::new() } else { format!(" ... {rest} more byte{}", plural(rest)) };
        let contents = self.spend(format!("[Uint8Contents]: <{shown}{rest}>"));
        draft.entries.extend([contents, format!("byteLength: {length}")]);
    }

    fn data_view(&mut self, object: &JsObject, draft: &mut Draft) {
        let Ok(Some(view)) = web::View::of(&object.clone().into(), self.context) else { return };
        draft.entries.push(format!("byteLength: {}", view.length));
        draft.entries.push(format!("byteOffset: {}", view.offset));
        let buffer = self.value(&view.buffer.into());
        draft.entries.push(format!("buffer: {buffer}"));
    }

    fn properties(&mut self, object: &JsObject, keys: &[PropertyKey], draft: &mut Draft) {
        for (index, key) in keys.iter().enumerate() {
            if self.is_full() {
                let rest = keys.len() - index;
                let noun = if rest == 1 { "property" } else { "properties" };
                draft.entries.push(format!("... {rest} more {noun}"));
                return;
            }
            let Some(property) = own_property(object, key) else { continue };
            let value = self.property_value(&property);
            let name = match quote::key(key) {
                name if property.enumerable() == Some(true) => name,
                name => format!("[{name}]"),
            };
            let name = self.spend(name);
            draft.entries.push(format!("{name}: {value}"));
        }
    }

    fn property_value(&mut self, property: &PropertyDescriptor) -> String {
        if let Some(value) = property.value() {
            return self.value(value);
        }
        let is_function = |value: Option<&JsValue>| value.is_some_and(|value| !value.is_undefined());
        match (is_function(property.get()), is_function(property.set())) {
            (true, true) => "[Getter/Setter]",
            (true, false) => "[Getter]",
            (false, true) => "[Setter]",
            (false, false) => "undefined",
        }
        .to_owned()
    }

    fn function(object: &JsObject, constructor: Option<&str>, tag: &str) -> String {
        let name =
            own_data(object, "name").and_then(|name| name.as_string()).map(|name| quote::beginning(&name, 256).0);
        let name = name.unwrap_or_default();
        // A class is a constructor defined by the script whose prototype property is not writable.
        let prototype = own_property(object, &PropertyKey::from(js_string!("prototype")));
        let is_fixed = prototype.is_some_and(|prototype| prototype.writable() == Some(false));
        let is_class = is_fixed && object.is_constructor() && object.is::<OrdinaryFunction>();
        let mut text = if is_class {
            let mut text = format!("[class {}", if name.is_empty() { "(anonymous)" } else { &name });
            if let Some(constructor) = constructor.filter(|constructor| *constructor != "Function") {
                text += &format!(" [{constructor}]");
            }
            let parent = object.prototype().and_then(|parent| quote::text_of(own_data(&parent, "name")));
            if let Some(parent) = parent.filter(|parent| !parent.is_empty()) {
                text += &format!(" extends {parent}");
            }
            text + "]"
        } else {
            let kind = match tag {
                "AsyncFunction" | "GeneratorFunction" | "AsyncGeneratorFunction" => tag,
                _ => "Function",
            };
            let lost = if constructor.is_none() { " (null prototype)" } else { "" };
            let name = if name.is_empty() { " (anonymous)".to_owned() } else { format!(": {name}") };
            let mut text = format!("[{kind}{lost}{name}]");
            if let Some(constructor) =
                constructor.filter(|constructor| *constructor != kind && *constructor != "Function")
            {
                text += &format!(" {constructor}");
            }
            text
        };
        if !tag.is_empty() && constructor != Some(tag) && !text.contains(tag) {
            text += &format!(" [{tag}]");
        }
        text
    }

    /// Formats name, message and stack. Removes the keys that these already show, and adds the cause.
    fn error(&mut self, object: &JsObject, constructor: Option<&str>, keys: &mut Vec<PropertyKey>) -> String {
        let text = |key: &str| {
            let value = web::inherited_data(object, &PropertyKey::from(js_string!(key)))?;
            Some(quote::beginning(&value.as_string()?, 4_096).0)
        };
        let mut name = text("name").unwrap_or_else(|| "Error".to_owned());
        if let Some(constructor) = constructor.filter(|_| name == "Error") {
            name = constructor.to_owned();
        }
        let message = text("message").unwrap_or_default();
        let heading = match (name.is_empty(), message.is_empty()) {
            (true, _) => message.clone(),
            (_, true) => name.clone(),
            _ => format!("{name}: {message}"),
        };
        let own_stack = own_data(object, "stack").and_then(|stack| stack.as_string());
        let stack = own_stack.or_else(|| web::error_stack(object, self.context));
        let stack = stack.map(|stack| quote::beginning(&stack, 16_384).0).unwrap_or_default();
        // An assigned stack can be any string: use only its frames.
        let frames: Vec<&str> = stack.lines().filter(|line| is_script_frame(line)).collect();
        let indentation = " ".repeat(self.indentation);
        let mut written = heading.replace('\n', &format!("\n{indentation}"));
        for frame in frames.iter().take(FRAMES_MAX) {
            written += &format!("\n{indentation}    {}", frame.trim());
        }
        if frames.is_empty() {
            written = format!("[{written}]");
        }
        keys.retain(|key| {
            let name = match key {
                PropertyKey::String(key) => key.to_std_string_lossy(),
                _ => return true,
            };
            let value = || quote::text_of(own_data(object, &name));
            match name.as_str() {
                "stack" => false,
                "name" => value().is_none_or(|value| !heading.contains(&value)),
                "message" => value().is_none_or(|value| !heading.contains(&value)),
                _ => true,
            }
        });
        for hidden in ["cause", "errors"] {
            let key = PropertyKey::from(js_string!(hidden));
            if own_property(object, &key).is_some() && !keys.contains(&key) {
                keys.push(key);
            }
        }
        written
    }

    fn date(&mut self, object: &JsObject) -> String {
        let date = JsDate::from_object(object.clone()).and_then(|date| date.to_iso_string(self.context));
        let text = date.ok().and_then(|text| text.as_string()).map(|text| text.to_std_string_lossy());
        text.unwrap_or_else(|| "Invalid Date".to_owned())
    }

    /// Formats a wrapper object, such as `new Number(…)`.
    fn boxed(&mut self, object: &JsObject, keys: &mut Vec<PropertyKey>) -> Option<String> {
        let (kind, value) = if let Some(text) = object.downcast_ref::<JsString>() {
            keys.retain(|key| !matches!(key, PropertyKey::Index(_)));
            ("String", JsValue::from(text.clone()))
        } else if let Some(number) = object.downcast_ref::<f64>() {
            ("Number", JsValue::from(*number))
        } else if let Some(truth) = object.downcast_ref::<bool>() {
            ("Boolean", JsValue::from(*truth))
        } else if let Some(number) = object.downcast_ref::<JsBigInt>() {
            ("BigInt", JsValue::from(number.clone()))
        } else if let Some(symbol) = object.downcast_ref::<JsSymbol>() {
            ("Symbol", JsValue::from(symbol.clone()))
        } else {
            return None;
        };
        Some(format!("[{kind}: {}]", self.value(&value)))
    }
}

fn prefix(constructor: Option<&str>, tag: &str, fallback: &str, size: &str) -> String {
    let name = match constructor {
        Some(name) => format!("{name}{size} "),
        None => format!("[{fallback}{size}: null prototype] "),
    };
    if tag.is_empty() || constructor == Some(tag) { name } else { format!("{name}[{tag}] ") }
}

fn empty_items(count: usize) -> String {
    format!("<{count} empty item{}>", plural(count))
}

fn more_items(count: usize) -> Option<String> {
    (count > 0).then(|| format!("... {count} more item{}", plural(count)))
}

const fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
