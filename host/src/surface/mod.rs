//! The surfaces: the command line and MCP. They are made from the manifests and the one envelope, hold no logic, and
//! know nothing below [`crate::service`]: no sandbox, no session, no browser.

pub mod cli;
pub mod mcp;
pub mod terminal;
mod text;
