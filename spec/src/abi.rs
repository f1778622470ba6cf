//! The binary interface of the guest: its exports, and how a message is passed to it and back.
//!
//! The guest is a core module with one exported memory. To send a message, the host requests a buffer of the message's
//! length from [`BUFFER`], writes the message there and calls [`START`] or [`RESUME`] with that length. Both run the
//! engine until it is idle and return the location of the resulting [`Turn`](crate::message::Turn): see [`pack`].
//! [`LAYER`] is called the same way while the image is built.
//!
//! Between two calls the guest's stack is empty: the whole state of the execution is in its memory and globals.

/// Incremented with every change of a message, of an export or of the value codec.
pub const ABI_VERSION: u32 = 4;

/// `() -> u32`: the guest's [`ABI_VERSION`].
pub const VERSION: &str = "codemode_abi_version";
/// `() -> ()`: builds the engine and its globals. Called once, while the image is built, never in an execution.
pub const INITIALIZE: &str = "codemode_initialize";
/// `(len: u32) -> u64`: evaluates the [`Layer`](crate::message::Layer) in the buffer and returns a
/// [`LayerAdded`](crate::message::LayerAdded). Called for each layer after [`INITIALIZE`], never in an execution.
pub const LAYER: &str = "codemode_layer";
/// `(len: u32) -> ptr: u32`: allocates the buffer for one message from the host.
pub const BUFFER: &str = "codemode_buffer";
/// `(len: u32) -> u64`: starts the execution with the [`Start`](crate::message::Start) in the buffer.
pub const START: &str = "codemode_start";
/// `(len: u32) -> u64`: continues it with the [`Resume`](crate::message::Resume) in the buffer.
pub const RESUME: &str = "codemode_resume";
/// The exported linear memory.
pub const MEMORY: &str = "memory";
/// The only mutable global: the shadow stack's pointer. Between turns it has its initial value.
pub const STACK_POINTER: &str = "__stack_pointer";

/// Packs the pointer and the length of a message into the one integer that an export can return.
#[must_use]
pub const fn pack(pointer: u32, length: u32) -> u64 {
    ((pointer as u64) << 32) | length as u64
}

/// The pointer and the length that [`pack`] packed.
#[must_use]
pub const fn unpack(packed: u64) -> (u32, u32) {
    ((packed >> 32) as u32, packed as u32)
}
