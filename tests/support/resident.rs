//! What a process holds in memory beside its sandboxes.

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
    /// The linear memory of a sandbox begins with the pages of its image.
    image: bool,
    kib: usize,
}

/// KiB of writable memory that a process has resident, the linear memories of its sandboxes not counted: those are the
/// mappings of the image and the writable ones that touch them, on both sides of which lie guard pages. What is mapped
/// to be read does not count: the system may take its pages back.
pub fn beside_sandboxes_kib(pid: i32) -> usize {
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/smaps")) else { return 0 };
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(first), Some(second)) = (words.next(), words.next()) else { continue };
        if let Some((start, end)) = first.split_once('-') {
            let address = |text| u64::from_str_radix(text, 16).unwrap();
            let writable = second.starts_with("rw");
            // Mapped from memory by the process that made the image, and from its file by others.
            let image = writable && (line.contains("memfd:wasm-memory-image") || line.ends_with(".cwasm"));
            let (start, end) = (address(start), address(end));
            // One that grows while the file is read may be told twice.
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

/// How long it takes until a watch looks again. What is held for a shorter time is a few pages: a process gets about a
/// gibibyte a second from the system.
const LOOK_INTERVAL: Duration = Duration::from_millis(4);

/// Looks at a process again and again until it is asked.
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

    /// The most that was seen.
    pub fn peak_kib(mut self) -> usize {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
        self.peak_kib.load(Ordering::Relaxed)
    }
}
