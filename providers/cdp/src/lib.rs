//! The namespace `cdp`: the raw protocol of a real browser, and the verbs around it.
//!
//! A runtime launches a browser of its own on the first call that needs one, with an ephemeral profile, and closes it
//! when the execution ends; or it attaches to an external endpoint, which it never closes. Commands are checked against
//! the protocol that the browser itself describes and against the policy before they are sent, and nothing that blocks
//! a page, an open dialog or a crash, hangs a call.
//!
//! This crate knows neither the sandbox nor the host, and no other namespace.
#![forbid(unsafe_code)]

mod browser;
mod command;
mod cookies;
mod debug_log;
mod dialog;
mod gate;
mod guard;
mod live;
mod made;
mod manifest;
mod navigation;
mod policy;
mod popups;
mod provider;
mod reach;
mod runtime;
mod session;
mod spec;
mod targets;
mod wait;

pub use policy::DevicePermission;
pub use provider::{CdpConfig, CdpProvider};
