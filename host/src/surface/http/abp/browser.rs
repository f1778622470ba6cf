//! The state of an ABP client's browser and its tabs, and the requests on it.

use super::mode::Modes;
use crate::{
    history::{History, Owner},
    service::{DirectSession, DirectSessions, Service},
    surface::http::contract::{
        Client, Failure, Fields, GRACE_MS, Page, call, call_whole, pages, read_request, value_of,
    },
};
use axum::{
    extract::{FromRequest, Request},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use codemode_spec::{
    ErrorCode, ErrorReport, Value,
    limits::{ABP_CHOOSERS_MAX, ABP_DOWNLOADS_MAX, DIRECT_NAVIGATE_MS},
};
use serde_json::{Value as Json, json};
use std::{
    collections::{HashMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    sync::oneshot,
    task::{JoinError, JoinHandle},
};
use tokio_util::task::AbortOnDropHandle;

/// The path prefix of the routes.
pub(crate) const PREFIX: &str = "/api/v1";
/// The name of these executions in the audit, and the session key of a caller without a name.
pub(super) const NAME: &str = "abp";

/// The types of events that are subscribed to.
pub(super) const KINDS: [&str; 13] = [
    "select",
    "dialog",
    "filechooser",
    "popup",
    "download",
    "framenavigated",
    "close",
    "crash",
    "request",
    "response",
    "requestfinished",
    "requestfailed",
    "load",
];

/// The state shared by all requests.
pub(crate) struct Abp {
    pub(super) service: Service,
    pub(super) sessions: DirectSessions<ClientState>,
    /// The input modes of the browsers.
    pub(super) modes: Modes,
    /// The folder whose files clients may upload to pages.
    pub(super) uploads: Option<PathBuf>,
    /// Whether the actions of clients are recorded.
    pub(super) keeps_history: bool,
}

impl Abp {
    pub(crate) fn new(service: Service, uploads: Option<PathBuf>, keeps_history: bool) -> Arc<Self> {
        let sessions = DirectSessions::new(service.clone(), NAME);
        Arc::new(Self { service, sessions, modes: Modes::default(), uploads, keeps_history })
    }

    /// The history, unless it is disabled.
    pub(super) async fn history(&self) -> Result<History, Failure> {
        if !self.keeps_history {
            return Err(Failure::new(StatusCode::NOT_FOUND, "this host keeps no history").with_code("HISTORY_DISABLED"));
        }
        Ok(self.service.history().await?)
    }

    /// Ends the executions of all clients; their browsers keep running under their keepers.
    pub(crate) async fn end(&self) {
        self.sessions.end_all().await;
    }
}

/// The owner under which the history of a client is stored.
pub(super) fn owner(client: &Client) -> Owner {
    Owner { caller: client.caller.name.clone(), key: client.key.clone() }
}

/// The state stored with the browser of a client.
#[derive(Default)]
pub(super) struct ClientState {
    known: Mutex<BrowserState>,
    /// A lock per tab: actions on a tab run one at a time.
    tab_locks: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// What is known of a browser.
#[derive(Default)]
pub(super) struct BrowserState {
    pub(super) tabs: HashMap<String, Tab>,
    /// The tab that was activated last.
    pub(super) active: Option<String>,
    /// Open file choosers.
    pub(super) choosers: Waiting,
    /// Open popups of `<select>` elements.
    pub(super) popups: Waiting,
    /// Downloads, oldest first.
    pub(super) downloads: VecDeque<Download>,
    pub(super) numbered: u64,
}

/// What is known of a tab.
#[derive(Default)]
pub(super) struct Tab {
    /// The position of the first unread event; `None` if the tab is not watched yet.
    pub(super) since: Option<u64>,
    /// The open dialog.
    pub(super) dialog: Option<Arc<Json>>,
    /// The call that a dialog holds up. It continues when the dialog is answered.
    held_up: Option<AbortOnDropHandle<()>>,
    /// The last screenshot.
    pub(super) picture: Option<Json>,
    /// The last known scroll position.
    pub(super) scroll: Option<Json>,
    /// The position of the mouse, once it has been moved.
    pub(super) cursor: Option<(f64, f64)>,
    /// Whether its scripts are paused between actions.
    pub(super) is_paused: bool,
}

/// A download.
#[derive(Clone)]
pub(super) struct Download {
    pub(super) id: String,
    /// The tab that started it.
    pub(super) tab: String,
    pub(super) url: String,
    pub(super) filename: String,
    pub(super) start_ms: u64,
    /// Whether its end has been reported.
    pub(super) is_over: bool,
}

pub(super) type Session = Arc<DirectSession<ClientState>>;

impl ClientState {
    pub(super) fn known(&self) -> MutexGuard<'_, BrowserState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the lock of a tab.
    pub(super) async fn lock_tab(&self, tab: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = {
            let mut tab_locks = self.tab_locks.lock().unwrap_or_else(PoisonError::into_inner);
            tab_locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(tab_locks.entry(tab.to_owned()).or_default())
        };
        lock.lock_owned().await
    }
}

/// Lists the tabs, and forgets the state of those that are closed.
pub(super) async fn tabs(session: &Session) -> Result<Vec<Page>, Failure> {
    // A tab that is known before the list is made and is not in the list is closed, not new.
    let known: Vec<String> = session.state.known().tabs.keys().cloned().collect();
    let pages = pages(session).await?;
    session.state.known().forget_closed(&known, &pages);
    Ok(pages)
}

impl BrowserState {
    /// Forgets the tabs among these that are not open.
    fn forget_closed(&mut self, known: &[String], open: &[Page]) {
        for id in known.iter().filter(|id| !open.iter().any(|page| page.id == **id)) {
            self.tabs.remove(id);
        }
    }

    /// The state of an open tab, which is created if there is none.
    pub(super) fn tab(&mut self, id: &str) -> &mut Tab {
        self.tabs.entry(id.to_owned()).or_default()
    }

    /// Creates an id, as `fc_7`.
    pub(super) fn number(&mut self, prefix: &str) -> String {
        self.numbered += 1;
        format!("{prefix}_{}", self.numbered)
    }

    pub(super) fn add_chooser(&mut self, tab: &str, chooser: &str) -> String {
        let id = self.number("fc");
        self.choosers.add(&id, tab, chooser);
        id
    }

    pub(super) fn add_popup(&mut self, tab: &str, popup: &str) -> String {
        let id = self.number("sp");
        self.popups.add(&id, tab, popup);
        id
    }

    pub(super) fn add_download(&mut self, download: Download) {
        if self.downloads.iter().any(|known| known.id == download.id) {
            return;
        }
        self.downloads.push_back(download);
        while self.downloads.len() > ABP_DOWNLOADS_MAX {
            self.downloads.pop_front();
        }
    }
}

/// Open choosers or popups that wait for an answer, the latest ones: the id of ABP, the tab, and the id of the verbs.
#[derive(Default)]
pub(super) struct Waiting(VecDeque<(String, String, String)>);

impl Waiting {
    fn add(&mut self, id: &str, tab: &str, of_verbs: &str) {
        self.0.push_back((id.to_owned(), tab.to_owned(), of_verbs.to_owned()));
        while self.0.len() > ABP_CHOOSERS_MAX {
            self.0.pop_front();
        }
    }

    /// The tab, and the id of the verbs.
    pub(super) fn find(&self, id: &str) -> Option<(String, String)> {
        let found = self.0.iter().find(|(of, _, _)| of == id);
        found.map(|(_, tab, of_verbs)| (tab.clone(), of_verbs.clone()))
    }

    /// Like [`Self::find`], and removes the entry.
    pub(super) fn take(&mut self, id: &str) -> Option<(String, String)> {
        let found = self.find(id);
        self.0.retain(|(of, _, _)| of != id);
        found
    }
}

/// A request.
pub(super) struct ClientRequest {
    pub(super) client: Client,
    pub(super) body: Fields,
}

impl<S: Sync> FromRequest<S> for ClientRequest {
    type Rejection = Response;

    async fn from_request(request: Request, _: &S) -> Result<Self, Response> {
        let (client, body) = read_request(request, NAME).await.map_err(Failure::into_response)?;
        Ok(Self { client, body })
    }
}

impl ClientRequest {
    /// The session of the client, which is started if necessary.
    pub(super) async fn session(&self, abp: &Abp) -> Result<Session, Failure> {
        Ok(abp.sessions.begin(&self.client.caller, &self.client.key).await?)
    }

    /// The history, and the client's owner in it.
    pub(super) async fn history(&self, abp: &Abp) -> Result<(History, Owner), Failure> {
        abp.service.may_use(&self.client.caller, &self.client.key)?;
        Ok((abp.history().await?, owner(&self.client)))
    }

    /// The tab with an id.
    pub(super) async fn tab(&self, abp: &Abp, id: &str) -> Result<TabHandle, Failure> {
        let session = self.session(abp).await?;
        match tabs(&session).await?.into_iter().find(|page| page.id == id) {
            Some(page) => Ok(TabHandle { session, page }),
            None => Err(not_found("TAB_NOT_FOUND", format!("Tab {id} not found"))),
        }
    }

    /// The tab that was activated last, or else the first.
    pub(super) async fn active_tab(&self, abp: &Abp) -> Result<TabHandle, Failure> {
        let session = self.session(abp).await?;
        let active = session.state.known().active.clone();
        let mut pages = tabs(&session).await?;
        let place = pages.iter().position(|page| Some(&page.id) == active.as_ref()).unwrap_or(0);
        if pages.is_empty() {
            return Err(not_found("TAB_NOT_FOUND", "there is no tab".to_owned()));
        }
        Ok(TabHandle { session, page: pages.swap_remove(place) })
    }
}

/// The tab that a request is about.
#[derive(Clone)]
pub(super) struct TabHandle {
    pub(super) session: Session,
    pub(super) page: Page,
}

impl TabHandle {
    /// Calls a verb on the tab and returns its whole answer.
    pub(super) async fn call(&self, verb: &str, mut argument: Json, time_ms: u64) -> Result<Json, Failure> {
        argument["page"] = json!(self.page.id);
        argument["timeoutMs"] = json!(time_ms);
        Ok(call(&self.session, verb, argument, time_ms + GRACE_MS).await?)
    }

    /// Pauses or resumes the page's scripts; returns the state of its clock.
    pub(super) async fn set_paused(&self, paused: bool, initial_ms: Option<f64>) -> Result<Json, Failure> {
        let set = json!({"op": "set", "paused": paused, "initialMs": initial_ms});
        Ok(self.call("clock", set, DIRECT_NAVIGATE_MS).await?["value"].take())
    }

    /// Pauses the page's scripts between actions from now on, or no longer; returns the state of its clock. Takes the
    /// tab's lock.
    ///
    /// # Cancellation
    /// If dropped while it waits for the lock, nothing is changed. If dropped later, the change is completed in the
    /// background, before the lock is released: the page is as [`Self::is_paused`] says.
    pub(super) async fn set_paused_between_actions(
        &self,
        paused: bool,
        initial_ms: Option<f64>,
    ) -> Result<Json, Failure> {
        let lock = self.session.state.lock_tab(&self.page.id).await;
        let at = self.clone();
        let setting = tokio::spawn(async move {
            let _lock = lock;
            let clock = at.set_paused(paused, initial_ms).await?;
            at.session.state.known().tab(&at.page.id).is_paused = paused;
            Ok(clock)
        });
        setting.await.map_err(lost)?
    }

    /// Whether the page's scripts are paused between actions.
    pub(super) fn is_paused(&self) -> bool {
        self.session.state.known().tabs.get(&self.page.id).is_some_and(|tab| tab.is_paused)
    }

    /// Does work outside actions that needs the page's scripts to run: if they are paused, it is done under the tab's
    /// lock, with the scripts resumed meanwhile.
    pub(super) async fn with_scripts_running<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        if self.is_paused() { self.with_tab_lock(work).await } else { work.await }
    }

    /// Does work under the tab's lock, with the page's scripts resumed meanwhile. If a dialog is open afterwards, they
    /// cannot be paused again, which is no failure: the dialog blocks them anyway.
    ///
    /// # Cancellation
    /// May be dropped at any time: the scripts are paused again in the background, before the lock is released.
    pub(super) async fn with_tab_lock<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let lock = self.session.state.lock_tab(&self.page.id).await;
        if !self.is_paused() {
            return work.await;
        }
        let (works, is_over) = oneshot::channel::<()>();
        let at = self.clone();
        let pausing = tokio::spawn(async move {
            // Ends when the sender is dropped.
            let _ = is_over.await;
            let paused = at.set_paused(true, None).await;
            drop(lock);
            paused
        });
        let done = async {
            self.set_paused(false, None).await?;
            work.await
        };
        let done = done.await;
        drop(works);
        match pausing.await.map_err(lost)? {
            Err(failure) if done.is_ok() && failure.error.code != ErrorCode::DialogOpen => Err(failure),
            _ => done,
        }
    }

    /// Calls a verb that may open a dialog. Returns `None` if it does: the call then continues in the background until
    /// the dialog is answered, and the dialog is reported as an event.
    ///
    /// # Cancellation
    /// If dropped, the call is cancelled.
    pub(super) async fn act(&self, verb: &'static str, argument: Json, time_ms: u64) -> Result<Option<Value>, Failure> {
        let mut called = AbortOnDropHandle::new(self.begin(verb, argument, time_ms)?);
        let done = self.unless_held_up(&mut called, time_ms).await?;
        if done.is_none() {
            // The answer is dropped as soon as there is one: only the call is kept.
            let held_up = tokio::spawn(async move { drop(called.await) });
            self.session.state.known().tab(&self.page.id).held_up = Some(AbortOnDropHandle::new(held_up));
        }
        Ok(done)
    }

    /// Calls a verb of mouse or keyboard, which may open a dialog.
    ///
    /// # Cancellation
    /// If dropped, the verb is completed in the background: the keys and buttons that it holds would stay down.
    pub(super) async fn input(&self, verb: &'static str, argument: Json) -> Result<(), Failure> {
        let mut called = self.begin(verb, argument, DIRECT_NAVIGATE_MS)?;
        self.unless_held_up(&mut called, DIRECT_NAVIGATE_MS).await.map(drop)
    }

    /// Begins to call a verb that may open a dialog.
    fn begin(
        &self,
        verb: &'static str,
        mut argument: Json,
        time_ms: u64,
    ) -> Result<JoinHandle<Result<Value, ErrorReport>>, Failure> {
        if self.has_dialog() {
            let error = ErrorReport::new(ErrorCode::DialogOpen, "the tab shows a dialog");
            return Err(error.with_hint("Answer it first: POST …/dialog/accept or …/dialog/dismiss.").into());
        }
        argument["page"] = json!(self.page.id);
        argument["timeoutMs"] = json!(time_ms);
        let session = Arc::clone(&self.session);
        Ok(tokio::spawn(async move { call_whole(&session, verb, argument, time_ms + GRACE_MS).await }))
    }

    /// Waits for the value of a call; `None` if the tab opens a dialog first.
    async fn unless_held_up(
        &self,
        called: impl Future<Output = Result<Result<Value, ErrorReport>, JoinError>>,
        time_ms: u64,
    ) -> Result<Option<Value>, Failure> {
        let since = self.session.state.known().tabs.get(&self.page.id).and_then(|tab| tab.since);
        let query = json!({"page": self.page.id, "since": since, "types": ["dialog"], "timeoutMs": time_ms});
        let opens = async {
            let news = call(&self.session, "events", query, time_ms + GRACE_MS).await.ok()?;
            news["events"].as_array().filter(|events| !events.is_empty()).map(drop)
        };
        tokio::select! {
            biased;
            done = called => Ok(Some(value_of(done.map_err(lost)??))),
            // Without a dialog the verb has the last word: it tells why it failed, or that it took too long.
            Some(()) = opens => Ok(None),
        }
    }

    /// The open dialog of the tab, if one is known.
    pub(super) fn dialog(&self) -> Option<Arc<Json>> {
        self.session.state.known().tabs.get(&self.page.id)?.dialog.clone()
    }

    pub(super) fn has_dialog(&self) -> bool {
        self.dialog().is_some()
    }

    /// Forgets a dialog that is closed, but not the one that has followed it since.
    pub(super) fn forget_dialog(&self, closed: &Arc<Json>) {
        if let Some(tab) = self.session.state.known().tabs.get_mut(&self.page.id) {
            tab.dialog.take_if(|dialog| Arc::ptr_eq(dialog, closed));
        }
    }

    /// Subscribes to the tab's events and holds its dialogs open, once per tab.
    pub(super) async fn watch(&self) -> Result<(), Failure> {
        if self.session.state.known().tab(&self.page.id).since.is_some() {
            return Ok(());
        }
        self.call("dialogs", json!({"policy": "hold"}), DIRECT_NAVIGATE_MS).await?;
        let reply = self.call("watch", json!({"types": KINDS}), DIRECT_NAVIGATE_MS).await?;
        self.session.state.known().tab(&self.page.id).since = Some(reply["next"].as_u64().unwrap_or_default());
        Ok(())
    }

    /// Cancels the call that a dialog holds up.
    pub(super) fn cancel_held_up(&self) {
        if let Some(tab) = self.session.state.known().tabs.get_mut(&self.page.id) {
            tab.held_up = None;
        }
    }
}

fn lost(_: JoinError) -> ErrorReport {
    ErrorReport::new(ErrorCode::HostFault, "the call was lost inside the host")
}

/// A failure for something that does not exist, with the contract's code.
pub(super) fn not_found(code: &'static str, message: String) -> Failure {
    Failure::new(StatusCode::NOT_FOUND, &message).with_code(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_tabs_are_forgotten_and_new_ones_are_not() {
        let mut state = BrowserState::default();
        ["open", "closed", "new"].into_iter().for_each(|id| drop(state.tab(id).picture.replace(json!({}))));
        let open = [Page { id: "open".to_owned(), url: String::new(), title: String::new() }];
        state.forget_closed(&["open".to_owned(), "closed".to_owned()], &open);
        let mut left: Vec<&str> = state.tabs.keys().map(String::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["new", "open"]);
    }
}
