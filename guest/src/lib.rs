//! The guest: the program inside the sandbox, a JavaScript engine with the globals that scripts use. It never blocks in
//! a call to the host.
//!
//! Each turn runs the script until it is idle, and returns the calls and the timer that it waits for. Between turns the
//! whole state of the execution is in memory, and nothing runs. Time and randomness enter only through messages. The
//! guest depends on the engine and on the contract of `codemode-spec` only: it knows no namespace, no browser and no
//! host.

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
