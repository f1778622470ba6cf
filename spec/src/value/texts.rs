//! Locates the texts of an encoded value, so that they can be searched and overwritten in place.

use super::codec::{DecodeError, Key, RawText, Reader, Token};
use crate::limits::VALUE_DEPTH_MAX;
use std::ops::Range;

/// The encoding of a text, which determines how it may be overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// One byte per character, or arbitrary data: every byte may be replaced by another one.
    Bytes,
    /// UTF-8: whole characters may be replaced by ASCII.
    Utf8,
    /// Two bytes per code unit, little-endian.
    Utf16,
}

/// Calls `found` with the range of each string, key and buffer in the bytes of one encoded value. Bigints count as
/// numbers, not as texts. A repeated key is reported once, where it is written out.
///
/// # Errors
/// When the bytes are not exactly one value, or nest deeper than [`VALUE_DEPTH_MAX`]. The texts before the fault have
/// been reported by then.
pub fn texts(bytes: &[u8], mut found: impl FnMut(TextForm, Range<usize>)) -> Result<(), DecodeError> {
    let mut reader = Reader::new(bytes);
    // For each open container, the number of remaining parts, and whether each part is preceded by a key.
    let mut open: Vec<(usize, bool)> = vec![(1, false)];
    // A text that was just read ends at the reader's position.
    let place = |reader: &Reader<'_>, length: usize| {
        let end = bytes.len() - reader.rest();
        end - length..end
    };
    let mut report = |reader: &Reader<'_>, text: RawText<'_>| match text {
        RawText::Latin1(text) => found(TextForm::Bytes, place(reader, text.len())),
        RawText::Utf8(text) => found(TextForm::Utf8, place(reader, text.len())),
        RawText::Utf16(text) => found(TextForm::Utf16, place(reader, text.len())),
    };
    while let Some((left, has_keys)) = open.last_mut() {
        let Some(rest) = left.checked_sub(1) else {
            open.pop();
            continue;
        };
        *left = rest;
        if *has_keys && let Key::New(text) = reader.key()? {
            report(&reader, text);
        }
        let parts = match reader.token()? {
            Token::String(text) => {
                report(&reader, text);
                continue;
            }
            Token::Bytes(_, data) => {
                report(&reader, RawText::Latin1(data));
                continue;
            }
            Token::Error { has_cause } => {
                for _ in 0..3 {
                    let text = reader.string()?;
                    report(&reader, text);
                }
                (usize::from(has_cause), false)
            }
            Token::Array(count) | Token::Set(count) => (count, false),
            Token::Map(count) => (2 * count, false),
            Token::Object(count) => (count, true),
            Token::Undefined | Token::Null | Token::Bool(_) | Token::Number(_) | Token::BigInt(_) | Token::Date(_) => {
                continue;
            }
        };
        if open.len() > VALUE_DEPTH_MAX {
            return Err(DecodeError::TOO_DEEP);
        }
        open.push(parts);
    }
    if reader.rest() > 0 { Err(DecodeError("bytes after the value")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{BufferKind, ErrorValue, Text, Value};

    #[test]
    fn every_text_of_a_value_is_found_where_it_lies() {
        let text = |text: &str| Value::String(text.into());
        let error = ErrorValue {
            name: "Oops".into(),
            message: "é".into(),
            stack: "at".into(),
            cause: Some(Value::Array(vec![Value::BigInt("77".to_owned()), text("deep")])),
        };
        let value = Value::Object(vec![
            ("first".into(), Value::Array(vec![Value::Number(7.0), text("a")])),
            ("second".into(), Value::Map(vec![(text("key"), Value::Set(vec![text("ü")]))])),
            ("first".into(), Value::Bytes(BufferKind::Uint8Array, vec![1, 2])),
            ("third".into(), Value::Error(Box::new(error))),
            ("fourth".into(), Value::String(Text::Utf16(vec![0xd800, 0x61]))),
        ]);
        let bytes = value.encode();
        let mut seen = Vec::new();
        texts(&bytes, |form, range| seen.push((form, bytes[range].to_vec()))).unwrap();
        let expected: Vec<(TextForm, &[u8])> = vec![
            (TextForm::Bytes, b"first"),
            (TextForm::Bytes, b"a"),
            (TextForm::Bytes, b"second"),
            (TextForm::Bytes, b"key"),
            (TextForm::Utf8, "ü".as_bytes()),
            (TextForm::Bytes, &[1, 2]),
            (TextForm::Bytes, b"third"),
            (TextForm::Bytes, b"Oops"),
            (TextForm::Utf8, "é".as_bytes()),
            (TextForm::Bytes, b"at"),
            (TextForm::Bytes, b"deep"),
            (TextForm::Bytes, b"fourth"),
            (TextForm::Utf16, &[0, 0xd8, 0x61, 0]),
        ];
        assert_eq!(seen, expected.into_iter().map(|(form, text)| (form, text.to_vec())).collect::<Vec<_>>());
        for end in 0..bytes.len() {
            assert!(texts(&bytes[..end], |_, _| {}).is_err(), "cut at {end}");
        }
    }
}
