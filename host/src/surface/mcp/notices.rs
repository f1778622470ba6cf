//! What a client is told while a script runs: how many calls it has made, and what it writes to the console.
//!
//! A client that reads slowly is told less, and delays nothing: the newest progress replaces what was not yet sent, and
//! console lines for which there is no room are left out here. The answer has them all the same.

use crate::service::Observer;
use codemode_spec::message::{ConsoleLine, Level};
use rmcp::{
    Peer, RoleServer,
    model::{LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

/// Console lines that wait to be sent.
const LINES_WAITING_MAX: usize = 256;
/// The least time between two notifications of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// How far an execution is.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// Grows. Below one while the sandbox is prepared, then the number of calls.
    at: f64,
    message: String,
}

/// The end that an execution reports to.
pub(super) struct Reporter {
    lines: mpsc::Sender<(LoggingLevel, String)>,
    progress: watch::Sender<Progress>,
    least_level: Option<u8>,
}

impl Reporter {
    /// The sandbox is being prepared.
    pub(super) fn preparing(&self, text: &str) {
        self.progress.send_modify(|progress| {
            progress.at = f64::midpoint(progress.at, 1.0);
            progress.message = text.to_owned();
        });
    }
}

impl Observer for Reporter {
    fn console(&self, line: &ConsoleLine) {
        let level = match line.level {
            Level::Debug => LoggingLevel::Debug,
            Level::Log | Level::Info => LoggingLevel::Info,
            Level::Warn => LoggingLevel::Warning,
            Level::Error => LoggingLevel::Error,
        };
        if self.least_level.is_some_and(|least| level as u8 >= least) {
            // No room: the answer has it.
            let _ = self.lines.try_send((level, line.text.clone()));
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "calls are bounded far below the integers that a float holds")]
    fn call(&self, namespace: &str, method: &str, calls: u64) {
        self.progress.send_replace(Progress { at: calls as f64, message: format!("{namespace}.{method}") });
    }
}

/// The end that tells the client.
pub(super) struct Notices {
    lines: mpsc::Receiver<(LoggingLevel, String)>,
    progress: watch::Receiver<Progress>,
    token: Option<ProgressToken>,
    peer: Peer<RoleServer>,
    cancel: CancellationToken,
}

/// Both ends, for one call.
pub(super) fn channel(context: &RequestContext<RoleServer>, least_level: Option<u8>) -> (Arc<Reporter>, Notices) {
    let (lines_sender, lines) = mpsc::channel(LINES_WAITING_MAX);
    let (progress_sender, progress) = watch::channel(Progress::default());
    let reporter = Reporter { lines: lines_sender, progress: progress_sender, least_level };
    let notices = Notices {
        lines,
        progress,
        token: context.meta.get_progress_token(),
        peer: context.peer.clone(),
        cancel: context.ct.clone(),
    };
    (Arc::new(reporter), notices)
}

impl Notices {
    /// Tells the client what is reported while something runs. All lines reported before its end are sent before this
    /// returns, unless the client cancelled.
    pub(super) async fn during<T>(mut self, execution: impl Future<Output = T>) -> T {
        let ended = CancellationToken::new();
        let cancel = self.cancel.clone();
        let execution = async {
            let outcome = execution.await;
            ended.cancel();
            outcome
        };
        let telling = async {
            tokio::select! {
                () = self.tell(&ended) => {}
                // A client that cancelled does not listen any more, and may not even read.
                () = cancel.cancelled() => {}
            }
        };
        tokio::join!(execution, telling).0
    }

    async fn tell(&mut self, ended: &CancellationToken) {
        let mut next_progress = Instant::now();
        loop {
            let progress = async {
                sleep_until(next_progress).await;
                self.progress.changed().await
            };
            tokio::select! {
                biased;
                Some((level, text)) = self.lines.recv() => {
                    let line = LoggingMessageNotificationParam::new(level, text.into()).with_logger("script");
                    self.tell_line(line).await;
                }
                () = ended.cancelled() => return,
                Ok(()) = progress, if self.token.is_some() => {
                    next_progress = Instant::now() + PROGRESS_INTERVAL;
                    self.tell_progress().await;
                }
            }
        }
    }

    async fn tell_line(&self, line: LoggingMessageNotificationParam) {
        // A client that cannot be reached is gone, and that ends the execution elsewhere.
        let _ = self.peer.notify_logging_message(line).await;
    }

    async fn tell_progress(&mut self) {
        let Some(token) = self.token.clone() else { return };
        let Progress { at, message } = self.progress.borrow_and_update().clone();
        let progress = ProgressNotificationParam::new(token, at).with_message(message);
        let _ = self.peer.notify_progress(progress).await;
    }
}
