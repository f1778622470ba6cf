//! Input as a user makes it: mouse and key events that the browser itself dispatches.

pub(crate) mod keyboard;
mod keys;
pub(crate) mod mouse;
