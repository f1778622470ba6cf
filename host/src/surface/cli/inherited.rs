//! The descriptors that this process inherited beside its standard streams.
#![expect(unsafe_code, reason = "the descriptors have no owner in this process that could lend them")]

use rustix::io::{FdFlags, fcntl_setfd};
use std::{fs, os::fd::BorrowedFd};

/// Keeps inherited descriptors from the processes that this one starts. A keeper and its browser outlive this process:
/// with the write end of a caller's pipe they would keep its reader waiting, with a lock they would keep it locked.
///
/// Called before anything is opened.
pub(super) fn close_on_exec() {
    let inherited = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = inherited.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for number in numbers.filter(|number| *number > 2) {
        // SAFETY: only the descriptor's flag is changed. One that was closed meanwhile, as that of the listing itself,
        // is an error that changes nothing, because no other thread opens one yet.
        let _ = fcntl_setfd(unsafe { BorrowedFd::borrow_raw(number) }, FdFlags::CLOEXEC);
    }
}
