//! Browser sessions as a host service: a provider asks for the browser of its execution and gives it back.
//!
//! A session is a browser that exists; a lease is the exclusive right of one execution to use it. Who keeps the records
//! and starts the browsers is the host's business.

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
    /// The session that an execution asked for, leased to it: an existing browser, or one that is started now.
    ///
    /// # Errors
    /// `SESSION_BUSY` when another execution holds it for longer than the request is willing to wait, and what keeps a
    /// browser from starting. Nothing is held then.
    ///
    /// # Cancellation
    /// May be dropped at any time: what was already leased is released.
    async fn open(&self, order: BrowserOrder) -> Result<Arc<dyn BrowserSession>, ErrorReport>;

    /// What is known of the live browser of a key; `None` if the key has none. Starts nothing and takes no lease: the
    /// browser's idle time goes on.
    ///
    /// # Errors
    /// When the records cannot be read.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn look(&self, key: &str) -> Result<Option<KeptBrowser>, ErrorReport>;
}

/// The live browser of a key, seen without a lease on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptBrowser {
    /// The id of its session.
    pub session: String,
    /// What its pages show: URLs.
    pub pages: Vec<String>,
    /// For how long it has existed.
    pub age: Duration,
    /// For how long no execution has used it; `None` while an execution holds it.
    pub idle: Option<Duration>,
    /// In how long it ends if no execution uses it.
    pub ends_in: Option<Duration>,
    /// The execution that holds it.
    pub holder: Option<String>,
}

/// The browser session that an execution asks for.
#[derive(Clone, Debug)]
pub struct BrowserOrder {
    /// The execution that asks.
    pub execution: ExecutionId,
    /// The session, as the call asks for it.
    pub session: SessionRequest,
    /// The browser program to start if a browser must be started; `None` finds a program.
    pub executable: Option<PathBuf>,
    /// Without a window.
    pub headless: bool,
    /// Until when the browser may be waited for, if that is sooner than the request says.
    pub deadline: Instant,
    /// Ends the wait.
    pub cancel: CancellationToken,
}

/// What is known of a leased session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFacts {
    /// Names it: ASCII letters, digits and `-`.
    pub id: String,
    /// As it was asked for.
    pub mode: SessionMode,
    /// Which browser, if it was asked for by a key.
    pub key: Option<String>,
    /// It outlives the execution.
    pub shared: bool,
    /// The fencing token of the lease: the next holder has a larger one.
    pub token: u64,
    /// The program of the browser, which tells what protocol it speaks.
    pub program: PathBuf,
    /// The number of its main process.
    pub browser_pid: u32,
    /// It was started for this lease: no execution has used it before.
    pub fresh: bool,
    /// Where what it downloads goes.
    pub downloads_dir: PathBuf,
    /// The file in which the cookies of the key are kept, for the browser that replaces this one.
    pub cookies: Option<PathBuf>,
    /// The file in which an execution leaves what the next one that uses the key's browser should know.
    pub notes: Option<PathBuf>,
}

impl SessionFacts {
    /// What the lease is known by.
    #[must_use]
    pub fn mark(self) -> LeaseMark {
        let Self { id, key, shared, token, .. } = self;
        LeaseMark { session: id, key: key.filter(|_| shared), token }
    }
}

/// A way to a leased browser. Protocol messages go over it, each with a zero byte behind it. It ends with the lease.
#[derive(Debug)]
pub struct BrowserChannel {
    /// Connected, and accepted on the other side.
    pub socket: UnixStream,
    /// The protocol session below which everything on this channel happens: each message names it or one below it.
    pub root: String,
}

/// What a script wants when it promotes its browser and another one has its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Promotion {
    /// It is refused.
    #[default]
    IfFree,
    /// The other one is closed.
    Replace,
}

/// A session that is leased to one execution. It is released at the latest when it is dropped.
///
/// # Cancellation
/// What changes it is carried out to its end if the call is dropped.
#[async_trait]
pub trait BrowserSession: Send + Sync {
    /// What is known of it.
    fn facts(&self) -> SessionFacts;

    /// What the answer tells of the lease.
    fn lease(&self) -> LeaseFacts;

    /// Whether the lease still holds. Asked before each effect.
    ///
    /// # Errors
    /// `SESSION_LOST` when another execution has it or may have had it, `SESSION_EXPIRED` when the browser was ended.
    async fn check(&self) -> Result<(), ErrorReport>;

    /// A new channel to the browser. Any number may be open; all end with the lease.
    ///
    /// # Errors
    /// As [`Self::check`], and `CDP_CONNECTION_FAILED` when the browser cannot be reached; with the detail `refused` if it
    /// is certain that it is gone.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn connect(&self) -> Result<BrowserChannel, ErrorReport>;

    /// The browser does not answer any more: ends what is left of it and starts another one in its place.
    ///
    /// # Errors
    /// When the lease is lost, or no other one can be started.
    async fn replace(&self, reason: &str) -> Result<(), ErrorReport>;

    /// Makes the browser the shared one of the key.
    ///
    /// # Errors
    /// `SESSION_BUSY` when another browser has the key or another execution uses it; with [`Promotion::Replace`] only the
    /// latter. `SESSION_LOST` when an operator took the key meanwhile.
    async fn promote(&self, promotion: Promotion) -> Result<(), ErrorReport>;

    /// Ends the browser now, for good: what is kept of its key is removed as well. The session is over with it.
    ///
    /// # Errors
    /// When it cannot be ended; the next sweep tries again.
    async fn close(&self) -> Result<(), ErrorReport>;

    /// As [`Self::close`], and another browser takes its place under the same lease, so that no other execution
    /// comes in between.
    ///
    /// # Errors
    /// When it cannot be ended, or no other one can be started.
    async fn reset(&self) -> Result<(), ErrorReport>;

    /// Gives it back: a shared browser stays, another one is ended. Called at the end; a second call does nothing.
    ///
    /// # Errors
    /// When the browser cannot be ended, or the lease was lost meanwhile.
    async fn release(&self) -> Result<(), ErrorReport>;

    /// What the reader of the answer should know, as that the browser was replaced.
    fn warnings(&self) -> Vec<String>;
}
