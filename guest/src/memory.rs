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

/// Collects garbage.
pub fn collect() {
    boa_gc::force_collect();
    ALLOCATED_BEFORE.set(ALLOCATED.load(Ordering::Relaxed));
}
