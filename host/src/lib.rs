//! The codemode host: it runs a script in a WebAssembly sandbox that can reach only the providers' namespaces, and
//! answers with one bounded envelope.
//!
//! Data flow: surface → `service` → `program` (parse, strip types) → `exec` → `engine` turns ⇄ provider runtimes →
//! outcome → `result` transforms → envelope → surface.
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
