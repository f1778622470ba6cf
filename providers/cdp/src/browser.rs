//! The browser of one execution: opened at its first use, closed at its end.

use crate::{
    live::Live,
    made::{Made, Registry},
    policy::Holdings,
    targets::{BROWSER_UI, Target},
};
use codemode_chromium::{Browser, CdpError, Command, Connection, Endpoint, Executable, LaunchOptions, find};
use codemode_provider::ExecutionContext;
use codemode_spec::{ErrorCode, ErrorReport, envelope::Context};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// The folder of the state folder in which browsers have their profiles, and their owners the record of them.
pub const PROFILES: &str = "profiles";
/// How long a browser may take to start.
const START_MAX: Duration = Duration::from_secs(30);
/// How long connecting may take.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long each of the three steps of tidying up in an external browser may take.
const TIDY_MAX: Duration = Duration::from_secs(3);
/// Tabs that opened each other, followed at most this far: a bound on what pages control.
const OPENERS_MAX: usize = 16;

/// Where the browser comes from.
pub(crate) enum Source {
    /// One of our own.
    Launch { executable: Option<PathBuf>, headless: bool },
    /// Somebody else's, which is never closed.
    Endpoint { url: String, headers: Vec<(String, String)> },
}

enum State {
    NotStarted,
    Running {
        /// `None` if it is external.
        browser: Option<Box<Browser>>,
        endpoint: Endpoint,
    },
    Ended,
}

/// The place of one execution's browser.
pub(crate) struct BrowserSlot {
    source: Source,
    context: ExecutionContext,
    downloads_dir: PathBuf,
    registry: Arc<Registry>,
    /// Held while the browser is opened or closed: first calls that come together open one browser.
    state: tokio::sync::Mutex<State>,
    /// Invariant: set only while `state` is held and is `Running`.
    live: Mutex<Option<Arc<Live>>>,
    made: Made,
    /// Commands that make something in an external browser: they are heard out even if their call is dropped, or else
    /// nobody would know what to close.
    making: TaskTracker,
    last_context: Mutex<Context>,
    warnings: Mutex<Vec<String>>,
}

impl BrowserSlot {
    pub(crate) fn new(source: Source, context: ExecutionContext, registry: Arc<Registry>) -> Arc<Self> {
        let downloads_dir = context.state_dir.join("downloads").join(context.execution.as_str());
        Arc::new(Self {
            source,
            context,
            downloads_dir,
            registry,
            state: tokio::sync::Mutex::new(State::NotStarted),
            live: Mutex::default(),
            made: Made::default(),
            making: TaskTracker::new(),
            last_context: Mutex::default(),
            warnings: Mutex::default(),
        })
    }

    /// The browser if it is connected; nothing is started.
    pub(crate) fn current(&self) -> Option<Arc<Live>> {
        lock(&self.live).clone()
    }

    /// The browser, started or connected to if need be. Calls that come while it starts wait for that start.
    ///
    /// # Errors
    /// `BROWSER_GONE` if it was there before; otherwise why it could not be started, and the next call tries again.
    ///
    /// # Cancellation
    /// May be dropped at any time: a browser that is being started is killed, and the next call starts another.
    pub(crate) async fn live(&self, deadline: Instant) -> Result<Arc<Live>, ErrorReport> {
        if let Some(live) = self.current() {
            return self.unless_gone(live);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => Err(ended()),
            opened = tokio::time::timeout(left, self.open()) => opened.unwrap_or_else(|_| {
                Err(ErrorReport::new(ErrorCode::CallTimeout, "the browser did not start before the execution's time was over"))
            }),
        }
    }

    async fn open(&self) -> Result<Arc<Live>, ErrorReport> {
        let mut state = self.state.lock().await;
        if let Some(live) = self.current() {
            return self.unless_gone(live);
        }
        let (endpoint, first) = match &*state {
            State::Ended => return Err(ended()),
            State::Running { endpoint, .. } => (endpoint.clone(), false),
            State::NotStarted => {
                *state = self.start().await?;
                let State::Running { endpoint, .. } = &*state else { return Err(ended()) };
                (endpoint.clone(), true)
            }
        };
        match Live::connect(&endpoint, CONNECT_MAX).await {
            Ok(live) => {
                let live = Arc::new(live);
                *lock(&self.live) = Some(Arc::clone(&live));
                Ok(live)
            }
            Err(error) if first => {
                *state = State::NotStarted;
                Err(error)
            }
            // It was there before the execution parked.
            Err(error) => Err(gone(&error.message)),
        }
    }

    async fn start(&self) -> Result<State, ErrorReport> {
        match &self.source {
            Source::Endpoint { url, headers } => {
                let endpoint = Endpoint::resolve(url, headers.clone(), CONNECT_MAX).await?;
                Ok(State::Running { browser: None, endpoint })
            }
            Source::Launch { executable, headless } => {
                let asked = executable.clone();
                let finding = tokio::task::spawn_blocking(move || find(asked.as_deref()));
                let failed =
                    |error| ErrorReport::new(ErrorCode::HostFault, format!("looking for a browser failed: {error}"));
                let Executable { path, .. } = finding.await.map_err(failed)??;
                let browser = Browser::launch(LaunchOptions {
                    executable: path,
                    profiles_dir: self.context.state_dir.join(PROFILES),
                    name: self.context.execution.as_str().to_owned(),
                    downloads_dir: Some(self.downloads_dir.clone()),
                    headless: *headless,
                    start_timeout: START_MAX,
                })
                .await?;
                let endpoint = browser.endpoint().clone();
                Ok(State::Running { browser: Some(Box::new(browser)), endpoint })
            }
        }
    }

    fn unless_gone(&self, live: Arc<Live>) -> Result<Arc<Live>, ErrorReport> {
        // The browser goes on for a moment after it agreed to close.
        match (live.closed_by_script.load(Ordering::Relaxed), live.connection.is_closed()) {
            (true, _) => Err(gone("the script closed it")),
            (false, true) => Err(gone("its connection is closed")),
            (false, false) => Ok(live),
        }
    }

    /// The execution parks: the connection goes, the browser stays.
    pub(crate) async fn park(&self) {
        let _state = self.state.lock().await;
        let live = lock(&self.live).take();
        if let Some(live) = live {
            *lock(&self.last_context) = self.context_of(&live);
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
            *lock(&self.last_context) = self.context_of(live);
            if live.connection.is_closed() && !live.closed_by_script.load(Ordering::Relaxed) {
                self.warn(if self.is_external() {
                    "The connection to the external browser was lost while the script ran."
                } else {
                    "The browser died or was killed while the script ran; what it held is lost."
                });
            }
        }
        let closed = match std::mem::replace(&mut *state, State::Ended) {
            State::NotStarted | State::Ended => Ok(()),
            State::Running { browser: Some(browser), .. } => browser.close().await,
            State::Running { browser: None, endpoint } => self.tidy_up(live, &endpoint).await,
        };
        // Downloads are kept; an empty folder is not, be it that of a start that was broken off.
        let _ = tokio::fs::remove_dir(&self.downloads_dir).await;
        closed
    }

    /// Closes what this execution made in an external browser, and lets go of it.
    async fn tidy_up(&self, live: Option<Arc<Live>>, endpoint: &Endpoint) -> Result<(), ErrorReport> {
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
            None => match Connection::connect(endpoint, TIDY_MAX).await {
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
            None => lock(&self.last_context).clone(),
        }
    }

    fn context_of(&self, live: &Live) -> Context {
        let page = live.targets.current();
        Context {
            session_id: Some(self.context.execution.as_str().to_owned()),
            target_id: page.as_ref().map(|page| page.id.clone()),
            url: page.as_ref().map(|page| page.url.clone()),
            title: page.map(|page| page.title).filter(|title| !title.is_empty()),
            ..Context::default()
        }
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        lock(&self.warnings).clone()
    }

    fn warn(&self, warning: &str) {
        lock(&self.warnings).push(warning.to_owned());
    }

    /// What the policy must know.
    pub(crate) const fn holdings<'a>(&'a self, live: &'a Arc<Live>) -> SlotHoldings<'a> {
        SlotHoldings { slot: self, live }
    }

    pub(crate) const fn is_external(&self) -> bool {
        matches!(self.source, Source::Endpoint { .. })
    }
}

/// What the policy must know of a browser and the execution that uses it.
pub(crate) struct SlotHoldings<'a> {
    slot: &'a BrowserSlot,
    live: &'a Arc<Live>,
}

impl Holdings for SlotHoldings<'_> {
    fn is_external(&self) -> bool {
        self.slot.is_external()
    }

    fn folder(&self) -> &Path {
        &self.slot.downloads_dir
    }

    fn owns_target(&self, target: &str) -> bool {
        self.slot.made.has_target(target)
            || self.live.targets.target(target).is_some_and(|target| self.slot.owns(&target, Some(self.live)))
    }

    fn owns_context(&self, context: &str) -> bool {
        self.slot.made.has_context(context)
    }

    fn is_of_the_browser(&self, target: &str) -> bool {
        let of_the_browser = |target: Target| {
            target.kind == BROWSER_UI || BROWSER_SCHEMES.iter().any(|scheme| target.url.starts_with(scheme))
        };
        self.live.targets.target(target).is_some_and(of_the_browser)
    }

    fn owns_context_of(&self, target: &str) -> bool {
        let context = self.live.targets.target(target).and_then(|target| target.context);
        context.is_some_and(|context| self.slot.made.has_context(&context))
    }

    fn is_foreign(&self, target: &str) -> bool {
        let mut id = target.to_owned();
        for _ in 0..OPENERS_MAX {
            if let Some(owner) = self.slot.registry.owner(&id) {
                return owner != self.slot.context.execution;
            }
            match self.live.targets.target(&id).and_then(|target| target.opener) {
                Some(opener) => id = opener,
                None => return false,
            }
        }
        false
    }
}

/// Schemes of pages that can do what no site can.
const BROWSER_SCHEMES: &[&str] = &["chrome:", "chrome-extension:", "chrome-untrusted:", "devtools:", "isolated-app:"];

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
