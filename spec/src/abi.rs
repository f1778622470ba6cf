//! The guest's exports and how a message travels.
//!
//! The guest is a core module with one exported memory. To say something, the host asks for a buffer of the message's
//! length, writes the message there and calls [`START`] or [`RESUME`] with that length. Both run the engine until it is
//! idle and return where the answering [`Turn`](crate::message::Turn) lies: see [`pack`]. [`LAYER`] is called the same way
//! while the image is made.
//!
//! Between two calls nothing lives on the guest's stack: the whole execution is memory and globals at rest.

/// Grows with every change of a message, of an export or of the value codec.
pub const ABI_VERSION: u32 = 4;

/// `() -> u32`: the guest's [`ABI_VERSION`].
pub const VERSION: &str = "codemode_abi_version";
/// `() -> ()`: builds the engine and its globals; runs once, when the image is made, never in an execution.
pub const INITIALIZE: &str = "codemode_initialize";
/// `(len: u32) -> u64`: evaluates the [`Layer`](crate::message::Layer) in the buffer and answers with a
/// [`LayerAdded`](crate::message::LayerAdded). Called for each layer after [`INITIALIZE`], never in an execution.
pub const LAYER: &str = "codemode_layer";
/// `(len: u32) -> ptr: u32`: room for one message from the host.
pub const BUFFER: &str = "codemode_buffer";
/// `(len: u32) -> u64`: begins the execution with the [`Start`](crate::message::Start) in the buffer.
pub const START: &str = "codemode_start";
/// `(len: u32) -> u64`: continues it with the [`Resume`](crate::message::Resume) in the buffer.
pub const RESUME: &str = "codemode_resume";
/// The exported linear memory.
pub const MEMORY: &str = "memory";
/// The only mutable global: the shadow stack's pointer, at its resting place between turns.
pub const STACK_POINTER: &str = "__stack_pointer";

/// Packs where an answer lies into what an export can return.
#[must_use]
pub const fn pack(pointer: u32, length: u32) -> u64 {
    ((pointer as u64) << 32) | length as u64
}

/// The pointer and the length that [`pack`] packed.
#[must_use]
pub const fn unpack(packed: u64) -> (u32, u32) {
    ((packed >> 32) as u32, packed as u32)
}
