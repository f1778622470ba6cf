//! Truncates texts of pages, which can be megabytes long, for messages and records.

use codemode_spec::limits::TARGET_TEXT_BYTES_MAX;
use serde_json::Value as Json;

/// The maximum length of a text in a message.
const MESSAGE_CHARS_MAX: usize = 200;

/// Truncates a text to the length for a message.
#[must_use]
pub fn short(text: &str) -> String {
    cut(text, MESSAGE_CHARS_MAX)
}

/// Truncates a text to `chars_max` characters, with an ellipsis where it was cut.
#[must_use]
pub fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The beginning of a text of a target, at most `TARGET_TEXT_BYTES_MAX` bytes: enough to check and to name the target.
pub(crate) fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(TARGET_TEXT_BYTES_MAX)]
}

/// A text field of a `TargetInfo`, bounded likewise.
pub(crate) fn bounded_field(info: &Json, key: &str) -> String {
    bounded(info[key].as_str().unwrap_or_default()).to_owned()
}
