//! Polling a future on a turn thread for a short time.

use codemode_provider::{ReplySource, WakeSignal};
use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

thread_local! {
    /// The signal of this thread; `None` if the process had no file descriptor left for it.
    static SIGNAL: Option<Arc<WakeSignal>> = WakeSignal::new().ok().map(Arc::new);
}

/// Polls a future on this thread until it is ready; `None` when the deadline passes first, or the thread cannot wait. It
/// blocks the thread instead of using a timer of the runtime, which would wake one of the runtime's workers each time.
/// Meanwhile the thread reads the replies of `source` itself.
pub(super) fn poll_until<T>(
    until: Instant,
    source: Option<&dyn ReplySource>,
    future: impl Future<Output = T>,
) -> Option<T> {
    let signal = SIGNAL.with(Clone::clone)?;
    let waker = Arc::clone(&signal).into();
    let mut future = pin!(future);
    loop {
        signal.reset();
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(value);
        }
        if Instant::now() >= until {
            return None;
        }
        if !source.is_some_and(|source| source.read_until(&signal, until)) {
            signal.wait(None, until).ok()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{thread, time::Duration};
    use tokio::sync::oneshot;

    #[test]
    fn a_future_is_polled_until_it_is_ready_or_the_time_has_come() {
        let (sender, receiver) = oneshot::channel();
        let sending = thread::spawn(move || sender.send(7).unwrap());
        assert_eq!(poll_until(Instant::now() + Duration::from_secs(60), None, receiver), Some(Ok(7)));
        sending.join().unwrap();
        assert_eq!(poll_until(Instant::now() + Duration::from_millis(1), None, std::future::pending::<()>()), None);
        assert_eq!(poll_until(Instant::now(), None, async { 1 }), Some(1));
    }
}
