//! The guest as the bytes of a wasm module, which the build script compiles.
//!
//! This is a separate crate so that a first build starts with it: linking the guest takes two minutes on one core,
//! during which the host's other dependencies are compiled. In the host's own build script it came last, and the host
//! waited for it.

/// The compiled module.
pub const WASM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.wasm"));
