//! The namespace `cdp` on a real Chromium, with test pages served on loopback.

mod basics;
mod crash;
mod dialogs;
mod errors;
mod events;
mod external;
mod lifecycle;
mod refusals;
mod spec;
mod support;
mod table;
