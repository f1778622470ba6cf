//! The exports of the wasm module, as `codemode_spec::abi` defines them, and its allocator.
#![expect(unsafe_code, reason = "exported names, the constructors' symbol and an allocator have no safe form")]

use crate::{
    Guest,
    memory::{self, ALLOCATED},
};
use codemode_spec::{
    abi::{ABI_VERSION, pack},
    message,
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::RefCell,
    sync::atomic::Ordering,
};

thread_local! {
    static GUEST: RefCell<Option<Guest>> = const { RefCell::new(None) };
    /// The message from the host, and after a call the answer to it.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The system's allocator, counting the allocated bytes.
struct CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

// SAFETY: every call is forwarded unchanged to the system's allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATED.fetch_add(size.wrapping_sub(layout.size()), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

unsafe extern "C" {
    fn __wasm_call_ctors();
}

/// Runs the static constructors once. Without this export, the linker would run them again in every exported function.
#[unsafe(no_mangle)]
pub extern "C" fn _initialize() {
    // SAFETY: the symbol is the linker's own, and this is the one place that calls it.
    unsafe { __wasm_call_ctors() }
}

#[unsafe(no_mangle)]
extern "C" fn codemode_abi_version() -> u32 {
    ABI_VERSION
}

#[unsafe(no_mangle)]
extern "C" fn codemode_initialize() {
    let guest = Guest::new().unwrap_or_else(|error| panic!("the prelude failed: {error}"));
    GUEST.set(Some(guest));
    memory::fill_heap_holes();
}

#[unsafe(no_mangle)]
extern "C" fn codemode_layer(_length: u32) -> u64 {
    let place = answer(|guest, message| {
        message::encode(&guest.add_layer(&message::decode(message).expect("the host wrote a Layer")))
    });
    // Parsing the layer has freed memory: fill those holes, too.
    memory::fill_heap_holes();
    place
}

#[unsafe(no_mangle)]
extern "C" fn codemode_buffer(length: u32) -> u32 {
    BUFFER.with_borrow_mut(|buffer| {
        buffer.clear();
        buffer.resize(length as usize, 0);
        buffer.as_mut_ptr() as u32
    })
}

#[unsafe(no_mangle)]
extern "C" fn codemode_start(_length: u32) -> u64 {
    answer(|guest, message| message::encode(&guest.start(message::decode(message).expect("the host wrote a Start"))))
}

#[unsafe(no_mangle)]
extern "C" fn codemode_resume(_length: u32) -> u64 {
    answer(|guest, message| message::encode(&guest.resume(message::decode(message).expect("the host wrote a Resume"))))
}

/// Passes the message in the buffer to the guest, stores the answer in the buffer and returns its location.
fn answer(run: impl FnOnce(&mut Guest, &[u8]) -> Vec<u8>) -> u64 {
    let message = BUFFER.take();
    let answer = GUEST.with_borrow_mut(|guest| {
        let guest = guest.as_mut().expect("the image was initialised");
        let answer = run(guest, &message);
        debug_assert!(guest.is_idle());
        answer
    });
    let place = pack(answer.as_ptr() as u32, answer.len() as u32);
    BUFFER.set(answer);
    place
}
