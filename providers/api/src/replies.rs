//! Reading replies on the thread that waits for them.
//!
//! A reply normally wakes a worker of the runtime, which reads it and wakes the thread that waits for it. A thread that
//! reads the replies itself is woken alone: one thread switch per call instead of two.

use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, eventfd, poll},
    io::Errno,
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Wake,
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

/// The source from which the replies to running calls arrive, such as the connection to a browser.
pub trait ReplySource: Send + Sync {
    /// Reads on the calling thread, and delivers each reply to its call, until `signal` is set or `until` has passed.
    /// Must be called within the runtime to which the source belongs. The source is read by its runtime again when this
    /// returns, so nothing that arrives between two such readings waits.
    ///
    /// Returns `false` without waiting if the calling thread cannot read now, for example because another one does.
    fn read_until(&self, signal: &WakeSignal, until: Instant) -> bool;
}

/// Wakes one thread that waits for descriptors. Any thread may set it; only the thread that created it may wait.
#[derive(Debug)]
pub struct WakeSignal {
    is_set: AtomicBool,
    event: OwnedFd,
    thread: ThreadId,
}

impl WakeSignal {
    /// A signal for the calling thread.
    ///
    /// # Errors
    /// When the process has no file descriptor left.
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { is_set: AtomicBool::new(false), event, thread: thread::current().id() })
    }

    /// Whether it was set since the last [`Self::reset`].
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Resets it. A later setting is not missed.
    pub fn reset(&self) {
        self.is_set.store(false, Ordering::Release);
    }

    /// Waits until it is set, `descriptor` can be read, or `until` has passed. May return early.
    ///
    /// # Errors
    /// When the kernel does not wait.
    pub fn wait(&self, descriptor: Option<BorrowedFd<'_>>, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        if self.is_set() || left.is_zero() {
            return Ok(());
        }
        // Not longer than the timeout of the system call can express.
        let left = left.min(Duration::from_secs(3_600)).try_into().map_err(|_| Errno::RANGE)?;
        let for_input = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
        let own = self.event.as_fd();
        // Without another descriptor the own one stands twice.
        let mut awaited = [for_input(own), for_input(descriptor.unwrap_or(own))];
        match poll(&mut awaited, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if awaited[0].revents().contains(PollFlags::IN) {
            // Emptied for the next wait; whether it is set is known from elsewhere.
            let _ = rustix::io::read(&self.event, &mut [0; 8]);
        }
        Ok(())
    }
}

impl Wake for WakeSignal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The thread itself does not wait while it sets the signal.
        if !self.is_set.swap(true, Ordering::AcqRel) && thread::current().id() != self.thread {
            let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_waiting_thread_is_woken_by_the_signal_and_by_the_descriptor() {
        let signal = Arc::new(WakeSignal::new().unwrap());
        let began = Instant::now();
        let waking = thread::spawn({
            let signal = Arc::clone(&signal);
            move || signal.wake_by_ref()
        });
        while !signal.is_set() {
            signal.wait(None, began + LONG).unwrap();
        }
        waking.join().unwrap();
        signal.reset();
        assert!(!signal.is_set());

        let (read, written) = io::pipe().unwrap();
        rustix::io::write(&written, b"x").unwrap();
        signal.wait(Some(read.as_fd()), began + LONG).unwrap();
        assert!(!signal.is_set(), "only the descriptor was ready");

        // Set by the thread itself, which does not wait then.
        signal.wake_by_ref();
        signal.wait(None, began + LONG).unwrap();
        signal.reset();
        // What is left of an earlier setting by the other thread ends one wait at most.
        let brief = Duration::from_millis(2);
        signal.wait(None, Instant::now() + brief).unwrap();
        let again = Instant::now();
        signal.wait(None, again + brief).unwrap();
        assert!(!signal.is_set() && again.elapsed() >= brief && began.elapsed() < LONG);
    }
}
