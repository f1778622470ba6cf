//! The connection to an execution's browser, and what is known of the browser.

use crate::{
    evict,
    popups::Popups,
    route::Route,
    targets::{Departure, Targets},
};
use codemode_chromium::{
    CdpError, Command, Connection, Event, EventLog, Protocol, REFUSED,
    cdp::browser_protocol::{browser::GetVersionParams, target::SetDiscoverTargetsParams},
};
use codemode_provider::{ReplySource, WakeSignal};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::Value as Json;
use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, atomic::AtomicBool},
    time::{Duration, Instant},
};
use tokio_util::task::AbortOnDropHandle;

/// How long the browser may take to list its targets.
const REFRESH_MAX: Duration = Duration::from_secs(2);
/// The minimum interval between two requests for the targets.
const REFRESH_PAUSE: Duration = Duration::from_millis(50);

/// A connection to a browser, with its targets, its protocol and its attached sessions.
pub struct ConnectedBrowser {
    pub(crate) connection: Connection,
    /// The browser's targets, and the sessions attached to them.
    pub targets: Arc<Targets>,
    pub(crate) route: Route,
    /// Watches the dialogs of popups; unset if the browser did not allow that.
    popups: Option<Popups>,
    /// Detaches sessions whose target is not for scripts.
    evicting: OnceLock<AbortOnDropHandle<()>>,
    /// The browser's description of its protocol, which some remote endpoints do not offer.
    protocol: Result<Arc<Protocol>, ErrorReport>,
    /// The product and version, such as `Chrome/156.0.8078.79`.
    pub product: String,
    /// The raw session of each handle, by target.
    handles: Mutex<HashMap<String, String>>,
    /// Serialises attaching: two concurrent first calls on one handle must share one session.
    pub(crate) attaching: tokio::sync::Mutex<()>,
    /// Serialises screenshots: only the tab in front can be captured.
    pub(crate) shooting: tokio::sync::Mutex<()>,
    /// The script itself closed the browser.
    pub(crate) closed_by_script: AtomicBool,
    _followers: [AbortOnDropHandle<()>; 2],
}

impl ReplySource for ConnectedBrowser {
    fn read_until(&self, signal: &WakeSignal, until: Instant) -> bool {
        let is_done = || signal.is_set() || Instant::now() >= until;
        self.connection.read_on_this_thread(&is_done, &|descriptor| signal.wait(Some(descriptor), until))
    }
}

impl ConnectedBrowser {
    /// Connects, starts following the events of all targets, and watches the dialogs of popups; with `popups_wait`, new
    /// tabs are paused until they are watched. A browser that refuses to have its popups watched remains usable.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED`.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(crate) async fn connect(
        route: &Route,
        protocols_dir: &Path,
        popups_wait: bool,
        timeout: Duration,
    ) -> Result<Self, ErrorReport> {
        let targets = Arc::new(Targets::new());
        let (connected, popups) = tokio::try_join!(
            Self::connect_without_popups(route, protocols_dir, Arc::clone(&targets), timeout),
            async { Ok(Popups::watch(route, &targets, popups_wait, timeout).await) },
        )?;
        let popups = popups.inspect_err(|error| tracing::warn!(%error, "popups are not watched"));
        Ok(Self { popups: popups.ok(), ..connected })
    }

    async fn connect_without_popups(
        route: &Route,
        protocols_dir: &Path,
        targets: Arc<Targets>,
        timeout: Duration,
    ) -> Result<Self, ErrorReport> {
        let connection = route.connect(timeout).await?;
        let (discover, version) = (SetDiscoverTargetsParams::new(true), GetVersionParams::default());
        let (discovery, version) =
            tokio::join!(connection.execute(&discover, None, timeout), connection.execute(&version, None, timeout));
        discovery.map_err(|error| no_browser(&error))?;
        let version = version.map_err(|error| no_browser(&error))?;
        let product = version.product.clone();
        let protocol = route.protocol(&version, protocols_dir, timeout).await;
        targets.catch_up(connection.events());
        let follow = {
            let (connection, targets) = (connection.clone(), Arc::clone(&targets));
            async move { targets.follow(connection.events()).await }
        };
        let refresh = refresh(connection.clone(), Arc::clone(&targets));
        let followers = [AbortOnDropHandle::new(tokio::spawn(follow)), AbortOnDropHandle::new(tokio::spawn(refresh))];
        Ok(Self {
            connection,
            targets,
            route: route.clone(),
            popups: None,
            evicting: OnceLock::new(),
            protocol,
            product,
            handles: Mutex::default(),
            attaching: tokio::sync::Mutex::default(),
            shooting: tokio::sync::Mutex::default(),
            closed_by_script: AtomicBool::new(false),
            _followers: followers,
        })
    }

    /// Revokes the script's sessions on targets that navigate to URLs not for scripts, and passes each such target to
    /// `record`.
    pub(crate) fn watch_commits(&self, record: impl Fn(Departure) + Send + 'static) {
        drop(self.evicting.set(evict::watch(&self.connection, &self.targets, record)));
    }

    pub(crate) const fn popups(&self) -> Option<&Popups> {
        self.popups.as_ref()
    }

    /// Applies all events received so far.
    pub fn catch_up(&self) {
        if let Some(popups) = self.popups() {
            popups.catch_up();
        }
        self.targets.catch_up(self.connection.events());
    }

    /// Requests the list of targets, for what the browser does not report by itself: titles.
    pub async fn refresh(&self) {
        fetch_targets(&self.connection, &self.targets).await;
    }

    /// The protocol as the browser describes it.
    #[must_use]
    pub fn protocol(&self) -> Option<&Protocol> {
        self.protocol.as_deref().ok()
    }

    /// The protocol, for callers that cannot work without it.
    ///
    /// # Errors
    /// `UNSUPPORTED_OPERATION` if the endpoint does not describe its protocol.
    pub fn require_protocol(&self) -> Result<&Protocol, ErrorReport> {
        self.protocol.as_deref().map_err(|error| {
            ErrorReport::new(
                ErrorCode::UnsupportedOperation,
                format!("this endpoint does not describe its protocol: {}", error.message),
            )
            .with_hint("Send commands without looking them up; the browser's answers name what is wrong.")
        })
    }

    /// The buffered events of this connection.
    #[must_use]
    pub fn events(&self) -> &EventLog {
        self.connection.events()
    }

    /// Whether the connection is closed, and with it every session.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// Whether a session was attached for the target's handle.
    #[must_use]
    pub fn is_attached(&self, target: &str) -> bool {
        self.handles().contains_key(target)
    }

    /// The raw session of each handle, by target.
    pub(crate) fn handles(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps the titles of pages up to date: Chromium reports a new title only with the next navigation.
async fn refresh(connection: Connection, targets: Arc<Targets>) {
    let is_relevant = |event: &Event| {
        matches!(
            event.method.as_str(),
            "Page.domContentEventFired" | "Page.loadEventFired" | "Page.navigatedWithinDocument"
        )
    };
    let mut from = 0;
    while connection.events().wait(from, &is_relevant).await.is_some() {
        from = connection.events().cursor();
        fetch_targets(&connection, &targets).await;
        // A page controls how often such events come; one request serves all that came meanwhile.
        tokio::time::sleep(REFRESH_PAUSE).await;
    }
}

async fn fetch_targets(connection: &Connection, targets: &Targets) {
    let command = Command { method: "Target.getTargets", params: Json::Null, session: None, timeout: REFRESH_MAX };
    let asked_at = connection.events().cursor();
    if let Ok(answer) = connection.call(command).await {
        targets.catch_up(connection.events());
        targets.refreshed(&answer["targetInfos"], asked_at);
    }
}

fn no_browser(error: &CdpError) -> ErrorReport {
    let message = format!("the endpoint does not answer as a browser does: {error}");
    let report = ErrorReport::new(ErrorCode::CdpConnectionFailed, message);
    match error {
        CdpError::Timeout { .. } => report,
        _ => report
            .with_hint("Give the WebSocket address of the browser itself, not that of a page.")
            .with_detail(REFUSED, true),
    }
}
