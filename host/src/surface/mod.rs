//! The surfaces: the command line, MCP and HTTP. They read what a user sets, call the service, and render its typed answers. They
//! hold no logic, and know nothing below [`crate::service`]: no sandbox, no session, no browser.

pub mod cli;
mod config;
mod http;
pub mod mcp;
pub mod terminal;
mod text;

pub use config::{LogFormat, LogValues};
