//! The surfaces through which codemode is used: the command line, MCP and HTTP.
//!
//! A surface reads the settings, calls the service and renders its typed answers. It holds no logic of its own and
//! knows nothing below [`crate::service`]: no sandbox, no session, no browser.

pub mod cli;
mod config;
mod http;
pub mod mcp;
pub mod terminal;
mod text;

pub use config::{LogFormat, LogValues};
