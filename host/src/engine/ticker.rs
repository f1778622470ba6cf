//! Interrupts running turns periodically, so that they check their deadlines. No decision counts ticks: under load they
//! come late, so a turn reads the clocks.

use codemode_spec::limits::TICK_MS;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, Thread},
    time::Duration,
};

/// Idle ticks after which the ticker's thread is parked. Parking at once would wake it for every turn, which costs more
/// than the turn's own work.
const IDLE_TICKS: u32 = 100;

/// Ticks while turns run and for a while afterwards; otherwise its thread is parked.
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

struct Shared {
    running: AtomicUsize,
    parked: AtomicBool,
    ended: AtomicBool,
}

/// A guard of a running turn: ticks continue until it is dropped.
pub(super) struct Running {
    shared: Arc<Shared>,
}

impl Ticker {
    pub(super) fn new(engine: wasmtime::Engine) -> Self {
        let shared = Arc::new(Shared {
            running: AtomicUsize::new(0),
            parked: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        });
        let ticking = shared.clone();
        let handle = thread::Builder::new().name("codemode-tick".to_owned()).stack_size(128 * 1024).spawn(move || {
            let mut idle_ticks = 0;
            while !ticking.ended.load(Ordering::Acquire) {
                if idle_ticks < IDLE_TICKS {
                    thread::park_timeout(Duration::from_millis(TICK_MS));
                    engine.increment_epoch();
                } else {
                    ticking.parked.store(true, Ordering::SeqCst);
                    // A turn that started before the flag was set did not see it.
                    if ticking.running.load(Ordering::SeqCst) == 0 && !ticking.ended.load(Ordering::Acquire) {
                        thread::park();
                    }
                    ticking.parked.store(false, Ordering::SeqCst);
                    idle_ticks = 0;
                    continue;
                }
                let idle = ticking.running.load(Ordering::SeqCst) == 0;
                idle_ticks = if idle { idle_ticks + 1 } else { 0 };
            }
        });
        let thread = handle.expect("the system can start one more thread").thread().clone();
        Self { shared, thread }
    }

    pub(super) fn handle(&self) -> TickerHandle {
        TickerHandle { shared: self.shared.clone(), thread: self.thread.clone() }
    }
}

/// A sandbox's handle to the ticker.
#[derive(Clone)]
pub(super) struct TickerHandle {
    shared: Arc<Shared>,
    thread: Thread,
}

impl TickerHandle {
    pub(super) fn running(&self) -> Running {
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        if self.shared.parked.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        Running { shared: self.shared.clone() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        self.thread.unpark();
    }
}
