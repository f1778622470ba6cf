//! What a script finds here besides ECMAScript: the parts of the web platform that do without a page or a network.
//!
//! The scripts of `guest/js` give each class its shape and its argument conversions; what must not be hooked is done
//! in Rust. All of it is evaluated once, while the image is made, before any script of a model exists; what it needs
//! later of the language it takes then, so that nothing a script overwrites can break it or listen to it.

mod base64;
mod buffer;
mod clone;
mod helper;
mod install;
mod intrinsic;
mod locale;
mod primitive;
mod prototype;
mod random;
mod regexp;
mod sort;
#[cfg(test)]
pub mod tests;
mod text;
mod url;

pub use buffer::{View, array_buffer};
pub use install::install;
pub use intrinsic::{error_stack, inherited_data, is_array, property_is_enumerable, to_string_tag};
pub use regexp::regexp_text;
pub use url::{SearchParams, Url};
