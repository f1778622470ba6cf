//! The console: `inspect` shows values as Node does, and the `console` object writes them as lines.
//!
//! All of it is done in Rust and from what objects hold, never through their getters, proxies, `toString` or
//! `toJSON`: a script can print whatever came from a page without running it, and cannot hook what is printed.

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

/// The arguments of a console method as text, in the form of Node's `util.format`: of at most
/// [`CONSOLE_LINE_BYTES_MAX`] bytes, whatever the arguments hold. The walk ends where the text does.
pub fn inspect(arguments: &[JsValue], context: &mut Context) -> String {
    cut(format::format(arguments, context))
}

/// What stands where a text was cut.
const CUT: &str = "… (cut)";

fn cut(mut text: String) -> String {
    if text.len() > CONSOLE_LINE_BYTES_MAX {
        text.truncate(text.floor_char_boundary(CONSOLE_LINE_BYTES_MAX - CUT.len()));
        text.push_str(CUT);
    }
    text
}
