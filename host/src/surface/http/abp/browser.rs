//! The browser of a client of ABP: its tabs, and what is known of each.

use super::mode::Modes;
use crate::{
    history::{History, Owner},
    service::{DirectSession, DirectSessions, Service},
    surface::http::face::{Client, Failure, Fields, Page, ask, call, call_whole, pages, value_of},
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

/// Where the routes are.
pub(crate) const PREFIX: &str = "/api/v1";
/// How the audit knows these executions, and the session key of a caller without a name.
pub(super) const NAME: &str = "abp";

/// The news that are asked for.
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
/// What all requests have.
pub(crate) struct Abp {
    pub(super) service: Service,
    pub(super) sessions: DirectSessions<Kept>,
    /// Whose turn their browsers are.
    pub(super) modes: Modes,
    /// The folder whose files clients may give to pages.
    pub(super) uploads: Option<PathBuf>,
    /// Whether there is a history of what clients do.
    pub(super) keeps_history: bool,
}

impl Abp {
    pub(crate) fn new(service: Service, uploads: Option<PathBuf>, keeps_history: bool) -> Arc<Self> {
        let sessions = DirectSessions::new(service.clone(), NAME);
        Arc::new(Self { service, sessions, modes: Modes::default(), uploads, keeps_history })
    }

    /// The history, if one is kept.
    pub(super) async fn history(&self) -> Result<History, Failure> {
        if !self.keeps_history {
            return Err(Failure::new(StatusCode::NOT_FOUND, "this host keeps no history").with_code("HISTORY_DISABLED"));
        }
        Ok(self.service.history().await?)
    }

    /// Ends the executions of all clients; their browsers stay with their keepers.
    pub(crate) async fn end(&self) {
        self.sessions.end_all().await;
    }
}

/// Whose history that of a client is.
pub(super) fn owner(client: &Client) -> Owner {
    Owner { caller: client.caller.name.clone(), key: client.key.clone() }
}

/// What is kept with the browser of a client.
#[derive(Default)]
pub(super) struct Kept {
    known: Mutex<Known>,
    /// One action at a time of each tab.
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// What is known of a browser.
#[derive(Default)]
pub(super) struct Known {
    pub(super) tabs: HashMap<String, Tab>,
    /// The tab that was activated last.
    pub(super) active: Option<String>,
    /// File choosers that are open.
    pub(super) choosers: Waiting,
    /// Popups of lists that are open.
    pub(super) popups: Waiting,
    /// Downloads, the oldest first.
    pub(super) downloads: VecDeque<Download>,
    pub(super) numbered: u64,
}

/// What is known of a tab.
#[derive(Default)]
pub(super) struct Tab {
    /// From where on its news were not read; `None`: it does not tell of them yet.
    pub(super) since: Option<u64>,
    /// The dialog that it shows.
    pub(super) dialog: Option<Json>,
    /// Its last picture.
    pub(super) picture: Option<Json>,
    /// Where it was scrolled to.
    pub(super) scroll: Option<Json>,
    /// Where the mouse is, once it has been moved.
    pub(super) cursor: Option<(f64, f64)>,
    /// Its scripts stand still between actions.
    pub(super) is_paused: bool,
}

/// A download.
#[derive(Clone)]
pub(super) struct Download {
    pub(super) id: String,
    /// The tab that began it.
    pub(super) tab: String,
    pub(super) url: String,
    pub(super) filename: String,
    pub(super) start_ms: u64,
    /// Its end is told, or none is expected any more.
    pub(super) is_over: bool,
}

pub(super) type Session = Arc<DirectSession<Kept>>;

impl Kept {
    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn of an action with a tab.
    pub(super) async fn turn(&self, tab: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(turns.entry(tab.to_owned()).or_default())
        };
        turn.lock_owned().await
    }
}

impl Known {
    pub(super) fn tab(&mut self, id: &str) -> &mut Tab {
        self.tabs.entry(id.to_owned()).or_default()
    }

    /// The id of something new, as `fc_7`.
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

/// What is open in tabs and waits for an answer, the latest: the id of ABP, the tab, and the id of the verbs.
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

    /// The same, which waits no longer.
    pub(super) fn take(&mut self, id: &str) -> Option<(String, String)> {
        let found = self.find(id);
        self.0.retain(|(of, _, _)| of != id);
        found
    }
}

/// A request.
pub(super) struct Ask {
    pub(super) client: Client,
    pub(super) body: Fields,
}

impl<S: Sync> FromRequest<S> for Ask {
    type Rejection = Response;

    async fn from_request(request: Request, _: &S) -> Result<Self, Response> {
        let (client, body) = ask(request, NAME).await.map_err(Failure::into_response)?;
        Ok(Self { client, body })
    }
}

impl Ask {
    /// The session of the client, begun if need be.
    pub(super) async fn session(&self, abp: &Abp) -> Result<Session, Failure> {
        Ok(abp.sessions.begin(&self.client.caller, &self.client.key).await?)
    }

    /// The history, and the client as the owner of its part.
    pub(super) async fn history(&self, abp: &Abp) -> Result<(History, Owner), Failure> {
        abp.service.may_use(&self.client.caller, &self.client.key)?;
        Ok((abp.history().await?, owner(&self.client)))
    }

    /// The tab with an id.
    pub(super) async fn tab(&self, abp: &Abp, id: &str) -> Result<At, Failure> {
        let session = self.session(abp).await?;
        match pages(&session).await?.into_iter().find(|page| page.id == id) {
            Some(page) => Ok(At { session, page }),
            None => Err(not_found("TAB_NOT_FOUND", format!("Tab {id} not found"))),
        }
    }

    /// The tab that was activated last, or else the first.
    pub(super) async fn active_tab(&self, abp: &Abp) -> Result<At, Failure> {
        let session = self.session(abp).await?;
        let active = session.state.known().active.clone();
        let mut pages = pages(&session).await?;
        let place = pages.iter().position(|page| Some(&page.id) == active.as_ref()).unwrap_or(0);
        if pages.is_empty() {
            return Err(not_found("TAB_NOT_FOUND", "there is no tab".to_owned()));
        }
        Ok(At { session, page: pages.swap_remove(place) })
    }
}

/// A tab that a request is about.
pub(super) struct At {
    pub(super) session: Session,
    pub(super) page: Page,
}

impl At {
    /// Calls a verb on the tab; its whole answer.
    pub(super) async fn call(&self, verb: &str, mut argument: Json, time_ms: u64) -> Result<Json, Failure> {
        argument["page"] = json!(self.page.id);
        argument["timeoutMs"] = json!(time_ms);
        Ok(call(&self.session, verb, argument, time_ms + 2_000).await?)
    }

    /// Has the page's scripts go on, or stand still; where they stand then.
    pub(super) async fn set_paused(&self, paused: bool, initial_ms: Option<f64>) -> Result<Json, Failure> {
        let set = json!({"op": "set", "paused": paused, "initialMs": initial_ms});
        Ok(self.call("clock", set, DIRECT_NAVIGATE_MS).await?["value"].take())
    }

    fn is_paused(&self) -> bool {
        self.session.state.known().tabs.get(&self.page.id).is_some_and(|tab| tab.is_paused)
    }

    /// Does something beside actions for which the page's scripts must not stand still: in its turn, if they do.
    pub(super) async fn awake<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        if self.is_paused() { self.in_turn(work).await } else { work.await }
    }

    /// Does something in its turn, while the page's scripts do not stand still. A page that shows a dialog stands still by
    /// itself.
    pub(super) async fn in_turn<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let _turn = self.session.state.turn(&self.page.id).await;
        if !self.is_paused() {
            return work.await;
        }
        self.set_paused(false, None).await?;
        let done = work.await;
        match self.set_paused(true, None).await {
            Err(failure) if done.is_ok() && failure.error.code != ErrorCode::DialogOpen => Err(failure),
            _ => done,
        }
    }

    /// Calls a verb that may have a dialog open, which then is no failure: the call goes on beside, until the dialog is
    /// answered, and the events tell of it. `None` is such an end.
    pub(super) async fn act(
        &self,
        verb: &'static str,
        mut argument: Json,
        time_ms: u64,
    ) -> Result<Option<Value>, Failure> {
        if self.has_dialog() {
            let error = ErrorReport::new(ErrorCode::DialogOpen, "the tab shows a dialog");
            return Err(error.with_hint("Answer it first: POST …/dialog/accept or …/dialog/dismiss.").into());
        }
        argument["page"] = json!(self.page.id);
        argument["timeoutMs"] = json!(time_ms);
        let session = Arc::clone(&self.session);
        let mut called = tokio::spawn(async move { call_whole(&session, verb, argument, time_ms + 2_000).await });
        let since = self.session.state.known().tab(&self.page.id).since;
        let query = json!({"page": self.page.id, "since": since, "types": ["dialog"], "timeoutMs": time_ms});
        let opens = call(&self.session, "events", query, time_ms + 2_000);
        tokio::select! {
            done = &mut called => {
                let lost = |_| ErrorReport::new(ErrorCode::HostFault, "the call was lost inside the host");
                Ok(Some(value_of(done.map_err(lost)??)))
            }
            told = opens => match told?["events"].as_array().is_some_and(|events| !events.is_empty()) {
                true => Ok(None),
                false => Err(ErrorReport::new(ErrorCode::CallTimeout, "the action took too long").into()),
            },
        }
    }

    /// The same of mouse or keyboard.
    pub(super) async fn input(&self, verb: &'static str, argument: Json) -> Result<(), Failure> {
        self.act(verb, argument, DIRECT_NAVIGATE_MS).await.map(drop)
    }

    /// Whether a dialog of the tab is known.
    pub(super) fn has_dialog(&self) -> bool {
        self.session.state.known().tabs.get(&self.page.id).is_some_and(|tab| tab.dialog.is_some())
    }

    /// Has the tab tell of what happens, and hold its dialogs.
    pub(super) async fn watch(&self) -> Result<(), Failure> {
        if self.session.state.known().tab(&self.page.id).since.is_some() {
            return Ok(());
        }
        self.call("dialogs", json!({"policy": "hold"}), DIRECT_NAVIGATE_MS).await?;
        let told = self.call("watch", json!({"types": KINDS}), DIRECT_NAVIGATE_MS).await?;
        self.session.state.known().tab(&self.page.id).since = Some(told["next"].as_u64().unwrap_or_default());
        Ok(())
    }
}

/// What does not exist, with the contract's code.
pub(super) fn not_found(code: &'static str, message: String) -> Failure {
    Failure::new(StatusCode::NOT_FOUND, &message).with_code(code)
}
