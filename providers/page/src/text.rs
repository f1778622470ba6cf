//! Texts of pages, which can be megabytes long, cut to what a message or a record can bear.

use codemode_spec::limits::TARGET_TEXT_BYTES_MAX;
use serde_json::Value as Json;

/// Of a text in a message.
const MESSAGE_CHARS_MAX: usize = 200;

/// A text cut to what a message can bear.
#[must_use]
pub fn short(text: &str) -> String {
    cut(text, MESSAGE_CHARS_MAX)
}

/// A text cut to so many characters, and marked where it was cut.
#[must_use]
pub fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The beginning of a text of a target: enough to judge and to name the target.
pub(crate) fn kept(text: &str) -> &str {
    &text[..text.floor_char_boundary(TARGET_TEXT_BYTES_MAX)]
}

/// The same of a field of what the browser told.
pub(crate) fn kept_field(info: &Json, key: &str) -> String {
    kept(info[key].as_str().unwrap_or_default()).to_owned()
}
