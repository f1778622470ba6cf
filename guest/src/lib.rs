//! The guest: a JavaScript engine that never waits inside a host call.
//!
//! Each turn runs the script until it is idle and returns what it waits for; between turns the whole execution is
//! memory at rest. Time and randomness enter only through messages. The guest knows the engine and the contract of
//! `codemode-spec`, and nothing else: no namespace, no browser, no host.

mod bridge;
mod codec;
mod console;
#[cfg(target_arch = "wasm32")]
mod exports;
mod fault;
mod interpreter;
mod layer;
mod memory;
mod stack;
mod state;
mod timers;
mod unsupported;
mod web;

pub use interpreter::Guest;
