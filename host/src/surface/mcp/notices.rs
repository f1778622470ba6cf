//! Notifications to a client while a script runs: progress, as the number of calls made, and console lines.
//!
//! A client that reads slowly gets fewer notifications and delays nothing: newer progress replaces progress that is not
//! yet sent, and console lines are dropped when the queue is full. The answer contains all of them.

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

/// The number of console lines that are queued for sending.
const LINES_WAITING_MAX: usize = 256;
/// The minimum interval between two progress notifications.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// The progress of an execution.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// Increases monotonically: below one while the sandbox is prepared, then the number of calls.
    at: f64,
    message: String,
}

/// The sending end, to which an execution reports.
pub(super) struct Reporter {
    lines: mpsc::Sender<(LoggingLevel, String)>,
    progress: watch::Sender<Progress>,
    least_level: Option<u8>,
}

impl Reporter {
    /// Reports that the sandbox is being prepared.
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
            // Dropped if the queue is full: the answer contains the line.
            let _ = self.lines.try_send((level, line.text.clone()));
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "calls are bounded far below the integers that a float holds")]
    fn call(&self, namespace: &str, method: &str, calls: u64) {
        self.progress.send_replace(Progress { at: calls as f64, message: format!("{namespace}.{method}") });
    }
}

/// The receiving end, which notifies the client.
pub(super) struct Notices {
    lines: mpsc::Receiver<(LoggingLevel, String)>,
    progress: watch::Receiver<Progress>,
    token: Option<ProgressToken>,
    peer: Peer<RoleServer>,
    cancel: CancellationToken,
}

/// Creates both ends for one call.
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
    /// Forwards reports to the client while `execution` runs. All lines reported before it completes are sent before
    /// this returns, unless the client has cancelled the call.
    pub(super) async fn during<T>(mut self, execution: impl Future<Output = T>) -> T {
        let ended = CancellationToken::new();
        let cancel = self.cancel.clone();
        let execution = async {
            let outcome = execution.await;
            ended.cancel();
            outcome
        };
        let forwarding = async {
            tokio::select! {
                () = self.forward(&ended) => {}
                // A client that has cancelled the call ignores its notifications, and may not even read.
                () = cancel.cancelled() => {}
            }
        };
        tokio::join!(execution, forwarding).0
    }

    async fn forward(&mut self, ended: &CancellationToken) {
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
                    self.send_line(line).await;
                }
                () = ended.cancelled() => return,
                Ok(()) = progress, if self.token.is_some() => {
                    next_progress = Instant::now() + PROGRESS_INTERVAL;
                    self.send_progress().await;
                }
            }
        }
    }

    async fn send_line(&self, line: LoggingMessageNotificationParam) {
        // A failure means that the client has disconnected, which cancels the execution elsewhere.
        let _ = self.peer.notify_logging_message(line).await;
    }

    async fn send_progress(&mut self) {
        let Some(token) = self.token.clone() else { return };
        let Progress { at, message } = self.progress.borrow_and_update().clone();
        let progress = ProgressNotificationParam::new(token, at).with_message(message);
        let _ = self.peer.notify_progress(progress).await;
    }
}
