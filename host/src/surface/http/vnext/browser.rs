//! The browser of a client: an execution without a script on a session key, its tabs, and the state stored with it.

use crate::{
    service::{DirectSession, DirectSessions, Service},
    surface::http::contract::{Failure, Page},
};
use axum::http::StatusCode;
use serde_json::{Value as Json, json};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use tokio_util::task::AbortOnDropHandle;

/// The name of these executions in the audit, and the session key of a caller without a name.
pub(super) const NAME: &str = "vnext";

/// The kind of event for which a hook waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Hook {
    Dialog,
    FileChooser,
}

impl Hook {
    /// The type of the event.
    pub(super) const fn event_type(self) -> &'static str {
        match self {
            Self::Dialog => "dialog",
            Self::FileChooser => "filechooser",
        }
    }
}

/// The operator's settings of the contract.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// Whether clients may evaluate functions in pages.
    pub evaluates: bool,
    /// The folder whose files clients may upload to pages.
    pub uploads: Option<PathBuf>,
}

/// The state shared by all requests.
pub(crate) struct Vnext {
    pub(super) service: Service,
    pub(super) sessions: DirectSessions<ClientState>,
    pub(super) options: Options,
}

/// The state stored with the browser of a client.
#[derive(Default)]
pub(super) struct ClientState {
    /// The page that was used last: the target of requests that name none.
    last: Mutex<Option<String>>,
    /// The armed hooks, by page and kind.
    pub(super) hooks: Mutex<HashMap<(String, Hook), AbortOnDropHandle<()>>>,
}

pub(super) type Session = Arc<DirectSession<ClientState>>;

impl Vnext {
    pub(crate) fn new(service: Service, options: Options) -> Arc<Self> {
        Arc::new(Self { sessions: DirectSessions::new(service.clone(), NAME), service, options })
    }

    /// Ends the executions of all clients; their browsers keep running under their keepers.
    pub(crate) async fn end(&self) {
        self.sessions.end_all().await;
    }
}

impl ClientState {
    /// The page that was used last.
    pub(super) fn last_page(&self) -> Option<String> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the page that was used last.
    pub(super) fn set_last_page(&self, page: &str) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(page.to_owned());
    }
}

/// A tab as JSON of the contract.
pub(super) fn tab_json(page: Page) -> Json {
    json!({"targetId": page.id, "title": page.title, "url": page.url, "type": "page"})
}

/// The tab with an id, or the only one whose id has this prefix.
pub(super) fn chosen(pages: Vec<Page>, target: &str) -> Result<Page, Failure> {
    let mut found: Vec<Page> = pages.into_iter().filter(|page| page.id.starts_with(target)).collect();
    if let Some(exact) = found.iter().position(|page| page.id == target) {
        return Ok(found.swap_remove(exact));
    }
    match (found.pop(), found.is_empty()) {
        (Some(page), true) => Ok(page),
        (Some(_), false) => Err(Failure::new(StatusCode::CONFLICT, "ambiguous target id prefix")),
        (None, _) => Err(Failure::new(StatusCode::NOT_FOUND, "tab not found")),
    }
}
