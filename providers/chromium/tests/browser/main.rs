//! Tests of the driver against a real browser.
//!
//! Every test ends with a check that no process, profile or ledger of its browsers remains.
#![forbid(unsafe_code)]

mod confine;
mod connection;
mod launch;
mod protocol;
mod support;
