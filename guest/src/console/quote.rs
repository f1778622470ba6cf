//! Formats strings, numbers and keys as in source text.

use boa_engine::{JsString, JsValue, property::PropertyKey};
use std::fmt::Write;

/// The start of a string, at most `units_max` code units, and the number of omitted units.
pub fn beginning(text: &JsString, units_max: usize) -> (String, usize) {
    let kept = units_kept(text, units_max);
    let rest = text.len() - kept;
    if rest == 0 {
        return (text.to_std_string_lossy(), 0);
    }
    let units: Vec<u16> = text.as_str().iter().take(kept).collect();
    (String::from_utf16_lossy(&units), rest)
}

/// How many code units of a string to keep: at most `units_max`, and no half of a surrogate pair.
pub fn units_kept(text: &JsString, units_max: usize) -> usize {
    let kept = text.len().min(units_max);
    let splits_a_pair = kept < text.len()
        && kept > 0
        && text.code_unit_at(kept - 1).is_some_and(|unit| (0xD800..0xDC00).contains(&unit));
    if splits_a_pair { kept - 1 } else { kept }
}

/// The suffix that tells how many characters are omitted.
pub fn more_characters(count: usize) -> String {
    format!("... {count} more character{}", if count == 1 { "" } else { "s" })
}

/// The string in single quotes; if it contains those, in double quotes or backquotes that need no escape.
pub fn quoted(units: impl Iterator<Item = u16> + Clone) -> String {
    let holds = |quote: char| units.clone().any(|unit| u32::from(unit) == u32::from(quote));
    let quote = if !holds('\'') {
        '\''
    } else if !holds('"') {
        '"'
    } else if !holds('`') && !holds('$') {
        '`'
    } else {
        '\''
    };
    let mut text = String::from(quote);
    for character in char::decode_utf16(units) {
        match character {
            Ok('\n') => text.push_str("\\n"),
            Ok('\t') => text.push_str("\\t"),
            Ok('\r') => text.push_str("\\r"),
            Ok('\x08') => text.push_str("\\b"),
            Ok('\x0C') => text.push_str("\\f"),
            Ok('\x0B') => text.push_str("\\v"),
            Ok('\\') => text.push_str("\\\\"),
            Ok(character) if character == quote => {
                text.push('\\');
                text.push(character);
            }
            Ok(character @ ('\0'..='\x1F' | '\x7F'..='\u{9F}')) => {
                let _ = write!(text, "\\x{:02X}", u32::from(character));
            }
            Ok(character) => text.push(character),
            Err(surrogate) => {
                let _ = write!(text, "\\u{:04x}", surrogate.unpaired_surrogate());
            }
        }
    }
    text.push(quote);
    text
}

/// A number as the language formats it, except that negative zero is written as `-0`.
pub fn number(number: f64) -> String {
    if number == 0.0 && number.is_sign_negative() {
        return "-0".to_owned();
    }
    JsString::from(number).to_std_string_lossy()
}

/// A property's key as written before its value.
pub fn key(key: &PropertyKey) -> String {
    match key {
        PropertyKey::Index(index) => format!("'{}'", index.get()),
        PropertyKey::Symbol(symbol) => format!("[{}]", symbol.descriptive_string().to_std_string_lossy()),
        PropertyKey::String(name) => {
            let text = name.to_std_string_lossy();
            if is_bare(&text) { text } else { quoted(name.as_str().iter()) }
        }
    }
}

fn is_bare(text: &str) -> bool {
    !text.starts_with(|first: char| first.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// The start of a value's text, if the value is a string.
pub fn text_of(value: Option<JsValue>) -> Option<String> {
    value.and_then(|value| value.as_string()).map(|text| beginning(&text, 256).0)
}
