//! The browser of a client: an execution without a script on a session key, its tabs, and what is kept with it.

use crate::{
    service::{DirectSession, DirectSessions, Service},
    surface::http::face::{Failure, Page},
};
use axum::http::StatusCode;
use serde_json::{Value as Json, json};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use tokio_util::task::AbortOnDropHandle;

/// What a verb is given beyond its own time, to say what kept it.
pub(super) const GRACE_MS: u64 = 2_000;
/// How the audit knows these executions, and the session key of a caller without a name.
pub(super) const NAME: &str = "vnext";

/// For what a hook waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Hook {
    Dialog,
    FileChooser,
}

impl Hook {
    /// The news of it.
    pub(super) const fn news(self) -> &'static str {
        match self {
            Self::Dialog => "dialog",
            Self::FileChooser => "filechooser",
        }
    }
}

/// What an operator decides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// Whether clients may evaluate functions in pages.
    pub evaluates: bool,
    /// The folder whose files clients may give to pages.
    pub uploads: Option<PathBuf>,
}

/// What all requests have.
pub(crate) struct Vnext {
    pub(super) service: Service,
    pub(super) sessions: DirectSessions<Kept>,
    pub(super) options: Options,
}

/// What is kept with the browser of a client.
#[derive(Default)]
pub(super) struct Kept {
    /// The page that a request means which names none.
    last: Mutex<Option<String>>,
    /// What waits for the next dialog or file chooser, by page.
    pub(super) armed: Mutex<HashMap<(String, Hook), AbortOnDropHandle<()>>>,
}

pub(super) type Session = Arc<DirectSession<Kept>>;

impl Vnext {
    pub(crate) fn new(service: Service, options: Options) -> Arc<Self> {
        Arc::new(Self { sessions: DirectSessions::new(service.clone(), NAME), service, options })
    }

    /// Ends the executions of all clients; their browsers stay with their keepers.
    pub(crate) async fn end(&self) {
        self.sessions.end_all().await;
    }
}

impl Kept {
    /// The page that a request means which names none.
    pub(super) fn meant(&self) -> Option<String> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on that is this one.
    pub(super) fn mean(&self, page: &str) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(page.to_owned());
    }
}

/// A tab as it is told.
pub(super) fn told(page: Page) -> Json {
    json!({"targetId": page.id, "title": page.title, "url": page.url, "type": "page"})
}

/// The tab with an id, or the one whose id begins so.
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
