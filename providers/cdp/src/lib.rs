//! The namespace `cdp`: the raw protocol of a real browser, and the verbs around it.
//!
//! A face on the browser of the execution (`codemode_page`), which it shares with other namespaces. Its methods are the
//! rows of `methods`. Commands are checked against the protocol that the browser itself describes before they are sent;
//! what they may reach is the shared browser's to judge.
//!
//! This crate knows neither the sandbox nor the host, and no other namespace. Where the browser comes from and who
//! leases it is not its concern.
#![forbid(unsafe_code)]

mod account;
mod arguments;
mod command;
mod debug_log;
mod events;
mod info;
mod lookup;
mod methods;
mod provider;
mod runtime;
mod schemas;
mod state;
mod wait;
mod words;

pub use provider::CdpProvider;
