//! The globals that scripts have besides ECMAScript: the parts of the web platform that need no page and no network;
//! and repairs of the engine's own built-ins.
//!
//! The scripts of `guest/js` define the shape and the argument conversions of each class; everything that scripts must
//! not intercept is implemented in Rust. All of it is evaluated once, while the image is built, before any script of a
//! model exists. The built-ins that it uses later are captured then, so that a script which overwrites them can neither
//! break nor observe it.

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
