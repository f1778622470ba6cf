//! Formats several values as one text, with the `%` placeholders of a template.

use super::{
    inspect::Inspector,
    own::{enumerable_keys, own_property},
    quote,
};
use boa_engine::{
    Context, JsObject, JsString, JsValue, JsVariant, builtins::error::Error, property::PropertyKey,
    string::JsStrVariant,
};
use codemode_spec::limits::CONSOLE_LINE_BYTES_MAX;

/// Formats values, separated by spaces. Strings are not quoted. If the first value is a string, its `%` placeholders
/// are filled with the values that follow.
pub fn format(arguments: &[JsValue], context: &mut Context) -> String {
    let mut text = String::new();
    let mut rest = arguments;
    if let Some((first, others)) = arguments.split_first()
        && let Some(template) = first.as_string()
    {
        rest = others;
        fill(&template, &mut rest, &mut text, context);
    }
    let has_template = rest.len() < arguments.len();
    for (index, value) in rest.iter().enumerate() {
        if text.len() >= CONSOLE_LINE_BYTES_MAX {
            break;
        }
        if index > 0 || has_template {
            text.push(' ');
        }
        let room = room(&text);
        text.push_str(&bare(value, room, context));
    }
    text
}

/// The remaining room: somewhat more than fits, so that a text which is too long is cut and marked as such.
fn room(text: &str) -> usize {
    (CONSOLE_LINE_BYTES_MAX + 64).saturating_sub(text.len())
}

/// A string without quotes, any other value inspected.
pub fn bare(value: &JsValue, room: usize, context: &mut Context) -> String {
    match value.as_string() {
        Some(text) => {
            let (text, rest) = quote::beginning(&text, room);
            if rest == 0 { text } else { text + &quote::more_characters(rest) }
        }
        None => Inspector::new(room, context).value(value),
    }
}

/// Writes a template, and removes the values that its placeholders use.
fn fill(template: &JsString, values: &mut &[JsValue], text: &mut String, context: &mut Context) {
    let (template, cut) = quote::beginning(template, CONSOLE_LINE_BYTES_MAX + 64);
    let mut pieces = template.split('%');
    text.push_str(pieces.next().unwrap_or_default());
    let mut pieces = pieces.peekable();
    // Without values, a template is written unchanged, even its `%%`.
    let has_values = !values.is_empty();
    while let Some(piece) = pieces.next() {
        if text.len() > CONSOLE_LINE_BYTES_MAX {
            return;
        }
        if piece.is_empty() && has_values && pieces.peek().is_some() {
            text.push('%');
            text.push_str(pieces.next().unwrap_or_default());
            continue;
        }
        let form = piece.chars().next().filter(|form| "sdifjoOc".contains(*form));
        match (form, values.split_first()) {
            (Some(form), Some((value, others))) => {
                *values = others;
                let room = room(text);
                text.push_str(&write(form, value, room, context));
                text.push_str(&piece[1..]);
            }
            _ => {
                text.push('%');
                text.push_str(piece);
            }
        }
    }
    if cut > 0 {
        text.push_str(&quote::more_characters(cut));
    }
}

fn write(form: char, value: &JsValue, room: usize, context: &mut Context) -> String {
    match form {
        's' => match value.variant() {
            JsVariant::Object(object) if object.is::<Error>() => {
                let text = Inspector::new(room, context).with_depth_max(0).value(value);
                text.lines().next().unwrap_or_default().to_owned()
            }
            JsVariant::Object(_) => Inspector::new(room, context).with_depth_max(0).value(value),
            _ => bare(value, room, context),
        },
        'd' | 'i' | 'f' => number(form, value, room, context),
        'j' => json(value, room),
        'o' | 'O' => Inspector::new(room, context).value(value),
        _ => String::new(),
    }
}

fn number(form: char, value: &JsValue, room: usize, context: &mut Context) -> String {
    let number = match value.variant() {
        JsVariant::BigInt(_) if form != 'f' => return Inspector::new(room, context).value(value),
        JsVariant::Integer32(number) => f64::from(number),
        JsVariant::Float64(number) => number,
        JsVariant::String(text) if form == 'd' => text.to_number(),
        JsVariant::String(text) => leading_number(&quote::beginning(&text, 64).0),
        JsVariant::Boolean(value) if form == 'd' => f64::from(u8::from(value)),
        JsVariant::Null if form == 'd' => 0.0,
        _ => f64::NAN,
    };
    quote::number(if form == 'i' { number.trunc() } else { number })
}

/// The number at the start of a text, as `parseFloat` reads it.
fn leading_number(text: &str) -> f64 {
    let text = text.trim_start();
    (1..=text.len())
        .rev()
        .filter_map(|end| text.get(..end))
        .find_map(|start| {
            if start.ends_with(|last: char| last.is_ascii_digit() || last == '.') { start.parse().ok() } else { None }
        })
        .unwrap_or(f64::NAN)
}

/// JSON of plain data: runs no `toJSON` and no getter, and omits values that JSON does not have.
fn json(value: &JsValue, room: usize) -> String {
    let mut writer = JsonWriter { text: String::new(), room, ancestors: Vec::new() };
    if writer.value(value) { writer.text } else { "undefined".to_owned() }
}

struct JsonWriter {
    text: String,
    room: usize,
    ancestors: Vec<JsObject>,
}

impl JsonWriter {
    /// Writes the value. Returns `false`, having written nothing, if JSON does not have it.
    fn value(&mut self, value: &JsValue) -> bool {
        match value.variant() {
            JsVariant::Null => self.text.push_str("null"),
            JsVariant::Boolean(value) => self.text.push_str(if value { "true" } else { "false" }),
            JsVariant::Integer32(number) => self.text.push_str(&number.to_string()),
            JsVariant::Float64(number) if number.is_finite() => {
                self.text.push_str(&quote::number(if number == 0.0 { 0.0 } else { number }));
            }
            JsVariant::Float64(_) => self.text.push_str("null"),
            JsVariant::String(text) => self.string(&text),
            JsVariant::Object(object) if !object.is_callable() => return self.object(&object),
            _ => return false,
        }
        true
    }

    fn string(&mut self, text: &JsString) {
        let kept = text.len().min(self.room.saturating_sub(self.text.len()));
        let text = match text.as_str().variant() {
            JsStrVariant::Latin1(bytes) => bytes[..kept].iter().map(|byte| char::from(*byte)).collect(),
            JsStrVariant::Utf16(units) => String::from_utf16_lossy(&units[..kept]),
        };
        self.text.push_str(&codemode_spec::Value::from(text).to_json().to_string());
    }

    fn object(&mut self, object: &JsObject) -> bool {
        let is_known = |ancestor: &JsObject| JsObject::equals(ancestor, object);
        if self.ancestors.iter().any(is_known) || self.ancestors.len() >= 32 {
            self.text.push_str("\"[Circular]\"");
            return true;
        }
        self.ancestors.push(object.clone());
        let is_array = object.is_array();
        let length = own_property(object, &PropertyKey::from(boa_engine::js_string!("length")));
        let length = length.and_then(|length| length.value().and_then(JsValue::as_number)).unwrap_or(0.0) as u32;
        self.text.push(if is_array { '[' } else { '{' });
        let start = self.text.len();
        let entry = |key: PropertyKey, writer: &mut Self| {
            let before = writer.text.len();
            if before > start {
                writer.text.push(',');
            }
            if !is_array {
                writer.string(&key_text(&key));
                writer.text.push(':');
            }
            let property = own_property(object, &key);
            let is_written = property.is_some_and(|property| property.value().is_some_and(|value| writer.value(value)));
            match (is_written, is_array) {
                (true, _) => {}
                (false, true) => writer.text.push_str("null"),
                (false, false) => writer.text.truncate(before),
            }
            writer.text.len() < writer.room
        };
        if is_array {
            let _ = (0..length).all(|index| entry(PropertyKey::from(index), self));
        } else {
            let keys = enumerable_keys(object).into_iter().filter(|key| !matches!(key, PropertyKey::Symbol(_)));
            let _ = keys.into_iter().all(|key| entry(key, self));
        }
        self.text.push(if is_array { ']' } else { '}' });
        self.ancestors.pop();
        true
    }
}

fn key_text(key: &PropertyKey) -> JsString {
    match key {
        PropertyKey::String(text) => text.clone(),
        PropertyKey::Index(index) => boa_engine::js_string!(index.get().to_string()),
        PropertyKey::Symbol(_) => JsString::default(),
    }
}
