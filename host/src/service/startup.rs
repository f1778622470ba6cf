//! Lazy initialisation with progress reports: a part of the service is created at its first use, and concurrent callers
//! wait for it.

use codemode_spec::{ErrorCode, ErrorReport};
use std::sync::Arc;
use tokio::sync::{OnceCell, watch};

/// Receives progress messages, one line each.
pub type Progress = Arc<dyn Fn(&str) + Send + Sync>;

/// A part that is created once. If that fails, the next caller tries again.
pub(super) struct Startup<T> {
    part: OnceCell<T>,
    progress: watch::Sender<String>,
}

impl<T> Default for Startup<T> {
    fn default() -> Self {
        Self { part: OnceCell::new(), progress: watch::Sender::default() }
    }
}

impl<T: Send + Sync + 'static> Startup<T> {
    /// The part, once it is created. Progress is reported to `progress` until then, even if another caller's `make`
    /// runs.
    ///
    /// `make` may block: it runs on a thread for blocking work. It reports its progress to its argument.
    ///
    /// # Errors
    /// As `make`.
    ///
    /// # Cancellation
    /// May be dropped at any time. A `make` that is running continues, but its result is lost.
    pub(super) async fn get(
        &self,
        progress: &(dyn Fn(&str) + Send + Sync),
        make: impl FnOnce(&dyn Fn(&str)) -> Result<T, ErrorReport> + Send + 'static,
    ) -> Result<&T, ErrorReport> {
        let mut updates = self.progress.subscribe();
        // A caller that arrives in the meantime gets the latest message.
        if !updates.borrow().is_empty() {
            updates.mark_changed();
        }
        let made = self.part.get_or_try_init(|| {
            let sender = self.progress.clone();
            // The last message may be that of an attempt that failed or whose caller has gone away.
            sender.send_replace(String::new());
            blocking(move || make(&|text| drop(sender.send_replace(text.to_owned()))))
        });
        tokio::pin!(made);
        loop {
            tokio::select! {
                biased;
                made = &mut made => return made,
                Ok(()) = updates.changed() => {
                    let message = updates.borrow_and_update().clone();
                    if !message.is_empty() {
                        progress(&message);
                    }
                }
            }
        }
    }

    /// The part, if it has been created.
    pub(super) fn if_ready(&self) -> Option<&T> {
        self.part.get()
    }
}

/// Runs a blocking job off the async workers.
pub(super) async fn blocking<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, ErrorReport> + Send + 'static,
) -> Result<T, ErrorReport> {
    tokio::task::spawn_blocking(job).await.unwrap_or_else(|error| {
        tracing::error!(%error, "a task panicked");
        Err(ErrorReport::new(ErrorCode::HostFault, "a part of the host failed"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        pin::pin,
        sync::{Mutex, mpsc},
        time::Duration,
    };

    /// The deadline for progress reports: far longer than any step takes.
    const HEARD: Duration = Duration::from_secs(20);

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_part_is_made_once_and_every_caller_hears_how_far_it_is() {
        let startup: Startup<u32> = Startup::default();
        let (go, gate) = mpsc::channel();
        let heard: [Mutex<Vec<String>>; 2] = Default::default();
        let heard = &heard;
        let hear = |text: &str| heard[0].lock().unwrap().push(text.to_owned());
        let first = startup.get(&hear, move |tell| {
            tell("half way");
            gate.recv().unwrap();
            Ok(7)
        });
        let second = async {
            while heard[0].lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
            let tell = |text: &str| {
                heard[1].lock().unwrap().push(text.to_owned());
                go.send(()).unwrap();
            };
            startup.get(&tell, |_| Ok(8)).await
        };
        let both = async { tokio::join!(first, second) };
        let (first, second) = tokio::time::timeout(HEARD, both).await.expect("the second caller hears of it");
        assert_eq!((first, second), (Ok(&7), Ok(&7)));
        assert_eq!(heard.each_ref().map(|heard| heard.lock().unwrap().concat()), ["half way", "half way"]);
    }

    #[tokio::test]
    async fn an_attempt_that_failed_is_not_heard_of_by_the_next_caller() {
        let startup: Startup<u32> = Startup::default();
        let failed = startup.get(&|_| {}, |tell| {
            tell("of the first");
            Err(ErrorReport::new(ErrorCode::NotReady, "not now"))
        });
        assert_eq!(failed.await.unwrap_err().code, ErrorCode::NotReady);
        let (heard, (go, gate)) = (Mutex::<Vec<String>>::default(), mpsc::channel());
        let hear = |text: &str| heard.lock().unwrap().push(text.to_owned());
        let made = startup.get(&hear, move |_| Ok(u32::from(gate.recv_timeout(HEARD).is_ok())));
        let mut made = pin!(made);
        assert!(futures::poll!(&mut made).is_pending());
        go.send(()).unwrap();
        assert_eq!((made.await, heard.lock().unwrap().as_slice()), (Ok(&1), [].as_slice()));
    }

    #[tokio::test]
    async fn what_failed_is_tried_again() {
        let startup: Startup<u32> = Startup::default();
        let failed = startup.get(&|_| {}, |_| Err(ErrorReport::new(ErrorCode::NotReady, "not now"))).await;
        assert_eq!(failed.unwrap_err().code, ErrorCode::NotReady);
        let panicked = startup.get(&|_| {}, |_| panic!("on purpose")).await;
        assert_eq!(panicked.unwrap_err().code, ErrorCode::HostFault);
        assert_eq!((startup.if_ready(), startup.get(&|_| {}, |_| Ok(1)).await), (None, Ok(&1)));
    }
}
