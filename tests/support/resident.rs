//! Measures the resident memory of a process, excluding its sandboxes.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// A mapping of `/proc/PID/smaps`.
struct Mapping {
    start: u64,
    end: u64,
    writable: bool,
    /// Whether it maps the sandbox image, with which the linear memory of a sandbox begins.
    image: bool,
    kib: usize,
}

/// The resident writable memory of a process in KiB, without the linear memories of its sandboxes: those are the
/// mappings of the image and the adjacent writable ones, with guard pages on both sides. Read-only mappings do not
/// count: the system can reclaim their pages.
pub fn beside_sandboxes_kib(pid: i32) -> usize {
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/smaps")) else { return 0 };
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(first), Some(second)) = (words.next(), words.next()) else { continue };
        if let Some((start, end)) = first.split_once('-') {
            let address = |text| u64::from_str_radix(text, 16).unwrap();
            let writable = second.starts_with("rw");
            // The process that compiled the image maps it from memory, others map its file.
            let image = writable && (line.contains("memfd:wasm-memory-image") || line.ends_with(".cwasm"));
            let (start, end) = (address(start), address(end));
            // A mapping that grows while the file is read may be listed twice.
            mappings.pop_if(|last| last.end > start);
            mappings.push(Mapping { start, end, writable, image, kib: 0 });
        } else if matches!(first, "Private_Dirty:" | "Swap:")
            && let Some(mapping) = mappings.last_mut().filter(|mapping| mapping.writable)
        {
            mapping.kib += second.parse::<usize>().unwrap();
        }
    }
    let touching = mappings.chunk_by(|one, next| one.end == next.start && one.writable && next.writable);
    touching.filter(|chunk| !chunk.iter().any(|one| one.image)).flatten().map(|one| one.kib).sum()
}

/// The sampling interval. Allocations held for a shorter time are missed, but they are small: a process gets about a
/// gibibyte per second from the system.
const LOOK_INTERVAL: Duration = Duration::from_millis(4);

/// Samples the memory of a process in the background.
pub struct Watch {
    peak_kib: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub fn start(pid: i32) -> Self {
        let (peak_kib, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let thread = thread::spawn({
            let (peak_kib, over) = (Arc::clone(&peak_kib), Arc::clone(&over));
            move || {
                while !over.load(Ordering::Relaxed) {
                    peak_kib.fetch_max(beside_sandboxes_kib(pid), Ordering::Relaxed);
                    thread::park_timeout(LOOK_INTERVAL);
                }
            }
        });
        Self { peak_kib, over, thread: Some(thread) }
    }

    /// Stops, and returns the highest sample.
    pub fn peak_kib(mut self) -> usize {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
        self.peak_kib.load(Ordering::Relaxed)
    }
}
