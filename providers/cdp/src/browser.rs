//! The browser of one execution: opened at its first use, closed at its end.

mod holdings;
mod verbs;

use crate::{
    cookies,
    live::Live,
    made::{Made, Registry},
    policy::DevicePermission,
    reach::Reach,
    targets::{Left, OPENERS_MAX, Target, short},
};
use codemode_chromium::{Browser, CdpError, Command, Confinement, Endpoint, Executable, LaunchOptions, REFUSED, find};
use codemode_provider::{BrowserOrder, BrowserSession, ExecutionContext, Refusal, SessionFacts};
use codemode_spec::{
    ErrorCode, ErrorReport,
    envelope::Context,
    limits::AUDIT_REFUSALS_MAX,
    session::{LeaseFacts, SessionMode},
};
use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

pub(crate) use holdings::SlotHoldings;

/// How long a browser may take to start.
const START_MAX: Duration = Duration::from_secs(30);
/// How long connecting may take.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long each of the three steps of tidying up in an external browser may take.
const TIDY_MAX: Duration = Duration::from_secs(4);

/// Where the browser comes from.
pub(crate) enum Source {
    /// One of our own.
    Launch { executable: Option<PathBuf>, headless: bool, confinement: Confinement },
    /// Somebody else's, which is never closed.
    Endpoint { url: String, headers: Vec<(String, String)> },
}

enum State {
    NotStarted,
    Running(Owner),
    Ended,
}

/// Whose a browser is.
enum Owner {
    /// Somebody else's.
    External(Endpoint),
    /// This slot's, and its program: the host has no sessions.
    Slot(Box<Browser>, PathBuf),
    /// It is leased.
    Leased(Arc<dyn BrowserSession>),
}

impl Owner {
    fn reach(&self) -> Reach {
        match self {
            Self::External(endpoint) => Reach::Endpoint(endpoint.clone()),
            Self::Slot(browser, program) => Reach::Own(browser.relay().clone(), program.clone()),
            Self::Leased(session) => Reach::Leased(Arc::clone(session)),
        }
    }
}

/// The place of one execution's browser.
pub(crate) struct BrowserSlot {
    source: Source,
    context: ExecutionContext,
    registry: Arc<Registry>,
    /// What the operator lets pages have of this machine's devices.
    device_permissions: Vec<DevicePermission>,
    /// Refusals that were written into the audit.
    refusals: Arc<AtomicUsize>,
    /// Where descriptions of protocols are kept.
    protocols_dir: PathBuf,
    /// Held while the browser is opened or closed: first calls that come together open one browser.
    state: tokio::sync::Mutex<State>,
    /// Invariant: set only while `state` is held and is `Running`.
    live: Mutex<Option<Arc<Live>>>,
    /// The session of a browser that is leased. Invariant: set only while `state` is held.
    leased: Mutex<Option<Arc<dyn BrowserSession>>>,
    made: Made,
    /// Commands that make something in an external browser: they are heard out even if their call is dropped, or else
    /// nobody would know what to close.
    making: TaskTracker,
    last_context: Mutex<Context>,
    /// Id and lease of the session that was given back last.
    last_session: Mutex<Option<(String, LeaseFacts)>>,
    warnings: Mutex<Vec<String>>,
}

impl BrowserSlot {
    pub(crate) fn new(
        source: Source,
        context: ExecutionContext,
        registry: Arc<Registry>,
        device_permissions: Vec<DevicePermission>,
        protocols_dir: PathBuf,
    ) -> Arc<Self> {
        Arc::new(Self {
            source,
            context,
            registry,
            device_permissions,
            refusals: Arc::default(),
            protocols_dir,
            state: tokio::sync::Mutex::new(State::NotStarted),
            live: Mutex::default(),
            leased: Mutex::default(),
            made: Made::default(),
            making: TaskTracker::new(),
            last_context: Mutex::default(),
            last_session: Mutex::default(),
            warnings: Mutex::default(),
        })
    }

    /// The browser if it is connected; nothing is started.
    pub(crate) fn current(&self) -> Option<Arc<Live>> {
        lock(&self.live).clone()
    }

    /// The leased session, if there is one.
    pub(crate) fn session(&self) -> Option<Arc<dyn BrowserSession>> {
        lock(&self.leased).clone()
    }

    /// The session that was asked for.
    pub(crate) const fn asked(&self) -> &codemode_spec::session::SessionRequest {
        &self.context.session
    }

    /// The browser, started or connected to if need be. Calls that come while it starts wait for that start.
    ///
    /// # Errors
    /// `SESSION_LOST` or `SESSION_EXPIRED` if the lease on it does not hold any more, `BROWSER_GONE` if it was there
    /// before; otherwise why it could not be started, and the next call tries again.
    ///
    /// # Cancellation
    /// May be dropped at any time: a browser that is being started is ended, and the next call starts another.
    pub(crate) async fn live(&self, deadline: Instant) -> Result<Arc<Live>, ErrorReport> {
        if let Some(live) = self.current() {
            return self.unless_gone(live).await;
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

    async fn open(&self, deadline: Instant) -> Result<Arc<Live>, ErrorReport> {
        let mut state = self.state.lock().await;
        if let Some(live) = self.current() {
            return self.unless_gone(live).await;
        }
        let (reach, first) = match &*state {
            State::Ended => return Err(ended()),
            State::Running(owner) => {
                // It was parked meanwhile, and others may have had their way with the browser.
                if let Some(session) = self.session() {
                    session.check().await?;
                }
                (owner.reach(), false)
            }
            State::NotStarted => {
                let owner = self.start(deadline).await?;
                let reach = owner.reach();
                *state = State::Running(owner);
                (reach, true)
            }
        };
        let session = self.session();
        let connect = || Live::connect(&reach, &self.protocols_dir, CONNECT_MAX);
        let connected = match (connect().await, &session) {
            // It was there before this execution, as far as its record says: once, another one takes its place, but only
            // if it is certain that it is gone.
            (Err(error), Some(session)) if first && !session.facts().fresh && error.details[REFUSED] == true => {
                session.replace(&error.message).await?;
                connect().await
            }
            (Err(error), Some(session)) if first && error.details[REFUSED] != true => {
                Err(kept(error, &session.facts()))
            }
            (connected, _) => connected,
        };
        match connected {
            Ok(live) => {
                if let Some(session) = session.filter(|_| first) {
                    cookies::restore(&live.connection, &session.facts()).await;
                }
                live.connection.share_room(Arc::clone(&self.context.reply_room));
                live.watch_commits(self.recorder());
                live.watch_popups(!self.is_external(), CONNECT_MAX).await;
                let live = Arc::new(live);
                *lock(&self.live) = Some(Arc::clone(&live));
                Ok(live)
            }
            Err(error) if first => {
                let broken = std::mem::replace(&mut *state, State::NotStarted);
                self.let_go(broken).await?;
                Err(error)
            }
            // It was there before the execution parked.
            Err(error) => Err(gone(&error.message)),
        }
    }

    async fn start(&self, deadline: Instant) -> Result<Owner, ErrorReport> {
        let mode = self.context.session.mode;
        match (&self.source, &self.context.sessions) {
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
            (Source::Launch { .. }, None) if self.context.session.network.is_some() => {
                let message = "this host has no proxy that could enforce network rules";
                Err(ErrorReport::new(ErrorCode::UnsupportedOperation, message).with_hint("Leave session.network out."))
            }
            (Source::Launch { executable, headless, confinement }, None) if mode == SessionMode::OneShot => {
                let program = found(executable.clone()).await?;
                let browser = Browser::launch(LaunchOptions {
                    executable: program.clone(),
                    profiles_dir: self.context.profiles_dir.clone(),
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
                Ok(Owner::Slot(Box::new(browser), program))
            }
            (Source::Launch { .. }, None) => Err(only_one_shot("this host", mode)),
        }
    }

    /// Where downloads go.
    fn downloads_dir(&self) -> PathBuf {
        match self.session() {
            Some(session) => session.facts().downloads_dir,
            None => self.context.downloads_dir.clone(),
        }
    }

    async fn unless_gone(&self, live: Arc<Live>) -> Result<Arc<Live>, ErrorReport> {
        // The browser goes on for a moment after it agreed to close.
        if live.closed_by_script.load(Ordering::Relaxed) {
            return Err(gone("the script closed it"));
        }
        if let Some(session) = self.session() {
            session.check().await?;
        }
        if live.connection.is_closed() { Err(gone("its connection is closed")) } else { Ok(live) }
    }

    /// What to say of a browser that went away: it may have been taken away, and that is no accident.
    pub(crate) async fn why_gone(&self, error: ErrorReport) -> ErrorReport {
        match self.session() {
            Some(session) => {
                let told = session.check().await.err();
                told.filter(|told| told.code != ErrorCode::BrowserGone).unwrap_or(error)
            }
            None => error,
        }
    }

    /// The execution parks: the connection goes, the browser stays.
    pub(crate) async fn park(&self) {
        let _state = self.state.lock().await;
        let live = lock(&self.live).take();
        if let Some(live) = live {
            self.keep_context(&live).await;
            if self.is_external() {
                self.making.close();
                let _ = tokio::time::timeout(TIDY_MAX, self.making.wait()).await;
                self.making.reopen();
                self.take_in_popups(&live);
            }
            live.connection.close().await;
        }
    }

    /// Closes what was launched; of an external browser, closes what this execution made in it.
    ///
    /// # Cancellation
    /// May be dropped: a browser of our own is killed all the same.
    pub(crate) async fn close(&self) -> Result<(), ErrorReport> {
        let mut state = self.state.lock().await;
        let live = lock(&self.live).take();
        if let Some(live) = &live {
            self.keep_context(live).await;
            if live.connection.is_closed() && !live.closed_by_script.load(Ordering::Relaxed) {
                self.warn(if self.is_external() {
                    "The connection to the external browser was lost while the script ran."
                } else {
                    "The browser died or was killed while the script ran; what it held is lost."
                });
            }
        }
        let downloads_dir = self.downloads_dir();
        let closed = match std::mem::replace(&mut *state, State::Ended) {
            State::Running(Owner::External(endpoint)) => self.tidy_up(live, &Reach::Endpoint(endpoint)).await,
            state => {
                if let (Some(live), Some(session)) = (live, self.session()) {
                    cookies::keep(&live.connection, &*session).await;
                    live.connection.close().await;
                }
                self.let_go(state).await
            }
        };
        // Downloads are kept; an empty folder is not, be it that of a start that was broken off.
        let _ = tokio::fs::remove_dir(&downloads_dir).await;
        closed
    }

    /// Gives back what is leased, and closes what is this slot's own.
    async fn let_go(&self, state: State) -> Result<(), ErrorReport> {
        match state {
            State::Running(Owner::Slot(browser, _)) => browser.close().await,
            State::Running(Owner::Leased(session)) => {
                let released = session.release().await;
                lock(&self.warnings).extend(session.warnings());
                *lock(&self.leased) = None;
                *lock(&self.last_session) = Some((session.facts().id, session.lease()));
                match released {
                    // There is nothing to give back, and nothing to clean up: whoever has it now does that.
                    Err(error) if is_loss(&error) => {
                        self.warn(&format!("The browser was lost before the script ended: {}.", error.message));
                        Ok(())
                    }
                    released => released,
                }
            }
            State::Running(Owner::External(_)) | State::NotStarted | State::Ended => Ok(()),
        }
    }

    /// Closes what this execution made in an external browser, and lets go of it.
    async fn tidy_up(&self, live: Option<Arc<Live>>, reach: &Reach) -> Result<(), ErrorReport> {
        self.making.close();
        let heard_out = tokio::time::timeout(TIDY_MAX, self.making.wait()).await.is_ok();
        if let Some(live) = &live {
            self.take_in_popups(live);
        }
        self.registry.forget(&self.context.execution);
        let connected = live.map(|live| live.connection.clone()).filter(|connection| !connection.is_closed());
        let made = self.made.all();
        let connection = match connected {
            Some(connection) => connection,
            None if made.is_empty() => return Ok(()),
            None => match reach.connect(TIDY_MAX).await {
                Ok(connection) => connection,
                Err(error) => {
                    tracing::warn!(%error, "could not tidy up in an external browser");
                    self.warn("The external browser cannot be reached any more: tabs of this script may be left open.");
                    return Ok(());
                }
            },
        };
        let closed = made.close(&connection, TIDY_MAX).await;
        connection.close().await;
        if closed && heard_out {
            return Ok(());
        }
        let message = "tabs of this script may be left open in the external browser: it did not answer in time";
        Err(ErrorReport::new(ErrorCode::ProviderDisposeFailed, message))
    }

    /// Takes tabs for this execution's own that its own tabs opened, or that are in its own contexts.
    fn take_in_popups(&self, live: &Arc<Live>) {
        live.catch_up();
        for target in live.targets.visible() {
            if self.owns(&target, Some(live)) {
                self.made.add_target(&target.id);
            }
        }
    }

    /// Sends a command that makes something in an external browser, and remembers what it made even if the call is
    /// dropped.
    pub(crate) fn making(
        self: &Arc<Self>,
        live: &Arc<Live>,
        method: &str,
        params: serde_json::Value,
        session: Option<&str>,
        timeout: Duration,
    ) -> tokio::task::JoinHandle<Result<serde_json::Value, CdpError>> {
        let (slot, live, method) = (Arc::clone(self), Arc::clone(live), method.to_owned());
        let session = session.map(str::to_owned);
        self.making.spawn(async move {
            let command = Command { method: &method, params, session: session.as_deref(), timeout };
            let answer = live.connection.call(command).await;
            if let Ok(answer) = &answer {
                if let Some(target) = answer["targetId"].as_str() {
                    slot.made.add_target(target);
                    slot.registry.add(target, &slot.context.execution);
                }
                if let Some(context) = answer["browserContextId"].as_str() {
                    slot.made.add_context(context);
                }
            }
            answer
        })
    }

    /// Whether this execution made a target, or a target that it made opened it, or it is in a context that it made.
    fn owns(&self, target: &Target, live: Option<&Arc<Live>>) -> bool {
        let mut target = target.clone();
        for _ in 0..OPENERS_MAX {
            if self.made.has_target(&target.id) || target.context.as_ref().is_some_and(|id| self.made.has_context(id)) {
                return true;
            }
            let Some(opener) = &target.opener else { return false };
            if self.made.has_target(opener) {
                return true;
            }
            match live.and_then(|live| live.targets.target(opener)) {
                Some(opener) => target = opener,
                None => return false,
            }
        }
        false
    }

    /// What the answer is about.
    pub(crate) fn describe(&self) -> Context {
        match self.current() {
            Some(live) => {
                live.catch_up();
                self.context_of(&live)
            }
            None => {
                let mut context = lock(&self.last_context).clone();
                if context.session_id.is_none()
                    && let Some((id, lease)) = lock(&self.last_session).clone()
                {
                    (context.session_id, context.lease) = (Some(id), Some(lease));
                }
                context
            }
        }
    }

    /// Keeps what there is to say of a browser before it goes: the title of a page that has just loaded as well.
    async fn keep_context(&self, live: &Live) {
        live.catch_up();
        // If whoever ends this loses patience, there is something at least.
        *lock(&self.last_context) = self.context_of(live);
        live.refresh().await;
        *lock(&self.last_context) = self.context_of(live);
    }

    fn context_of(&self, live: &Live) -> Context {
        let page = live.targets.current();
        let session = self.session().map(|session| (session.facts().id, session.lease()));
        let (session_id, lease) = session.unzip();
        Context {
            session_id: session_id.or_else(|| Some(self.context.execution.as_str().to_owned())),
            lease,
            target_id: page.as_ref().map(|page| page.id.clone()),
            // A page can make both as long as it likes.
            url: page.as_ref().map(|page| short(&page.at)).filter(|url| !url.is_empty()),
            title: page.map(|page| short(&page.title)).filter(|title| !title.is_empty()),
            ..Context::default()
        }
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        lock(&self.warnings).clone()
    }

    fn warn(&self, warning: &str) {
        lock(&self.warnings).push(warning.to_owned());
    }

    /// Writes into the audit where targets went that were taken from the script; so many times and no more, since a
    /// script can bring it about as often as it likes.
    fn recorder(&self) -> impl Fn(Left) + Send + 'static {
        let (audit, session, written) = (Arc::clone(&self.context.audit), self.session(), Arc::clone(&self.refusals));
        move |Left { kind, scheme }| {
            if written.fetch_add(1, Ordering::Relaxed) < AUDIT_REFUSALS_MAX {
                let lease = session.as_ref().map(|session| session.facts().mark());
                audit.refused(&Refusal { target: kind, scheme, lease });
            }
        }
    }

    /// What the policy must know.
    pub(crate) fn holdings<'a>(&'a self, live: &'a Arc<Live>) -> SlotHoldings<'a> {
        SlotHoldings { slot: self, live, folder: self.downloads_dir() }
    }

    pub(crate) const fn is_external(&self) -> bool {
        matches!(self.source, Source::Endpoint { .. })
    }
}

/// The program of the browser.
async fn found(asked: Option<PathBuf>) -> Result<PathBuf, ErrorReport> {
    let failed = |error| ErrorReport::new(ErrorCode::HostFault, format!("looking for a browser failed: {error}"));
    let Executable { path, .. } =
        tokio::task::spawn_blocking(move || find(asked.as_deref())).await.map_err(failed)??;
    Ok(path)
}

fn only_one_shot(what: &str, mode: SessionMode) -> ErrorReport {
    ErrorReport::new(ErrorCode::UnsupportedOperation, format!("{what} has one-shot sessions only, not {mode}"))
        .with_hint("Call the tool without a session, or on a host that launches its browsers itself.")
}

/// The report of a browser that cannot be connected to, and may live all the same.
fn kept(error: ErrorReport, facts: &SessionFacts) -> ErrorReport {
    let name = facts.key.as_deref().unwrap_or(&facts.id);
    error.with_hint(format!(
        "It is not certain that the browser is gone, so it was kept: call again, or end it with `codemode sessions close \
         {name}`, which forgets its logins."
    ))
}

/// Whether an error says that the lease is gone, or what it was on.
const fn is_loss(error: &ErrorReport) -> bool {
    matches!(error.code, ErrorCode::SessionLost | ErrorCode::SessionExpired | ErrorCode::BrowserGone)
}

/// The report of a browser that died.
pub(crate) fn gone(reason: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::BrowserGone, format!("the browser is gone: {reason}"))
}

fn ended() -> ErrorReport {
    ErrorReport::new(ErrorCode::CallCancelled, "the execution has ended")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while one of these is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
