//! A browser that is connected.

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
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::Value as Json;
use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, atomic::AtomicBool},
    time::Duration,
};
use tokio_util::task::AbortOnDropHandle;

/// How long the browser may take to list its targets.
const REFRESH_MAX: Duration = Duration::from_secs(2);
/// The least time between two questions for titles.
const REFRESH_PAUSE: Duration = Duration::from_millis(50);

/// A connection to a browser and what is known of it.
pub struct ConnectedBrowser {
    pub(crate) connection: Connection,
    /// Its targets, and the sessions attached to them.
    pub targets: Arc<Targets>,
    pub(crate) route: Route,
    /// Watches the dialogs of popups, unless the browser did not allow that.
    popups: OnceLock<Popups>,
    /// Detaches sessions whose target is not for scripts.
    evicting: OnceLock<AbortOnDropHandle<()>>,
    /// What the browser says of its protocol; some remote endpoints do not say it.
    protocol: Result<Arc<Protocol>, ErrorReport>,
    /// As `Chrome/156.0.8078.79`.
    pub product: String,
    /// The raw session of each handle, by target.
    handles: Mutex<HashMap<String, String>>,
    /// Only one attaches at a time: two first calls on one handle shall share one session.
    pub(crate) attaching: tokio::sync::Mutex<()>,
    /// Only one screenshot is taken at a time: only of the tab in front can one be taken.
    pub(crate) shooting: tokio::sync::Mutex<()>,
    /// The script itself closed the browser.
    pub(crate) closed_by_script: AtomicBool,
    _followers: [AbortOnDropHandle<()>; 2],
}

impl ConnectedBrowser {
    /// Connects, and asks to be told of all targets.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED`.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(crate) async fn connect(route: &Route, protocols_dir: &Path, timeout: Duration) -> Result<Self, ErrorReport> {
        let connection = route.connect(timeout).await?;
        let (discover, version) = (SetDiscoverTargetsParams::new(true), GetVersionParams::default());
        let (discovery, version) =
            tokio::join!(connection.execute(&discover, None, timeout), connection.execute(&version, None, timeout));
        discovery.map_err(|error| no_browser(&error))?;
        let version = version.map_err(|error| no_browser(&error))?;
        let product = version.product.clone();
        let protocol = route.protocol(&version, protocols_dir, timeout).await;
        let targets = Arc::new(Targets::new());
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
            popups: OnceLock::new(),
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

    /// Watches the dialogs of popups from now on; `waiting`: new tabs wait until they are watched. A browser that does
    /// not let them be watched can be used all the same.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(crate) async fn watch_popups(&self, waiting: bool, timeout: Duration) {
        match Popups::watch(&self.route, &self.targets, waiting, timeout).await {
            Ok(popups) => drop(self.popups.set(popups)),
            Err(error) => tracing::warn!(%error, "popups are not watched"),
        }
    }

    /// Takes targets from the script that go where no script may be, and tells `record` where they went.
    pub(crate) fn watch_commits(&self, record: impl Fn(Departure) + Send + 'static) {
        drop(self.evicting.set(evict::watch(&self.connection, &self.targets, record)));
    }

    pub(crate) fn popups(&self) -> Option<&Popups> {
        self.popups.get()
    }

    /// Takes in what the browser has said so far.
    pub fn catch_up(&self) {
        if let Some(popups) = self.popups() {
            popups.catch_up();
        }
        self.targets.catch_up(self.connection.events());
    }

    /// Asks for what the browser does not tell by itself: titles.
    pub async fn refresh(&self) {
        ask_for_targets(&self.connection, &self.targets).await;
    }

    /// The protocol as the browser describes it.
    #[must_use]
    pub fn protocol(&self) -> Option<&Protocol> {
        self.protocol.as_deref().ok()
    }

    /// The same where it is needed.
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

    /// The events of this connection that are kept.
    #[must_use]
    pub fn events(&self) -> &EventLog {
        self.connection.events()
    }

    /// Whether the connection is gone, and with it what was attached.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// Whether a target has a handle with a session of its own.
    #[must_use]
    pub fn is_attached(&self, target: &str) -> bool {
        self.handles().contains_key(target)
    }

    /// The raw session of a handle, by its target.
    pub(crate) fn handles(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps the titles of pages up to date: Chromium tells of a new title only with the next navigation.
async fn refresh(connection: Connection, targets: Arc<Targets>) {
    let is_news = |event: &Event| {
        matches!(
            event.method.as_str(),
            "Page.domContentEventFired" | "Page.loadEventFired" | "Page.navigatedWithinDocument"
        )
    };
    let mut from = 0;
    while connection.events().wait(from, &is_news).await.is_some() {
        from = connection.events().cursor();
        ask_for_targets(&connection, &targets).await;
        // A page decides how often there is news; one answer serves all that comes meanwhile.
        tokio::time::sleep(REFRESH_PAUSE).await;
    }
}

async fn ask_for_targets(connection: &Connection, targets: &Targets) {
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
