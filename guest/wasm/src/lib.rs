//! The guest as the bytes of a wasm module, which the build script makes.
//!
//! A crate of its own so that a first build begins with it: linking the guest takes two minutes of one core, in which the
//! rest of what the host needs is compiled. In the host's own build script it came last, and the host waited for it.

/// The module.
pub const WASM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.wasm"));
