//! What is kept of sessions and leases, and what may happen to it.
//!
//! [`SessionStore`] is all that a database must be able to do; [`SqliteStore`] does it. Every method is one transaction:
//! what it changes and the audit rows that say so become durable together or not at all. Methods block; [`StoreHandle`]
//! runs them on a thread of their own.

pub mod audit;
mod error;
mod handle;
mod sqlite;

pub use error::StoreError;
pub use handle::StoreHandle;
pub use sqlite::SqliteStore;

use audit::{AuditFilter, AuditRow, Event, EventKind, KnownRow, Verdict};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{AUDIT_ROWS_MAX, LOGINS_KEPT_MS, SESSION_ABANDONED_MS},
    session::SessionMode,
};
use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf};

/// What a session's row says of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionState {
    /// Its browser is being started.
    Starting,
    /// Its browser runs, as far as is known.
    Live,
    /// Its browser is to end.
    Closing,
    /// Its browser has ended. What is left is a tombstone.
    Ended,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// Its execution was over, and it was not shared.
    Done,
    /// Its execution was lost: its host died, or was stopped for too long.
    Abandoned,
    /// A script closed it.
    Closed,
    /// A script began anew.
    Reset,
    /// A script put its own browser in the place of this one.
    Replaced,
    /// Nobody used it for as long as it was to be kept.
    Idle,
    /// Its browser died or could not be reached.
    Crashed,
    /// Its browser did not start.
    NotStarted,
    /// An operator closed it.
    Operator,
}

impl EndReason {
    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "its execution was over",
            Self::Abandoned => "its execution was lost",
            Self::Closed => "a script closed it",
            Self::Reset => "a script reset it",
            Self::Replaced => "another browser took its place",
            Self::Idle => "nobody used it for its idle time",
            Self::Crashed => "its browser died or could not be reached",
            Self::NotStarted => "its browser did not start",
            Self::Operator => "an operator closed it",
        }
    }

    /// Whether what is kept of its key is to go with it: somebody wanted that and may have died before it was done.
    #[must_use]
    pub const fn forgets(self) -> bool {
        matches!(self, Self::Closed | Self::Reset | Self::Operator)
    }

    const fn event(self) -> EventKind {
        match self {
            Self::Done | Self::Closed | Self::Replaced | Self::Operator => EventKind::SessionClosed,
            Self::Reset => EventKind::SessionReset,
            Self::Idle | Self::Abandoned => EventKind::SessionSwept,
            Self::Crashed | Self::NotStarted => EventKind::SessionCrashed,
        }
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A new session, before its browser is started.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Names it.
    pub id: String,
    /// As it was asked for.
    pub mode: SessionMode,
    /// The key that it is the shared browser of.
    pub key: Option<String>,
    /// Names the profile.
    pub profile: String,
    /// Whether the profile stays when the browser ends.
    pub profile_kept: bool,
    /// Who made it.
    pub execution: String,
    /// The host in which it is made.
    pub host: String,
    /// How long it is kept unused, in milliseconds.
    pub ttl_ms: u64,
    /// The lease under which it is made; `None` has one granted that is its own.
    pub lease: Option<LeaseRef>,
    /// How long that one holds without being renewed, in milliseconds.
    pub lease_ttl_ms: u64,
    /// What its browser may reach, as JSON; `None` is what holds by default.
    pub network: Option<String>,
}

/// A browser that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserFacts {
    /// Its program.
    #[serde(default)]
    pub program: PathBuf,
    /// What is missing of the walls around it.
    #[serde(default)]
    pub shortfalls: Vec<String>,
    /// The number of its main process.
    pub browser_pid: u32,
    /// The number of its keeper.
    pub keeper_pid: u32,
    /// When the keeper started, in clock ticks after the boot: with the number, it names one process.
    pub keeper_started: u64,
}

/// A session as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// Names it.
    pub id: String,
    /// As it was asked for.
    pub mode: SessionMode,
    /// The key that it is the shared browser of.
    pub key: Option<String>,
    /// Its life.
    pub state: SessionState,
    /// Names the profile.
    pub profile: String,
    /// Whether the profile stays when the browser ends.
    pub profile_kept: bool,
    /// Who made it.
    pub execution: String,
    /// Its browser, once it has run.
    pub browser: Option<BrowserFacts>,
    /// How long it is kept unused, in milliseconds.
    pub ttl_ms: u64,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// When it was last used.
    pub used_ms: i64,
    /// When it ended.
    pub ended_ms: Option<i64>,
    /// Why it ended, or is to end.
    pub reason: Option<EndReason>,
    /// The boot in which it lives.
    pub boot: String,
    /// What its browser may reach, as the last lease ordered it.
    pub network: Option<String>,
    /// The same as its keeper enforces it.
    pub network_held: Option<String>,
}

impl SessionRow {
    /// The name of the lease that whoever uses it must hold.
    #[must_use]
    pub fn lease_name(&self) -> LeaseName {
        self.key.as_deref().map_or_else(|| LeaseName::of_session(&self.id), LeaseName::of_key)
    }
}

/// What is leased: the browser of a key, or one session that has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaseName(String);

impl LeaseName {
    /// The browser of a key.
    #[must_use]
    pub fn of_key(key: &str) -> Self {
        Self(format!("key:{key}"))
    }

    /// One session.
    #[must_use]
    pub fn of_session(id: &str) -> Self {
        Self(format!("session:{id}"))
    }

    /// The name with this text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        ["key:", "session:"].iter().any(|kind| text.starts_with(kind)).then(|| Self(text.to_owned()))
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key, if it is of one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.0.strip_prefix("key:")
    }
}

/// A lease that somebody was given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaseRef {
    /// What is leased.
    pub name: LeaseName,
    /// The fencing token. It only grows, for each name, for ever.
    pub token: u64,
}

/// Who asks for a lease.
#[derive(Clone, Debug)]
pub struct Claim {
    /// What is to be leased.
    pub name: LeaseName,
    /// To whom.
    pub execution: String,
    /// In which host.
    pub host: String,
    /// How long it holds without being renewed, in milliseconds.
    pub ttl_ms: u64,
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// It is theirs.
    Granted(LeaseRef),
    /// It is another's. Whoever asks again keeps the place in the queue.
    Busy(Holder),
    /// So many wait already that no more may.
    QueueFull(Holder),
}

/// Who holds a lease, or has the first claim to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The execution.
    pub execution: String,
    /// Its token.
    pub token: u64,
    /// For how long, in milliseconds.
    pub held_ms: i64,
    /// When it ends unless it is renewed, in milliseconds from now.
    pub expires_in_ms: i64,
    /// Those who wait.
    pub waiting: u32,
}

/// A lease as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRow {
    /// What is leased.
    pub name: String,
    /// Who has it.
    pub holder: Holder,
    /// In which host.
    pub host: String,
    /// Whether that host lives.
    pub host_alive: bool,
}

/// How a lease was lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Loss {
    /// It was not renewed in time.
    Expired,
    /// Somebody else has it, or had it since.
    Taken {
        /// The token of the other.
        token: u64,
    },
    /// An operator took it away.
    Revoked,
    /// The browser was ended.
    Ended {
        /// The session.
        session: String,
        /// Why; `None` if even that is forgotten.
        reason: Option<EndReason>,
    },
}

impl Loss {
    /// What the holder is told.
    #[must_use]
    pub fn report(&self) -> ErrorReport {
        let lost = |message: &str| ErrorReport::new(ErrorCode::SessionLost, message);
        match self {
            Self::Expired => lost(
                "the lease on the browser expired: this execution was stopped for too long to keep it",
            )
            .with_hint("Call again: a new lease is given, and the page may have been changed by others meanwhile."),
            Self::Taken { token } => {
                lost("another execution has taken the browser over").with_detail("token_now", *token)
            }
            Self::Revoked => lost("an operator revoked the lease on the browser")
                .with_hint("Do not go on with this browser; ask the operator, or use another key."),
            Self::Ended { session, reason: Some(EndReason::Crashed) } => {
                let message = format!("the browser of the session {session} died or was killed");
                ErrorReport::new(ErrorCode::BrowserGone, message)
            }
            Self::Ended { session, reason } => {
                let why = reason.map_or("it is not known any more", EndReason::as_str);
                let message = format!("the session {session} expired or was swept: {why}");
                ErrorReport::new(ErrorCode::SessionExpired, message)
            }
        }
    }
}

/// What a keeper is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Look again.
    Keep,
    /// End the browser.
    End(EndReason),
}

/// Keeps sessions, leases and the audit.
///
/// Invariants: at most one live lease for each name; the token of a name only grows; at most one session that has not
/// ended for each key; each change is in the audit.
pub trait SessionStore: Send + Sync {
    /// Takes a lease if it is free and nobody has waited longer; otherwise takes or keeps a place in the queue. A lease
    /// that expired or whose host is dead is free.
    ///
    /// # Errors
    /// When the store fails.
    fn lease_acquire(&self, claim: &Claim) -> Result<Claimed, StoreError>;

    /// The same for one that does not wait: whoever is refused has no place in the queue.
    ///
    /// # Errors
    /// When the store fails.
    fn lease_take(&self, claim: &Claim) -> Result<Result<LeaseRef, Holder>, StoreError>;

    /// Takes a lease at once, away from whoever holds it and before all who wait: for an operator. Gives who had it.
    ///
    /// # Errors
    /// When the store fails.
    fn lease_seize(&self, claim: &Claim) -> Result<(LeaseRef, Option<Holder>), StoreError>;

    /// Leaves the queue.
    ///
    /// # Errors
    /// When the store fails.
    fn lease_give_up(&self, name: &LeaseName, execution: &str) -> Result<(), StoreError>;

    /// Extends a lease that is held.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when it was lost.
    fn lease_renew(&self, lease: &LeaseRef, ttl_ms: u64) -> Result<(), StoreError>;

    /// Looks whether a lease is held, and its session lives.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when it was lost.
    fn lease_check(&self, lease: &LeaseRef, session: &str) -> Result<(), StoreError>;

    /// Gives a lease back; its session, if it is shared, begins to be idle.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when it was lost, and nothing is changed then.
    fn lease_release(&self, lease: &LeaseRef) -> Result<(), StoreError>;

    /// Takes a lease away from its holder.
    ///
    /// # Errors
    /// When the store fails.
    fn lease_revoke(&self, name: &LeaseName) -> Result<Option<Holder>, StoreError>;

    /// The leases that are held.
    ///
    /// # Errors
    /// When the store fails.
    fn leases(&self) -> Result<Vec<LeaseRow>, StoreError>;

    /// Makes a session, under a lease.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`], [`StoreError::TooManySessions`].
    fn session_begin(&self, session: &NewSession) -> Result<LeaseRef, StoreError>;

    /// Notes that the browser of a session runs. `false` if the session is to end meanwhile.
    ///
    /// # Errors
    /// When the store fails.
    fn session_started(&self, id: &str, browser: &BrowserFacts) -> Result<bool, StoreError>;

    /// Notes that an execution uses a session that was there before, and what its browser may reach from now on.
    ///
    /// # Errors
    /// When the store fails.
    fn session_attached(
        &self,
        id: &str,
        lease: &LeaseRef,
        execution: &str,
        ttl_ms: u64,
        network: Option<&str>,
    ) -> Result<(), StoreError>;

    /// Notes, as its keeper, what the browser of a session may reach now.
    ///
    /// # Errors
    /// When the store fails.
    fn session_network_held(&self, id: &str, network: Option<&str>) -> Result<(), StoreError>;

    /// The session that is a key's and has not ended.
    ///
    /// # Errors
    /// When the store fails.
    fn session_of_key(&self, key: &str) -> Result<Option<SessionRow>, StoreError>;

    /// The last session of a key that has ended, if it is remembered. One whose browser never started is not meant.
    ///
    /// # Errors
    /// When the store fails.
    fn session_ended_of_key(&self, key: &str) -> Result<Option<SessionRow>, StoreError>;

    /// A session, ended or not.
    ///
    /// # Errors
    /// When the store fails.
    fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError>;

    /// All sessions, those that have not ended first.
    ///
    /// # Errors
    /// When the store fails.
    fn sessions(&self) -> Result<Vec<SessionRow>, StoreError>;

    /// Makes a session that is held by `lease` the shared one of the key that is held by `of_key`, and frees the former.
    /// The key has no session that has not ended, and nothing is kept of it.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when one of the leases was lost, or the session ended.
    fn session_promote(&self, id: &str, lease: &LeaseRef, of_key: &LeaseRef) -> Result<(), StoreError>;

    /// Notes that a session's browser is to end. `false` if it has ended already.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] when it is to end `under` a lease that was lost.
    fn session_closing(&self, id: &str, reason: EndReason, under: Option<&LeaseRef>) -> Result<bool, StoreError>;

    /// Notes that nothing of a session's browser is left.
    ///
    /// # Errors
    /// When the store fails.
    fn session_ended(&self, id: &str, reason: EndReason) -> Result<(), StoreError>;

    /// Notes that what was kept of an ended session's key was removed by an operator's hand.
    ///
    /// # Errors
    /// When the store fails.
    fn session_disowned(&self, id: &str) -> Result<(), StoreError>;

    /// Decides, as its keeper, whether a session's browser may live on; if not, it is to end from now on.
    ///
    /// # Errors
    /// When the store fails.
    fn session_watch(&self, id: &str) -> Result<Watch, StoreError>;

    /// Ended sessions that need not be remembered any longer.
    ///
    /// # Errors
    /// When the store fails.
    fn stale(&self, retention: &Retention) -> Result<Vec<Stale>, StoreError>;

    /// Notes the leases that were lost, and forgets these ended sessions, and of the rest what is too old or too much.
    ///
    /// # Errors
    /// When the store fails.
    fn forget(&self, sessions: &[String], retention: &Retention) -> Result<Forgotten, StoreError>;

    /// Adds to the audit.
    ///
    /// # Errors
    /// When the store fails.
    fn audit_append(&self, events: &[Event]) -> Result<(), StoreError>;

    /// Reads the audit, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    fn audit_read(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError>;

    /// Checks the chain of the audit, and that a row of it is still the one that was seen before.
    ///
    /// # Errors
    /// When the store fails.
    fn audit_verify(&self, known: Option<KnownRow>) -> Result<Verdict, StoreError>;
}

/// How long what is over is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Ended sessions: for so long a late execution is told what became of its browser. In milliseconds.
    pub sessions_ms: u64,
    /// What is kept of a key that nobody uses, its logins above all. In milliseconds.
    pub logins_ms: u64,
    /// Rows of the audit.
    pub audit_rows: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { sessions_ms: SESSION_ABANDONED_MS, logins_ms: LOGINS_KEPT_MS, audit_rows: AUDIT_ROWS_MAX }
    }
}

/// An ended session that need not be remembered any longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The session.
    pub id: String,
    /// The key, if nothing else is known of it: what is kept of it has to go first.
    pub last_of: Option<String>,
}

/// What a sweep forgot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    /// Sessions of which even the tombstone is gone.
    pub sessions: usize,
    /// Keys of which nothing is kept any more.
    pub keys: Vec<String>,
    /// Audit rows that a checkpoint stands for now.
    pub audit_rows: usize,
}
