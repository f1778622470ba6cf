//! Garbage that the collector does not weigh: it counts its own boxes, not the text and the bytes that hang on them.

use codemode_spec::limits::{GUEST_STACK_BYTES, MEMORY_BYTES_MAX, MIB};
use std::{
    cell::Cell,
    sync::atomic::{AtomicUsize, Ordering},
};

/// What may be allocated before it is looked through for garbage, ...
const GROWTH_BYTES: usize = 32 * MIB;
/// ... or this part of what is left, if that is less.
const GROWTH_PART: usize = 2;

/// Bytes that are allocated. Counted by the sandbox's allocator; elsewhere memory has no bound of ours.
pub static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static ALLOCATED_BEFORE: Cell<usize> = const { Cell::new(0) };
}

/// Collects garbage if much was allocated since the last time. Called where something large may have been made.
pub fn relieve() {
    let before = ALLOCATED_BEFORE.get();
    let left = (MEMORY_BYTES_MAX - GUEST_STACK_BYTES).saturating_sub(before);
    if ALLOCATED.load(Ordering::Relaxed).saturating_sub(before) > GROWTH_BYTES.min(left / GROWTH_PART) {
        collect();
    }
}

/// What an execution may allocate before memory has to grow: growing it costs more than most scripts do.
#[cfg(target_arch = "wasm32")]
const HEADROOM_BYTES: usize = MIB / 2;
/// The least that the allocator hands out.
#[cfg(target_arch = "wasm32")]
const PIECE_BYTES_MIN: usize = 8;

/// Uses up the holes between what lives, so that all that is allocated from here on lies together behind it: an
/// execution writes to few pages, and only those are its own and not the image's.
#[cfg(target_arch = "wasm32")]
pub fn close_holes() {
    let behind = address(&Vec::with_capacity(HEADROOM_BYTES));
    let mut bytes = HEADROOM_BYTES;
    while bytes >= PIECE_BYTES_MIN {
        let piece = Vec::with_capacity(bytes);
        if address(&piece) < behind {
            std::mem::forget(piece);
        } else {
            bytes /= 2;
        }
    }
}

#[cfg(target_arch = "wasm32")]
fn address(piece: &Vec<u8>) -> usize {
    std::hint::black_box(piece).as_ptr().addr()
}

/// Collects garbage.
pub fn collect() {
    boa_gc::force_collect();
    ALLOCATED_BEFORE.set(ALLOCATED.load(Ordering::Relaxed));
}
