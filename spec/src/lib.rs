//! The contract of codemode, written once: what the host and the guest say to each other, which values cross the
//! boundary, which errors exist, what is bounded by how much, and the one shape of every answer.
//!
//! This crate knows nothing of wasmtime, of the JavaScript engine or of Chromium; it builds for wasm and natively.
#![forbid(unsafe_code)]

pub mod abi;
pub mod console;
pub mod envelope;
pub mod error;
pub mod limits;
pub mod manifest;
pub mod message;
pub mod session;
pub mod value;
pub mod whole;

pub use envelope::Envelope;
pub use error::{ErrorCode, ErrorReport};
pub use manifest::{Effect, Manifest, Method, Param, Signature};
pub use value::{Text, Value};
