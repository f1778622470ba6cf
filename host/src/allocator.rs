//! The program's allocator, configured to return freed memory to the system at once. The system's own allocator would
//! keep most of what an execution frees.

use libmimalloc_sys::{mi_option_set_default, mi_option_t};
use mimalloc::MiMalloc;
use std::ffi::c_long;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// `mi_option_purge_delay`: the delay in milliseconds before unused pages are returned to the system.
const PURGE_DELAY: mi_option_t = 15;
/// No delay, so that unused pages do not add to what is allocated next: a script can accumulate a hundred mebibytes of
/// them within a second, which is the allocator's own default, and twenty within ten milliseconds (measured by
/// `tests/memory.rs`).
const PURGE_DELAY_MS: c_long = 0;

/// Must be called before any large allocation.
#[expect(unsafe_code, reason = "the allocator's options have no safe form")]
pub fn purge_freed_memory_at_once() {
    // SAFETY: sets a number that the allocator reads; every value is valid.
    unsafe { mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MS) };
}
