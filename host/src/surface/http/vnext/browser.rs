//! The browser of a client: an execution without a script on a session key, its tabs, and what is kept with it.

use super::failure::Failure;
use crate::service::{DirectSession, DirectSessions, Service};
use axum::http::StatusCode;
use codemode_spec::{ErrorReport, Value, limits::DIRECT_NAVIGATE_MS};
use serde_json::{Value as Json, json};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio_util::task::AbortOnDropHandle;

/// The namespace that the contract is translated into.
const NAMESPACE: &str = "browser";
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

/// A tab.
pub(super) struct Page {
    pub(super) id: String,
    pub(super) url: String,
    pub(super) title: String,
}

impl Page {
    pub(super) fn told(self) -> Json {
        json!({"targetId": self.id, "title": self.title, "url": self.url, "type": "page"})
    }
}

/// The tabs of a browser, which is started if need be.
pub(super) async fn pages(session: &DirectSession<Kept>) -> Result<Vec<Page>, Failure> {
    let told = call(session, "pages", json!({}), DIRECT_NAVIGATE_MS).await?;
    let text = |page: &Json, field: &str| page[field].as_str().unwrap_or_default().to_owned();
    let page = |page: &Json| Page { id: text(page, "page"), url: text(page, "url"), title: text(page, "title") };
    Ok(told["pages"].as_array().into_iter().flatten().map(page).collect())
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

/// Calls a verb; its whole answer as plain JSON.
pub(super) async fn call(
    session: &DirectSession<Kept>,
    verb: &str,
    argument: impl Into<Value>,
    time_ms: u64,
) -> Result<Json, ErrorReport> {
    Ok(call_whole(session, verb, argument, time_ms).await?.to_plain_json().unwrap_or_default())
}

/// Calls a verb; its whole answer, also what is no JSON.
pub(super) async fn call_whole(
    session: &DirectSession<Kept>,
    verb: &str,
    argument: impl Into<Value>,
    time_ms: u64,
) -> Result<Value, ErrorReport> {
    session.call(NAMESPACE, verb, argument, Duration::from_millis(time_ms)).await
}
