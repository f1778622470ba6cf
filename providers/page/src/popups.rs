//! Prepares popups before they load anything: requests their dialog events and runs the popup setup.
//!
//! A page and the pages that it opened may share a process, which a dialog of any of them blocks as a whole. Chromium
//! reports a dialog only to sessions that had enabled `Page` before it opened, and a popup can open one at once. A
//! dedicated connection, invisible to scripts, therefore pauses every popup of a browser that codemode started until
//! its dialog events are enabled and its setup has run. Tabs of an external browser are not paused: dialogs that a
//! popup opens in its first moments may be missed.

use crate::{route::Route, targets::Targets};
use codemode_chromium::{
    CdpError, Command, Connection, Event,
    cdp::{
        browser_protocol::{
            page::EnableParams,
            target::{DetachFromTargetParams, FilterEntry, SetAutoAttachParams, TargetFilter},
        },
        js_protocol::runtime::RunIfWaitingForDebuggerParams,
    },
};
use codemode_spec::{ErrorReport, limits::POPUP_RING_BYTES_MAX};
use serde_json::{Value as Json, json};
use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio_util::task::AbortOnDropHandle;

/// How long a popup may take to enable its dialog events.
const WATCH_MAX: Duration = Duration::from_secs(2);
/// Events read under one lock of the log.
const EVENTS_AT_ONCE: usize = 100;

/// Prepares a popup, given by its target, before it loads anything.
pub type PopupSetup = Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// The dedicated connection on which popups are watched.
pub(crate) struct Popups {
    watched: Arc<Watched>,
    _follower: AbortOnDropHandle<()>,
}

struct Watched {
    connection: Connection,
    targets: Arc<Targets>,
    state: Mutex<State>,
    setup: OnceLock<PopupSetup>,
}

#[derive(Default)]
struct State {
    read_to: u64,
    /// The target of each session.
    sessions: HashMap<String, String>,
    /// The tabs that are not prepared yet.
    unprepared: Vec<NewTab>,
    /// Whether events were lost, and with them maybe new tabs.
    has_gap: bool,
}

/// A tab to which the connection was attached.
struct NewTab {
    session: String,
    target: String,
    is_popup: bool,
}

impl Popups {
    /// Watches popups from now on. With `waiting`, new tabs are paused until they are watched.
    ///
    /// # Errors
    /// When the browser cannot be connected to, or does not answer.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(crate) async fn watch(
        route: &Route,
        targets: &Arc<Targets>,
        waiting: bool,
        timeout: Duration,
    ) -> Result<Self, ErrorReport> {
        let connection = route.connect(timeout).await?;
        connection.events().keep(POPUP_RING_BYTES_MAX);
        let targets = Arc::clone(targets);
        let watched = Watched { connection, targets, state: Mutex::default(), setup: OnceLock::new() };
        let watched = Arc::new(watched);
        let follower = {
            let watched = Arc::clone(&watched);
            AbortOnDropHandle::new(tokio::spawn(async move { watched.follow().await }))
        };
        let pages = TargetFilter::new(vec![FilterEntry::builder().r#type("page").build()]);
        let mut command = SetAutoAttachParams::new(true, waiting);
        (command.flatten, command.filter) = (Some(true), Some(pages));
        watched.connection.execute(&command, None, timeout).await?;
        Ok(Self { watched, _follower: follower })
    }

    /// Applies all events received so far.
    pub(crate) fn catch_up(&self) {
        self.watched.catch_up();
    }

    /// Runs `setup` for each popup from now on. Later calls have no effect.
    pub(crate) fn set_up_with(&self, setup: PopupSetup) {
        drop(self.watched.setup.set(setup));
    }

    /// Answers the dialog of a popup that opened it before its script attached; `None` if the target is not a watched
    /// popup.
    pub(crate) async fn answer(&self, target: &str, params: Json, timeout: Duration) -> Option<Result<Json, CdpError>> {
        let session = {
            let state = self.watched.state();
            state.sessions.iter().find(|(_, of)| *of == target).map(|(session, _)| session.clone())?
        };
        let method = "Page.handleJavaScriptDialog";
        let answer = self.watched.connection.call(Command { method, params, session: Some(&session), timeout }).await;
        self.catch_up();
        Some(answer)
    }
}

impl Watched {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn catch_up(&self) {
        let mut state = self.state();
        let log = self.connection.events();
        while state.read_to < log.cursor() {
            let batch = log.since(state.read_to, EVENTS_AT_ONCE, &is_relevant);
            state.has_gap |= batch.dropped > 0;
            for event in &batch.events {
                state.apply(event, &self.targets);
            }
            state.read_to = batch.next;
        }
    }

    /// Prepares each new tab, until the connection is closed.
    async fn follow(&self) {
        let log = self.connection.events();
        let mut from = 0;
        // Any event counts: that relevant ones were lost shows only when the log is read.
        while log.wait(from, &|_| true).await.is_some() {
            from = log.cursor();
            self.catch_up();
            let (unprepared, has_gap) = {
                let mut state = self.state();
                (std::mem::take(&mut state.unprepared), std::mem::take(&mut state.has_gap))
            };
            for tab in unprepared {
                self.prepare(tab);
            }
            if has_gap {
                // If it fails, tabs stay as they are until the next gap.
                let _ = tokio::time::timeout(WATCH_MAX, self.attach_missed()).await;
            }
        }
    }

    /// Attaches to the tabs whose attachment was lost from the log. Their sessions are unknown and may pause them:
    /// Chromium ends such a session, and resumes the tab, if it is named by its target.
    async fn attach_missed(&self) -> Result<(), CdpError> {
        let call = |method, params| self.connection.call(Command { method, params, session: None, timeout: WATCH_MAX });
        let answer = call("Target.getTargets", Json::Null).await?;
        // Attachments that were reported before the list.
        self.catch_up();
        for tab in answer["targetInfos"].as_array().into_iter().flatten().filter(|info| info["type"] == "page") {
            if self.state().sessions.values().any(|known| tab["targetId"] == *known) {
                continue;
            }
            // Fails for a tab without a session.
            let _ = call("Target.detachFromTarget", json!({"targetId": tab["targetId"]})).await;
            if tab.get("openerId").is_some() {
                let _ = call("Target.attachToTarget", json!({"targetId": tab["targetId"], "flatten": true})).await;
            }
        }
        Ok(())
    }

    /// Prepares a new tab in a task of its own, so that a tab that does not answer does not delay others. Commands of
    /// one session are executed in order, so they are sent without waiting for each answer.
    fn prepare(&self, tab: NewTab) {
        let NewTab { session, target, is_popup } = tab;
        let setup = self.setup.get().filter(|_| is_popup).cloned();
        let connection = self.connection.clone();
        tokio::spawn(async move {
            let (enable, run) = (EnableParams::default(), RunIfWaitingForDebuggerParams::default());
            let ask = async {
                if is_popup {
                    let _ = connection.execute(&enable, Some(&session), WATCH_MAX).await;
                }
            };
            let resume = async {
                if let Some(setup) = setup {
                    let _ = tokio::time::timeout(WATCH_MAX, setup(target)).await;
                }
                connection.execute(&run, Some(&session), WATCH_MAX).await
            };
            let _ = tokio::join!(biased; ask, resume);
            if !is_popup {
                let detach = DetachFromTargetParams::builder().session_id(session.clone()).build();
                let _ = connection.execute(&detach, None, WATCH_MAX).await;
            }
        });
    }
}

impl State {
    fn apply(&mut self, event: &Event, targets: &Targets) {
        let params = &event.params;
        let text = |key: &str| params[key].as_str().unwrap_or_default();
        let target = event.session.as_ref().and_then(|session| self.sessions.get(session));
        match event.method.as_str() {
            "Target.attachedToTarget" => {
                let info = &params["targetInfo"];
                // Its dialog may be reported here before the main connection has reported the popup.
                targets.reported_by_popup_connection(info);
                let target = info["targetId"].as_str().unwrap_or_default().to_owned();
                let (session, is_popup) = (text("sessionId").to_owned(), info.get("openerId").is_some());
                self.sessions.insert(session.clone(), target.clone());
                self.unprepared.push(NewTab { session, target, is_popup });
            }
            "Target.detachedFromTarget" => drop(self.sessions.remove(text("sessionId"))),
            "Page.javascriptDialogOpening" => {
                if let Some(target) = target {
                    targets.popup_opened_dialog(target, params);
                }
            }
            "Page.javascriptDialogClosed" => {
                if let Some(target) = target {
                    targets.popup_closed_dialog(target);
                }
            }
            _ => {}
        }
    }
}

fn is_relevant(event: &Event) -> bool {
    matches!(
        event.method.as_str(),
        "Target.attachedToTarget"
            | "Target.detachedFromTarget"
            | "Page.javascriptDialogOpening"
            | "Page.javascriptDialogClosed"
    )
}

#[cfg(test)]
mod tests;
