//! The host: it takes a script, runs it in a sandbox that reaches nothing but the providers' namespaces, and answers
//! with one bounded envelope.
//!
//! Data's way through: surface → `service` → `program` (accept, strip types) → `exec` → `engine` turns ⇄ provider
//! runtimes → outcome → `result` transforms → envelope → surface.
#![deny(unsafe_code)]

pub mod engine;
pub mod exec;
pub mod history;
pub mod logins;
pub mod network;
pub mod program;
pub mod result;
pub mod secrets;
pub mod service;
pub mod session;
pub mod site;
pub mod state_dir;
pub mod surface;
pub mod telemetry;
