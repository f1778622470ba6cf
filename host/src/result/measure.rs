//! Measures how many characters a value takes as JSON, without writing it.

use serde_json::Value as Json;

/// The number of characters that one character takes in a JSON string.
pub(super) fn escaped(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => 1,
    }
}

/// The number of characters of a string as JSON, or any number above `most` if it exceeds that.
pub(super) fn string(text: &str, most: usize) -> usize {
    let mut size = 2;
    for c in text.chars() {
        size += escaped(c);
        if size > most {
            break;
        }
    }
    size
}

/// The number of characters of a value as JSON, or any number above `most` if it exceeds that. The time is proportional
/// to `most` at worst, and the stack does not grow with the value's depth.
pub(super) fn json(value: &Json, most: usize) -> usize {
    let mut size = 0;
    let mut open = vec![Parts::One(value)];
    while let Some(parts) = open.last_mut() {
        if size > most {
            break;
        }
        let value = match parts {
            Parts::One(value) => {
                let value = *value;
                open.pop();
                value
            }
            Parts::Items(items) => match items.next() {
                Some(item) => item,
                None => {
                    open.pop();
                    continue;
                }
            },
            Parts::Entries(entries) => match entries.next() {
                Some((key, value)) => {
                    size += string(key, most) + 1;
                    value
                }
                None => {
                    open.pop();
                    continue;
                }
            },
        };
        match value {
            Json::Null | Json::Bool(true) => size += 4,
            Json::Bool(false) => size += 5,
            Json::Number(number) => size += number.to_string().len(),
            Json::String(text) => size += string(text, most),
            // The brackets, and a comma after each but the last.
            Json::Array(items) => {
                size += 2 + items.len().saturating_sub(1);
                open.push(Parts::Items(items.iter()));
            }
            Json::Object(entries) => {
                size += 2 + entries.len().saturating_sub(1);
                open.push(Parts::Entries(entries.iter()));
            }
        }
    }
    size
}

enum Parts<'j> {
    One(&'j Json),
    Items(std::slice::Iter<'j, Json>),
    Entries(serde_json::map::Iter<'j>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_measure_is_what_serde_writes() {
        let control: String = (0..0x30_u8).map(char::from).collect();
        for value in [
            json!(null),
            json!([true, false, -1, 0.1, 1e300, u64::MAX]),
            json!({"a": [], "b": {}, "é🦀\"\\": control, "c": [[1], {"d": "\u{7f}\u{2028}"}]}),
        ] {
            let written = value.to_string().chars().count();
            assert_eq!(json(&value, usize::MAX), written);
            assert!(json(&value, written) == written && json(&value, written - 1) > written - 1);
        }
    }
}
