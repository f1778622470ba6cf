//! What the clients of a contract over HTTP did, and what happened meanwhile: sessions, actions with their pictures, events,
//! and requests of pages that were kept under a tag. It is theirs: each client reads and deletes its own, and it proves
//! nothing; the audit does.
//!
//! `rows` is what there is, `sqlite` the file in the state folder. All of it is bounded: with more, the oldest goes.

mod rows;
mod sqlite;

pub use rows::{ActionRow, Call, CallRow, Deleted, Event, EventRow, NewAction, Owner, Part, SessionRow, Which};

use codemode_spec::{ErrorCode, ErrorReport};
use sqlite::{Connected, Outcome};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// The history in a state folder. Cheap to clone; opened with its first use, of which each runs on a thread that may block.
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

/// Each fails with `IO_ERROR` when the file cannot be opened, read or written, and may be dropped at any time: what was begun
/// is carried out.
impl History {
    /// The history that lies in a folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), connected: Arc::default() }
    }

    /// Notes an action and what happened during it. Its number.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn note_action(&self, owner: &Owner, session: &str, action: NewAction) -> Result<i64, ErrorReport> {
        let (owner, session) = (owner.clone(), session.to_owned());
        self.run(move |connected| connected.note_action(&owner, &session, &action)).await
    }

    /// Notes events of no action.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn note_events(&self, owner: &Owner, session: &str, events: Vec<Event>) -> Result<(), ErrorReport> {
        let (owner, session) = (owner.clone(), session.to_owned());
        self.run(move |connected| connected.note_events(&owner, &session, &events)).await
    }

    /// Keeps requests. How many were kept.
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

    /// The actions, newest first; oldest first where newer ones than a number are asked for.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn actions(&self, owner: &Owner, which: Which, part: Part) -> Result<Vec<ActionRow>, ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.actions(&owner, &which, part)).await
    }

    /// The picture of before or after an action.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn picture(&self, owner: &Owner, action: i64, after: bool) -> Result<Option<Vec<u8>>, ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.picture(&owner, action, after)).await
    }

    /// The events, in the order of [actions](Self::actions).
    ///
    /// # Errors
    /// See [`History`].
    pub async fn events(&self, owner: &Owner, which: Which, part: Part) -> Result<Vec<EventRow>, ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.events(&owner, &which, part)).await
    }

    /// The requests that were kept, oldest first, of those that `wanted` says yes to: the newest [`HISTORY_CALLS_MAX`] of them,
    /// with bodies until these come to so many bytes, and how many there are.
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

    /// Deletes requests: those with a tag, or all. How many.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn delete_calls(&self, owner: &Owner, tag: Option<String>) -> Result<usize, ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.delete_calls(&owner, tag.as_deref())).await
    }

    /// Deletes actions. How many.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn delete_actions(&self, owner: &Owner, which: Which) -> Result<usize, ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.delete_actions(&owner, &which)).await
    }

    /// Deletes events. How many.
    ///
    /// # Errors
    /// See [`History`].
    pub async fn delete_events(&self, owner: &Owner, which: Which) -> Result<usize, ErrorReport> {
        let owner = owner.clone();
        self.run(move |connected| connected.delete_events(&owner, &which)).await
    }

    /// Deletes sessions with all that was noted of them: one, or all.
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
