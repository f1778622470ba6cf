//! The program's allocator: what an execution has let go of goes back to the system, most of which the system's own
//! allocator would keep for later.

use libmimalloc_sys::{mi_option_set_default, mi_option_t};
use mimalloc::MiMalloc;
use std::ffi::c_long;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// `mi_option_purge_delay`: after how many milliseconds unused pages are given back.
const PURGE_DELAY: mi_option_t = 15;
/// At once, so that what is used next does not come on top of it: of a second, which is the allocator's own default, a
/// script can make a hundred mebibytes, of ten milliseconds twenty (measured by `tests/memory.rs`).
const PURGE_DELAY_MS: c_long = 0;

/// To be called before anything large is allocated.
#[expect(unsafe_code, reason = "the allocator's options have no safe form")]
pub fn give_pages_back_soon() {
    // SAFETY: sets a number that the allocator reads; every value is one that it takes.
    unsafe { mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MS) };
}
