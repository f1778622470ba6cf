//! Triggers garbage collection by the number of allocated bytes. The engine's collector alone is not enough: it counts
//! its own boxes, but not the strings and buffers that they own.

use codemode_spec::limits::{GUEST_STACK_BYTES, MEMORY_BYTES_MAX, MIB};
use std::{
    cell::Cell,
    sync::atomic::{AtomicUsize, Ordering},
};

/// Bytes that may be allocated since the last collection before the next one, ...
const GROWTH_BYTES: usize = 32 * MIB;
/// ... or the remaining memory divided by this, if that is less.
const GROWTH_DIVISOR: usize = 2;

/// The number of allocated bytes. Maintained by the sandbox's allocator only; native builds do not bound memory.
pub static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static ALLOCATED_BEFORE: Cell<usize> = const { Cell::new(0) };
}

/// Collects garbage if enough was allocated since the last collection. Called where large values may have been created.
pub fn collect_if_grown() {
    let before = ALLOCATED_BEFORE.get();
    let left = (MEMORY_BYTES_MAX - GUEST_STACK_BYTES).saturating_sub(before);
    if ALLOCATED.load(Ordering::Relaxed).saturating_sub(before) > GROWTH_BYTES.min(left / GROWTH_DIVISOR) {
        collect();
    }
}

/// What an execution can allocate before the linear memory has to grow: growing costs more than most scripts do.
#[cfg(target_arch = "wasm32")]
const HEADROOM_BYTES: usize = MIB / 2;
/// The allocator's smallest allocation.
#[cfg(target_arch = "wasm32")]
const ALLOCATION_BYTES_MIN: usize = 8;

/// Fills the holes between live allocations, so that all later allocations are contiguous behind them. An execution
/// then writes to few pages; all other pages stay shared with the image.
#[cfg(target_arch = "wasm32")]
pub fn fill_heap_holes() {
    let behind = address(&Vec::with_capacity(HEADROOM_BYTES));
    let mut bytes = HEADROOM_BYTES;
    while bytes >= ALLOCATION_BYTES_MIN {
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
