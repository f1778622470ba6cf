//! The browser of one execution: opened at its first use, closed at its end.

mod describe;
mod external;
mod facts;
mod verbs;

use crate::{
    config::Source,
    connected::ConnectedBrowser,
    cookies,
    notes::Notes,
    owned::{OwnedTargets, TargetOwners},
    policy::DevicePermission,
    reports::gone,
    route::Route,
    targets::Departure,
};
use async_trait::async_trait;
use codemode_chromium::{Browser, Endpoint, Executable, LaunchOptions, REFUSED, find};
use codemode_provider::{
    BrowserOrder, BrowserSession, Ending, ExecutionContext, Folders, KeptBrowser, LeaseMark, Refusal, RefusalSink,
    ReplyRoom, ReplySource, ServiceRuntime, SessionFacts, Sessions,
};
use codemode_spec::{
    ErrorCode, ErrorReport,
    envelope::Context,
    limits::AUDIT_REFUSALS_MAX,
    session::{LeaseFacts, SessionMode, SessionRequest},
};
use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// How long a browser may take to start.
const START_MAX: Duration = Duration::from_secs(30);
/// How long connecting may take.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long each of the three steps of closing an execution's targets in an external browser may take.
pub(crate) const CLOSE_OWNED_MAX: Duration = Duration::from_secs(4);

enum State {
    NotStarted,
    /// Started, but never connected to. The first connection restores what is saved of the key: a call that is dropped
    /// before that leaves it to the next call.
    Started(Owner),
    Running(Owner),
    Ended,
}

/// Who owns the browser.
enum Owner {
    /// A person or program other than codemode, at an endpoint.
    External(Endpoint),
    /// This execution, because the host has no sessions. With the path of the browser's program.
    Execution(Box<Browser>, PathBuf),
    /// A session that is leased to this execution.
    Leased(Arc<dyn BrowserSession>),
}

impl Owner {
    fn route(&self) -> Route {
        match self {
            Self::External(endpoint) => Route::Endpoint(endpoint.clone()),
            Self::Execution(browser, program) => Route::Own(browser.relay().clone(), program.clone()),
            Self::Leased(session) => Route::Leased(Arc::clone(session)),
        }
    }
}

/// The browser of an execution, which all its namespaces share.
///
/// Opened at the first use by any namespace, released once, after all of them were disposed of. A namespace finds it
/// among the services of its context.
pub struct ExecutionBrowser {
    source: Source,
    context: ExecutionContext,
    folders: Arc<Folders>,
    audit: Arc<dyn RefusalSink>,
    /// Bounds the memory of replies that no turn has taken yet.
    reply_room: Arc<ReplyRoom>,
    /// The source of leases; a host may have none.
    sessions: Option<Arc<dyn Sessions>>,
    owners: Arc<TargetOwners>,
    /// The device permissions that the operator allows.
    device_permissions: Vec<DevicePermission>,
    /// The number of refusals written to the audit.
    refusals: Arc<AtomicUsize>,
    /// The folder that caches descriptions of protocols.
    protocols_dir: PathBuf,
    /// Held while the browser is opened or closed: concurrent first calls open one browser.
    state: tokio::sync::Mutex<State>,
    /// Invariant: set only while `state` is held and is `Running`.
    connected: Mutex<Option<Arc<ConnectedBrowser>>>,
    /// The session of a leased browser. Invariant: set only while `state` is held.
    leased: Mutex<Option<Arc<dyn BrowserSession>>>,
    owned: OwnedTargets,
    /// Commands that create something in an external browser. They run until they are answered even if the call is
    /// dropped: otherwise the ids of what to close would be lost.
    creating: TaskTracker,
    last_context: Mutex<Context>,
    /// The id and lease of the last session that was released.
    last_session: Mutex<Option<(String, LeaseFacts)>>,
    warnings: Mutex<Vec<String>>,
    notes: Notes,
    browsers_closed: AtomicU64,
}

impl ExecutionBrowser {
    pub(crate) fn new(
        source: Source,
        context: ExecutionContext,
        sessions: Option<Arc<dyn Sessions>>,
        owners: Arc<TargetOwners>,
        device_permissions: Vec<DevicePermission>,
        protocols_dir: PathBuf,
    ) -> Result<Arc<Self>, ErrorReport> {
        Ok(Arc::new(Self {
            source,
            folders: context.services.require()?,
            audit: context.services.require()?,
            reply_room: context.services.require()?,
            context,
            sessions,
            owners,
            device_permissions,
            refusals: Arc::default(),
            protocols_dir,
            state: tokio::sync::Mutex::new(State::NotStarted),
            connected: Mutex::default(),
            leased: Mutex::default(),
            owned: OwnedTargets::default(),
            creating: TaskTracker::new(),
            last_context: Mutex::default(),
            last_session: Mutex::default(),
            warnings: Mutex::default(),
            notes: Notes::default(),
            browsers_closed: AtomicU64::new(0),
        }))
    }

    /// The browser if it is connected; starts nothing.
    #[must_use]
    pub fn current(&self) -> Option<Arc<ConnectedBrowser>> {
        lock(&self.connected).clone()
    }

    /// Whether the execution has a browser, connected or not: one was opened and not closed yet. Waits for a pending
    /// start or close.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn is_open(&self) -> bool {
        matches!(*self.state.lock().await, State::Started(_) | State::Running(_))
    }

    /// The leased session, if there is one.
    pub(crate) fn session(&self) -> Option<Arc<dyn BrowserSession>> {
        lock(&self.leased).clone()
    }

    /// The facts of the leased session, if there is one.
    #[must_use]
    pub fn session_facts(&self) -> Option<SessionFacts> {
        self.session().map(|session| session.facts())
    }

    /// The lease under which calls are made now, for the audit.
    #[must_use]
    pub fn lease_mark(&self) -> Option<LeaseMark> {
        self.session().map(|session| session.mark())
    }

    /// The connection's socket as the source of replies, while the browser is connected.
    #[must_use]
    pub fn replies(&self) -> Option<Arc<dyn ReplySource>> {
        Some(self.current()?)
    }

    /// Information on the live browser of the requested key, while this execution does not hold its lease. Starts
    /// nothing and takes no lease.
    ///
    /// # Errors
    /// When the host's records cannot be read.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn look(&self) -> Result<Option<KeptBrowser>, ErrorReport> {
        match (&self.sessions, &self.context.session.key) {
            (Some(sessions), Some(key)) if self.session().is_none() => sessions.look(key).await,
            _ => Ok(None),
        }
    }

    /// The session that the caller requested.
    #[must_use]
    pub const fn asked(&self) -> &SessionRequest {
        &self.context.session
    }

    /// The browser, started or connected to if necessary. Concurrent calls wait for the same start.
    ///
    /// # Errors
    /// `SESSION_LOST` or `SESSION_EXPIRED` if its lease no longer holds, `BROWSER_GONE` if it was connected before and
    /// is gone; otherwise why it could not be started, in which case the next call tries again.
    ///
    /// # Cancellation
    /// May be dropped at any time: a browser that is starting is ended, and the next call starts another.
    pub async fn connected(&self, deadline: Instant) -> Result<Arc<ConnectedBrowser>, ErrorReport> {
        if let Some(connected) = self.current() {
            return self.unless_gone(connected).await;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => Err(ended()),
            opened = tokio::time::timeout(left, self.open(deadline)) => opened.unwrap_or_else(|_| {
                Err(ErrorReport::new(ErrorCode::CallTimeout, "the browser did not start before the execution's time was over"))
            }),
        }
    }

    async fn open(&self, deadline: Instant) -> Result<Arc<ConnectedBrowser>, ErrorReport> {
        let mut state = self.state.lock().await;
        if let Some(connected) = self.current() {
            return self.unless_gone(connected).await;
        }
        let (route, first) = match &*state {
            State::Ended => return Err(ended()),
            State::Running(owner) => {
                // The execution was parked, and the lease may have been lost since.
                if let Some(session) = self.session() {
                    session.check().await?;
                }
                (owner.route(), false)
            }
            State::Started(owner) => (owner.route(), true),
            State::NotStarted => {
                let owner = self.start(deadline).await?;
                let route = owner.route();
                *state = State::Started(owner);
                (route, true)
            }
        };
        let session = self.session();
        let connect = || ConnectedBrowser::connect(&route, &self.protocols_dir, !self.is_external(), CONNECT_MAX);
        let connected = match (connect().await, &session) {
            // According to its record the browser existed before this execution. Replace it once, and only if it is
            // certainly gone: a browser that still runs would lose its pages.
            (Err(error), Some(session)) if first && !session.facts().fresh && error.details[REFUSED] == true => {
                session.replace(&error.message).await?;
                connect().await
            }
            (Err(error), Some(session)) if first && error.details[REFUSED] != true => {
                Err(with_kept_hint(error, &session.facts()))
            }
            (connected, _) => connected,
        };
        match connected {
            Ok(connected) => {
                if let Some(session) = session.filter(|_| first) {
                    cookies::restore(&connected.connection, &session.facts()).await;
                    self.notes.find(&*session).await;
                }
                connected.connection.share_room(Arc::clone(&self.reply_room.0));
                connected.watch_commits(self.recorder());
                let connected = Arc::new(connected);
                *lock(&self.connected) = Some(Arc::clone(&connected));
                *state = match std::mem::replace(&mut *state, State::NotStarted) {
                    State::Started(owner) => State::Running(owner),
                    state => state,
                };
                Ok(connected)
            }
            Err(error) if first => {
                let broken = std::mem::replace(&mut *state, State::NotStarted);
                if let Err(failed) = self.release(broken).await {
                    tracing::warn!(%failed, "a browser that could not be connected to was not released");
                }
                Err(error)
            }
            // The browser was connected before the execution parked.
            Err(error) => Err(gone(&error.message)),
        }
    }

    async fn start(&self, deadline: Instant) -> Result<Owner, ErrorReport> {
        let mode = self.context.session.mode;
        match (&self.source, &self.sessions) {
            (Source::Endpoint { url, headers }, _) if mode == SessionMode::OneShot => {
                Ok(Owner::External(Endpoint::resolve(url, headers.clone(), CONNECT_MAX).await?))
            }
            (Source::Endpoint { .. }, _) => Err(only_one_shot("an external browser", mode)),
            (Source::Launch { executable, headless, .. }, Some(sessions)) => {
                let order = BrowserOrder {
                    execution: self.context.execution.clone(),
                    session: self.context.session.clone(),
                    executable: executable.clone(),
                    headless: *headless,
                    deadline,
                    cancel: self.context.cancel.clone(),
                };
                let session = sessions.open(order).await?;
                *lock(&self.leased) = Some(Arc::clone(&session));
                Ok(Owner::Leased(session))
            }
            (Source::Launch { .. }, None) if self.context.session.is_narrowed() => {
                let message = "this host has no proxy that could enforce network rules";
                Err(ErrorReport::new(ErrorCode::UnsupportedOperation, message).with_hint("Leave session.network out."))
            }
            (Source::Launch { executable, headless, confinement }, None) if mode == SessionMode::OneShot => {
                let program = find_program(executable.clone()).await?;
                let browser = Browser::launch(LaunchOptions {
                    executable: program.clone(),
                    profiles_dir: self.folders.profiles.clone(),
                    name: self.context.execution.as_str().to_owned(),
                    downloads_dir: Some(self.downloads_dir()),
                    keep_profile: false,
                    bound_to_thread: false,
                    headless: *headless,
                    confinement: confinement.clone(),
                    listens: false,
                    proxy: None,
                    start_timeout: START_MAX,
                })
                .await?;
                browser.shortfalls().iter().for_each(|shortfall| self.warn(shortfall));
                Ok(Owner::Execution(Box::new(browser), program))
            }
            (Source::Launch { .. }, None) => Err(only_one_shot("this host", mode)),
        }
    }

    /// The folder on this host for downloads.
    #[must_use]
    pub fn downloads_dir(&self) -> PathBuf {
        match self.session() {
            Some(session) => session.facts().downloads_dir,
            None => self.folders.downloads.clone(),
        }
    }

    async fn unless_gone(&self, connected: Arc<ConnectedBrowser>) -> Result<Arc<ConnectedBrowser>, ErrorReport> {
        // The browser keeps running for a moment after it has agreed to close.
        if connected.closed_by_script.load(Ordering::Relaxed) {
            return Err(gone("the script closed it"));
        }
        let session = self.session();
        if connected.connection.is_closed() {
            // The keeper closes the connection when the lease is lost.
            if let Some(session) = session {
                session.check().await?;
            }
            return Err(gone("its connection is closed"));
        }
        // The keeper checks the lease in the store before each message.
        match session.and_then(|session| session.lost()) {
            Some(loss) => Err(loss),
            None => Ok(connected),
        }
    }

    /// The error for a browser that is gone: a lost lease explains it better than a closed connection.
    pub async fn why_gone(&self, error: ErrorReport) -> ErrorReport {
        match self.session() {
            Some(session) => {
                let loss = session.check().await.err();
                loss.filter(|loss| loss.code != ErrorCode::BrowserGone).unwrap_or(error)
            }
            None => error,
        }
    }

    /// Parks the execution: closes the connection and leaves the browser running.
    async fn park(&self) {
        let _state = self.state.lock().await;
        let connected = lock(&self.connected).take();
        if let Some(connected) = connected {
            self.keep_context(&connected).await;
            if self.is_external() {
                self.creating.close();
                let _ = tokio::time::timeout(CLOSE_OWNED_MAX, self.creating.wait()).await;
                self.creating.reopen();
                self.adopt_popups(&connected);
            }
            connected.connection.close().await;
        }
    }

    /// Closes or releases the browser. In an external browser, closes what this execution created.
    ///
    /// # Cancellation
    /// May be dropped: a browser that this execution launched is killed all the same.
    async fn close(&self) -> Result<(), ErrorReport> {
        let mut state = self.state.lock().await;
        let connected = lock(&self.connected).take();
        if let Some(connected) = &connected {
            self.keep_context(connected).await;
            if connected.connection.is_closed() && !connected.closed_by_script.load(Ordering::Relaxed) {
                self.warn(if self.is_external() {
                    "The connection to the external browser was lost while the script ran."
                } else {
                    "The browser died or was killed while the script ran; what it held is lost."
                });
            }
        }
        let downloads_dir = self.downloads_dir();
        // A browser that outlives the execution may write into this folder and into no other one.
        let outlives = self.session_facts().is_some_and(|facts| facts.shared);
        let closed = match std::mem::replace(&mut *state, State::Ended) {
            State::Started(Owner::External(endpoint)) | State::Running(Owner::External(endpoint)) => {
                self.close_owned(connected, &Route::Endpoint(endpoint)).await
            }
            state => {
                if let (Some(connected), Some(session)) = (connected, self.session()) {
                    connected.dismiss_dialogs().await;
                    cookies::keep(&connected.connection, &*session).await;
                    self.notes.keep(&*session).await;
                    connected.connection.close().await;
                }
                self.release(state).await
            }
        };
        // Keep downloads, and remove an empty folder, which even an aborted start may have created.
        if !outlives {
            let _ = tokio::fs::remove_dir(&downloads_dir).await;
        }
        closed
    }

    /// Releases a leased session, or closes a browser that this execution launched.
    async fn release(&self, state: State) -> Result<(), ErrorReport> {
        let (State::Started(owner) | State::Running(owner)) = state else { return Ok(()) };
        match owner {
            Owner::Execution(browser, _) => browser.close().await,
            Owner::Leased(session) => {
                let released = session.release().await;
                lock(&self.warnings).extend(session.warnings());
                *lock(&self.leased) = None;
                *lock(&self.last_session) = Some((session.facts().id, session.lease()));
                match released {
                    // A lost lease cannot be released; its next holder cleans up.
                    Err(error) if is_loss(&error) => {
                        self.warn(&format!("The browser was lost before the script ended: {}.", error.message));
                        Ok(())
                    }
                    released => released,
                }
            }
            Owner::External(_) => Ok(()),
        }
    }

    fn warn(&self, warning: &str) {
        lock(&self.warnings).push(warning.to_owned());
    }

    /// Writes an audit row for each target whose sessions were revoked because of its URL. Bounded, since a script can
    /// cause this as often as it likes.
    fn recorder(&self) -> impl Fn(Departure) + Send + 'static {
        let (audit, session, written) = (Arc::clone(&self.audit), self.session(), Arc::clone(&self.refusals));
        move |Departure { kind, scheme }| {
            if written.fetch_add(1, Ordering::Relaxed) < AUDIT_REFUSALS_MAX {
                let lease = session.as_ref().map(|session| session.mark());
                audit.refused(&Refusal { target: kind, scheme, lease });
            }
        }
    }

    /// Whether the browser existed before the execution and outlives it.
    #[must_use]
    pub const fn is_external(&self) -> bool {
        matches!(self.source, Source::Endpoint { .. })
    }
}

#[async_trait]
impl ServiceRuntime for ExecutionBrowser {
    async fn suspend(&self) -> Result<(), ErrorReport> {
        self.park().await;
        Ok(())
    }

    async fn dispose(&self, _: Ending) -> Result<(), ErrorReport> {
        self.close().await
    }

    fn describe(&self) -> Context {
        self.context_now()
    }

    fn warnings(&self) -> Vec<String> {
        lock(&self.warnings).clone()
    }
}

/// Finds the browser's program, at the requested path or by searching.
async fn find_program(requested: Option<PathBuf>) -> Result<PathBuf, ErrorReport> {
    let failed = |error| ErrorReport::new(ErrorCode::HostFault, format!("looking for a browser failed: {error}"));
    let Executable { path, .. } =
        tokio::task::spawn_blocking(move || find(requested.as_deref())).await.map_err(failed)??;
    Ok(path)
}

fn only_one_shot(what: &str, mode: SessionMode) -> ErrorReport {
    ErrorReport::new(ErrorCode::UnsupportedOperation, format!("{what} has one-shot sessions only, not {mode}"))
        .with_hint("Call the tool without a session, or on a host that launches its browsers itself.")
}

/// Adds the hint for a browser that cannot be connected to and may still run.
fn with_kept_hint(error: ErrorReport, facts: &SessionFacts) -> ErrorReport {
    let name = facts.key.as_deref().unwrap_or(&facts.id);
    error.with_hint(format!(
        "It is not certain that the browser is gone, so it was kept: call again, or end it with `codemode sessions close \
         {name}`, which forgets its logins."
    ))
}

/// Whether an error says that the lease, or the browser under it, is lost.
const fn is_loss(error: &ErrorReport) -> bool {
    matches!(error.code, ErrorCode::SessionLost | ErrorCode::SessionExpired | ErrorCode::BrowserGone)
}

fn ended() -> ErrorReport {
    ErrorReport::new(ErrorCode::CallCancelled, "the execution has ended")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while holding one of these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
