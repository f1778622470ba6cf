//! The surfaces: the command line and MCP. They read what a user sets, call the service, and render its typed answers. They
//! hold no logic, and know nothing below [`crate::service`]: no sandbox, no session, no browser.

pub mod cli;
mod config;
pub mod mcp;
pub mod terminal;
mod text;
