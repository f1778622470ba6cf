//! Browser sessions as a host service, through which a provider acquires and releases the browser of its execution.
//!
//! A session is a running browser; a lease is the exclusive right of one execution to use it. How sessions are recorded
//! and browsers started is up to the host.

use crate::{audit::LeaseMark, id::ExecutionId};
use async_trait::async_trait;
use codemode_spec::{
    ErrorReport,
    session::{LeaseFacts, SessionMode, SessionRequest},
};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{net::UnixStream, time::Instant};
use tokio_util::sync::CancellationToken;

/// Opens browser sessions.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// Opens the requested session and leases it to the execution: an existing browser, or one that is started now.
    ///
    /// # Errors
    /// `SESSION_BUSY` when another execution holds the session for longer than the request is willing to wait, or the
    /// reason why a browser cannot be started. Nothing is held after an error.
    ///
    /// # Cancellation
    /// May be dropped at any time: a lease that was already acquired is released.
    async fn open(&self, order: BrowserOrder) -> Result<Arc<dyn BrowserSession>, ErrorReport>;

    /// The state of the live browser of a key; `None` if the key has none. Starts nothing and takes no lease, so the
    /// browser's idle time is not reset.
    ///
    /// # Errors
    /// When the records cannot be read.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn look(&self, key: &str) -> Result<Option<KeptBrowser>, ErrorReport>;
}

/// The state of the live browser of a key, as seen without a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptBrowser {
    /// The id of the browser's session.
    pub session: String,
    /// The URLs of its pages.
    pub pages: Vec<String>,
    /// Time since the browser was started.
    pub age: Duration,
    /// Time since an execution last used the browser; `None` while an execution holds it.
    pub idle: Option<Duration>,
    /// Time until the browser is ended if no execution uses it.
    pub ends_in: Option<Duration>,
    /// The execution that holds the lease.
    pub holder: Option<String>,
}

/// A request of an execution for a browser session.
#[derive(Clone, Debug)]
pub struct BrowserOrder {
    /// The requesting execution.
    pub execution: ExecutionId,
    /// The session that the call requests.
    pub session: SessionRequest,
    /// The browser program to start if a browser must be started; `None` searches for an installed one.
    pub executable: Option<PathBuf>,
    /// Whether the browser runs without a window.
    pub headless: bool,
    /// The latest time until which to wait for the browser; the request may specify a shorter wait.
    pub deadline: Instant,
    /// Cancels the wait.
    pub cancel: CancellationToken,
}

/// The properties of a leased session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFacts {
    /// The session's id: ASCII letters, digits and `-`.
    pub id: String,
    /// The requested mode.
    pub mode: SessionMode,
    /// The key of the browser, if the request named one.
    pub key: Option<String>,
    /// Whether the browser outlives the execution.
    pub shared: bool,
    /// The fencing token of the lease: the next holder has a larger one.
    pub token: u64,
    /// The browser's program, which determines its protocol version.
    pub program: PathBuf,
    /// The process id of the browser's main process.
    pub browser_pid: u32,
    /// Whether the browser was started for this lease, so that no execution has used it before.
    pub fresh: bool,
    /// The browser's download folder.
    pub downloads_dir: PathBuf,
    /// The file that stores the cookies of the key, for the browser that replaces this one.
    pub cookies: Option<PathBuf>,
    /// The file in which an execution leaves notes for the next execution that uses the key's browser.
    pub notes: Option<PathBuf>,
}

/// A channel to a leased browser. It carries protocol messages, each terminated by a zero byte, and is closed when the
/// lease ends.
#[derive(Debug)]
pub struct BrowserChannel {
    /// A connected socket, already accepted by the peer.
    pub socket: UnixStream,
    /// The channel's root protocol session: every message names this session or one below it.
    pub root: String,
}

/// How a promotion proceeds when another browser has the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Promotion {
    /// Refuse the promotion.
    #[default]
    IfFree,
    /// Close the other browser.
    Replace,
}

/// A session that is leased to one execution. The lease is released at the latest when this value is dropped.
///
/// # Cancellation
/// A method that changes the session runs to completion even if its future is dropped.
#[async_trait]
pub trait BrowserSession: Send + Sync {
    /// The session's properties.
    fn facts(&self) -> SessionFacts;

    /// The lease as the answer reports it.
    fn lease(&self) -> LeaseFacts;

    /// The lease as the audit identifies it.
    fn mark(&self) -> LeaseMark;

    /// Why the lease does not hold any more, as far as this process knows: it may have learnt of a loss, or the lease
    /// may have expired by the clock. Called before each command; must not wait. It need not find every loss, since a
    /// channel carries nothing without the lease.
    fn lost(&self) -> Option<ErrorReport>;

    /// Checks that the lease still holds, according to the records.
    ///
    /// # Errors
    /// `SESSION_LOST` when another execution has, or may have had, the lease; `SESSION_EXPIRED` when the browser was
    /// ended.
    async fn check(&self) -> Result<(), ErrorReport>;

    /// Opens a new channel to the browser. Any number may be open; all are closed when the lease ends. What reads the
    /// other end must check the lease before each message that it passes on.
    ///
    /// # Errors
    /// As [`Self::check`], and `CDP_CONNECTION_FAILED` when the browser cannot be reached, with the detail `refused` if
    /// it is certain that the browser no longer exists.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn connect(&self) -> Result<BrowserChannel, ErrorReport>;

    /// Replaces a browser that no longer answers: ends what remains of it and starts another browser in its place.
    ///
    /// # Errors
    /// When the lease is lost, or no other browser can be started.
    async fn replace(&self, reason: &str) -> Result<(), ErrorReport>;

    /// Makes the browser the shared browser of its key.
    ///
    /// # Errors
    /// `SESSION_BUSY` when another browser has the key or another execution uses it; with [`Promotion::Replace`] only
    /// the latter. `SESSION_LOST` when an operator removed the key in the meantime.
    async fn promote(&self, promotion: Promotion) -> Result<(), ErrorReport>;

    /// Ends the browser permanently, and the session with it; the data stored for its key is removed as well.
    ///
    /// # Errors
    /// When the browser cannot be ended; the next sweep retries.
    async fn close(&self) -> Result<(), ErrorReport>;

    /// As [`Self::close`], but starts another browser under the same lease, so that no other execution can take the key
    /// in between.
    ///
    /// # Errors
    /// When the browser cannot be ended, or no other one can be started.
    async fn reset(&self) -> Result<(), ErrorReport>;

    /// Releases the lease: a shared browser keeps running, any other browser is ended. Called at the end; a second call
    /// does nothing.
    ///
    /// # Errors
    /// When the browser cannot be ended, or the lease was lost in the meantime.
    async fn release(&self) -> Result<(), ErrorReport>;

    /// Warnings for the reader of the answer, for example that the browser was replaced.
    fn warnings(&self) -> Vec<String>;
}
