//! Against a real browser.
//!
//! Every test ends with the proof that no process, profile or ledger of its browsers is left.
#![forbid(unsafe_code)]

mod confine;
mod connection;
mod launch;
mod protocol;
mod support;
