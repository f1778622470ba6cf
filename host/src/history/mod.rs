//! The history of clients of an HTTP contract: sessions, actions with their pictures, events, and page requests that
//! were recorded under a tag. It is for the clients: each reads and deletes its own, and it is no evidence, unlike the
//! audit log.
//!
//! `rows` has the types, `sqlite` the database in the state folder. Everything is bounded; beyond a bound the oldest is
//! dropped.

mod rows;
mod sqlite;

pub use rows::{ActionRow, Call, CallRow, Deleted, Event, EventRow, NewAction, Owner, Part, SessionRow, Which};

use codemode_spec::{ErrorCode, ErrorReport};
use sqlite::{Connected, Outcome};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// The history in a state folder. Cheap to clone. The database is opened at the first use; each use runs on a blocking
/// thread.
#[derive(Clone)]
pub struct History {
    folder: PathBuf,
    connected: Arc<Mutex<Option<Connected>>>,
}

impl std::fmt::Debug for History {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("History")
    }
}

/// Every method fails with `IO_ERROR` when the database cannot be opened, read or written, and its future may be
/// dropped at any time: an operation that has started is completed.
impl History {
    /// The history in a folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), connected: Arc::default() }
    }

    /// Records an action and the events during it. Returns the action's id.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn note_action(&self, owner: &Owner, session: &str, action: NewAction) -> Result<i64, ErrorReport> {
        let (owner, session) = (owner.clone(), session.to_owned());
        self.run(move |connected| connected.note_action(&owner, &session, &action)).await
    }

    /// Records events outside of any action.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn note_events(&self, owner: &Owner, session: &str, events: Vec<Event>) -> Result<(), ErrorReport> {
        let (owner, session) = (owner.clone(), session.to_owned());
        self.run(move |connected| connected.note_events(&owner, &session, &events)).await
    }

    /// Records requests. Returns how many were recorded.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn keep_calls(&self, owner: &Owner, session: &str, calls: Vec<Call>) -> Result<usize, ErrorReport> {
        let (owner, session) = (owner.clone(), session.to_owned());
        self.run(move |connected| connected.keep_calls(&owner, &session, &calls)).await
    }

    /// The sessions, newest first.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn sessions(
        &self,
        owner: &Owner,
        id: Option<String>,
        part: Part,
    ) -> Result<Vec<SessionRow>, ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.sessions(&owner, id.as_deref(), part)).await
    }

    /// The actions, newest first; oldest first if `part` requests those newer than an id.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn actions(&self, owner: &Owner, which: Which, part: Part) -> Result<Vec<ActionRow>, ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.actions(&owner, &which, part)).await
    }

    /// The picture from before or after an action.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn picture(&self, owner: &Owner, action: i64, after: bool) -> Result<Option<Vec<u8>>, ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.picture(&owner, action, after)).await
    }

    /// The events, in the same order as [actions](Self::actions).
    ///
    /// # Errors
    /// See [`History`].
    pub async fn events(&self, owner: &Owner, which: Which, part: Part) -> Result<Vec<EventRow>, ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.events(&owner, &which, part)).await
    }

    /// The recorded requests for which `wanted` returns true, oldest first: the newest [`HISTORY_CALLS_MAX`] of them,
    /// with bodies until these add up to so many bytes; and the number of all that match.
    ///
    /// [`HISTORY_CALLS_MAX`]: codemode_spec::limits::HISTORY_CALLS_MAX
    ///
    /// # Errors
    /// See [`History`].
    pub async fn calls(
        &self,
        owner: &Owner,
        bodies_bytes: usize,
        wanted: impl Fn(&CallRow) -> bool + Send + 'static,
    ) -> Result<(Vec<CallRow>, usize), ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.calls(&owner, bodies_bytes, &wanted)).await
    }

    /// Deletes the requests with a tag, or all. Returns how many.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn delete_calls(&self, owner: &Owner, tag: Option<String>) -> Result<usize, ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.delete_calls(&owner, tag.as_deref())).await
    }

    /// Deletes actions. Returns how many.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn delete_actions(&self, owner: &Owner, which: Which) -> Result<usize, ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.delete_actions(&owner, &which)).await
    }

    /// Deletes events. Returns how many.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn delete_events(&self, owner: &Owner, which: Which) -> Result<usize, ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.delete_events(&owner, &which)).await
    }

    /// Deletes one session or all, with everything recorded for them.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn delete(&self, owner: &Owner, session: Option<String>) -> Result<Deleted, ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.delete(&owner, session.as_deref())).await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connected) -> Outcome<T> + Send + 'static,
    ) -> Result<T, ErrorReport> {
        let failed = |cause: String| {
            ErrorReport::new(ErrorCode::IoError, format!("the history of actions cannot be used: {cause}"))
        };
        let (folder, connected) = (self.folder.clone(), Arc::clone(&self.connected));
        let done = tokio::task::spawn_blocking(move || {
            let mut connected = connected.lock().unwrap_or_else(PoisonError::into_inner);
            let open = match &mut *connected {
                Some(open) => open,
                none => none.insert(Connected::open(&folder)?),
            };
            work(open).map_err(|error| error.to_string())
        });
        done.await.map_err(|error| failed(error.to_string()))?.map_err(failed)
    }
}
