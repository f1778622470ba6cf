//! The namespace `cdp`: the raw protocol of a real browser, with helper methods for attaching, waiting for events and
//! looking the protocol up.
//!
//! It works on the browser of the execution (`codemode_page`), which it shares with other namespaces. Its methods are
//! the rows of `methods`. Commands are checked against the browser's own description of its protocol before they are
//! sent; the shared browser's policy decides what they may reach.
//!
//! This crate knows neither the sandbox nor the host, nor any other namespace, nor where the browser comes from or who
//! holds its lease.
#![forbid(unsafe_code)]

mod account;
mod arguments;
mod command;
mod debug_log;
mod events;
mod hints;
mod info;
mod lookup;
mod methods;
mod provider;
mod runtime;
mod schemas;
mod state;
mod wait;

pub use provider::CdpProvider;
