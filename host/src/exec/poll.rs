//! Polling a future on a turn thread for a short time.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake},
    thread::{self, Thread},
    time::Instant,
};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future on this thread until it is ready; `None` when the deadline passes first. It parks the thread instead
/// of using a timer of the runtime, which would wake one of the runtime's workers each time.
pub(super) fn poll_until<T>(until: Instant, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let waker = Arc::new(Unpark(thread::current())).into();
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(value);
        }
        match until.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => thread::park_timeout(left),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::sync::oneshot;

    #[test]
    fn a_future_is_polled_until_it_is_ready_or_the_time_has_come() {
        let (sender, receiver) = oneshot::channel();
        let sending = thread::spawn(move || sender.send(7).unwrap());
        assert_eq!(poll_until(Instant::now() + Duration::from_secs(60), receiver), Some(Ok(7)));
        sending.join().unwrap();
        assert_eq!(poll_until(Instant::now() + Duration::from_millis(1), std::future::pending::<()>()), None);
        assert_eq!(poll_until(Instant::now(), async { 1 }), Some(1));
    }
}
