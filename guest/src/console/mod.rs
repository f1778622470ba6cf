//! The console: `inspect` formats values as Node does, and the `console` object writes them as lines.
//!
//! Formatting is done in Rust and reads stored properties only, never getters, proxies, `toString` or `toJSON`. So a
//! script can print any value without running code of it, and cannot intercept what is printed.

mod format;
mod inspect;
mod layout;
mod object;
mod own;
mod quote;
mod table;
#[cfg(test)]
mod tests;

pub use object::install;

use boa_engine::{Context, JsValue};
use codemode_spec::limits::CONSOLE_LINE_BYTES_MAX;

/// Formats the arguments of a console method as Node's `util.format` does, in at most [`CONSOLE_LINE_BYTES_MAX`] bytes.
/// Stops walking the arguments when the text is full.
pub fn inspect(arguments: &[JsValue], context: &mut Context) -> String {
    cut(format::format(arguments, context))
}

/// The mark at the end of a text that was cut.
const CUT: &str = "… (cut)";

fn cut(mut text: String) -> String {
    if text.len() > CONSOLE_LINE_BYTES_MAX {
        text.truncate(text.floor_char_boundary(CONSOLE_LINE_BYTES_MAX - CUT.len()));
        text.push_str(CUT);
    }
    text
}
