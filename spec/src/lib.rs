//! The contract of codemode, shared by host, guest and providers: the messages between host and guest, the values that
//! cross the sandbox boundary, the error codes, the limits, the manifests of namespaces, and the envelope of every
//! answer.
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
