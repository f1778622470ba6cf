//! What logins left in browsers, saved by scripts under a name: each state belongs to a session key, and lies sealed in a
//! file of its own in the state folder. It outlives the browser; it goes when it is removed, or was not used for long.
//!
//! This module knows no execution, no namespace and no browser.

mod store;

pub use store::{LoginListed, LoginRemoved, LoginStore, LoginsListed};
