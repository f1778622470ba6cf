//! A session: its row and its life cycle.

use super::{
    Moment,
    lease::{LeaseName, LeaseRecord, LeaseRef, Standing, standing},
};
use codemode_spec::{
    limits::{LEASE_TTL_MS, SESSIONS_MAX},
    session::SessionMode,
};
use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf};

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionState {
    /// Its browser is being started.
    Starting,
    /// Its browser runs, according to the store.
    Live,
    /// Its browser is to end.
    Closing,
    /// Its browser has ended. The record is a tombstone.
    Ended,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// Its execution ended, and the session was not shared.
    Done,
    /// Its execution was lost: its host died, or was stopped for too long.
    Abandoned,
    /// A script closed the session.
    Closed,
    /// A script reset the session.
    Reset,
    /// A script promoted its own browser in place of this one.
    Replaced,
    /// No execution used it for its idle time.
    Idle,
    /// Its browser died or could not be reached.
    Crashed,
    /// Its browser did not start.
    NotStarted,
    /// A client stopped the browser: the profile and the cookies of its key stay.
    Stopped,
    /// An operator closed the session.
    Operator,
}

impl EndReason {
    /// The reason as text for messages.
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
            Self::Stopped => "its client stopped it",
            Self::Operator => "an operator closed it",
        }
    }

    /// Whether the profile and the cookies of its key are to be removed. The process that ended the session may die
    /// before it has removed them; the next holder of the key then removes them first.
    #[must_use]
    pub const fn forgets(self) -> bool {
        matches!(self, Self::Closed | Self::Reset | Self::Operator)
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
    /// The session's id.
    pub id: String,
    /// The requested mode.
    pub mode: SessionMode,
    /// The key whose shared browser it is.
    pub key: Option<String>,
    /// The name of the browser's profile.
    pub profile: String,
    /// Whether the profile stays when the browser ends.
    pub profile_kept: bool,
    /// The execution that requested it.
    pub execution: String,
    /// The host in which that execution runs.
    pub host: String,
    /// The idle time after which it ends, in milliseconds.
    pub ttl_ms: u64,
    /// The lease under which it is created; with `None` a lease on the session itself is granted.
    pub lease: Option<LeaseRef>,
    /// The TTL of the lease that is granted, in milliseconds.
    pub lease_ttl_ms: u64,
    /// The network rules of its browser, as JSON; `None` is the default rules.
    pub network: Option<String>,
}

/// The facts of a running browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserFacts {
    /// The browser's program.
    #[serde(default)]
    pub program: PathBuf,
    /// Descriptions of the confinement that is missing.
    #[serde(default)]
    pub shortfalls: Vec<String>,
    /// The process id of its main process.
    pub browser_pid: u32,
    /// The process id of its keeper.
    pub keeper_pid: u32,
    /// When the keeper started, in clock ticks after the boot: together with the process id, it identifies one process.
    pub keeper_started: u64,
}

/// A session, for callers of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// The session's id.
    pub id: String,
    /// The requested mode.
    pub mode: SessionMode,
    /// The key whose shared browser it is.
    pub key: Option<String>,
    /// The session's state.
    pub state: SessionState,
    /// The name of the browser's profile.
    pub profile: String,
    /// Whether the profile stays when the browser ends.
    pub profile_kept: bool,
    /// The execution that requested it.
    pub execution: String,
    /// Its browser, once it has started.
    pub browser: Option<BrowserFacts>,
    /// The idle time after which it ends, in milliseconds.
    pub ttl_ms: u64,
    /// When it was created, in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// When it was last used.
    pub used_ms: i64,
    /// When it ended.
    pub ended_ms: Option<i64>,
    /// Why it ended, or is closing.
    pub reason: Option<EndReason>,
    /// The boot to which its steady time belongs.
    pub boot: String,
    /// The network rules that the last lease requires.
    pub network: Option<String>,
    /// The network rules that its keeper enforces.
    pub network_held: Option<String>,
}

impl SessionRow {
    /// The name of the lease under which it is used.
    #[must_use]
    pub fn lease_name(&self) -> LeaseName {
        self.key.as_deref().map_or_else(|| LeaseName::of_session(&self.id), LeaseName::of_key)
    }
}

/// The complete row of a session: the part for callers, and the columns that only the rules need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// The part for callers.
    pub row: SessionRow,
    /// Since when no execution uses it, or when it ended: by the steady clock of its boot.
    pub idle_steady_ms: i64,
    /// The last audit row at its end: decides which of two sessions ended later, independent of clocks.
    pub ended_after: Option<u64>,
}

/// An instruction to a keeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Keep the browser running, and poll again.
    Keep,
    /// End the browser.
    End(EndReason),
}

/// The decision on a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// The instruction to its keeper.
    pub watch: Watch,
    /// Whether its holder has lost the lease, so that the loss has to be recorded.
    pub lease_lost: bool,
}

/// The age and idle time of a session, in milliseconds by the wall clock: for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ages {
    /// The time since its creation, or from its creation to its end.
    pub age_ms: i64,
    /// For how long no execution has used it; `None` while an execution holds it, and after its end.
    pub idle_ms: Option<i64>,
    /// In how long it ends if no execution uses it.
    pub ends_in_ms: Option<i64>,
}

/// The ages of a session, whose lease is held or not.
#[must_use]
pub fn ages(session: &SessionRow, is_held: bool, wall_ms: i64) -> Ages {
    let idle_ms = (session.state != SessionState::Ended && !is_held).then(|| (wall_ms - session.used_ms).max(0));
    let ttl_ms = i64::try_from(session.ttl_ms).unwrap_or(i64::MAX);
    Ages {
        age_ms: (session.ended_ms.unwrap_or(wall_ms) - session.created_ms).max(0),
        idle_ms,
        ends_in_ms: idle_ms.map(|idle| (ttl_ms - idle).max(0)),
    }
}

/// Whether one more session may be created, given the number that have not ended.
#[must_use]
pub const fn has_room(open: usize) -> bool {
    open < SESSIONS_MAX
}

/// The row of a new session.
#[must_use]
pub fn begun(new: &NewSession, now: &Moment) -> SessionRecord {
    let row = SessionRow {
        id: new.id.clone(),
        mode: new.mode,
        key: new.key.clone(),
        state: SessionState::Starting,
        profile: new.profile.clone(),
        profile_kept: new.profile_kept,
        execution: new.execution.clone(),
        browser: None,
        ttl_ms: new.ttl_ms,
        created_ms: now.wall_ms,
        used_ms: now.wall_ms,
        ended_ms: None,
        reason: None,
        boot: now.boot.clone(),
        network: new.network.clone(),
        network_held: None,
    };
    SessionRecord { row, idle_steady_ms: now.steady_ms, ended_after: None }
}

/// The row of a session whose browser has started; `None` if the session is closing or has ended.
#[must_use]
pub fn started(mut session: SessionRecord, browser: &BrowserFacts) -> Option<SessionRecord> {
    if session.row.state != SessionState::Starting {
        return None;
    }
    session.row.state = SessionState::Live;
    session.row.browser = Some(browser.clone());
    session.row.network_held.clone_from(&session.row.network);
    Some(session)
}

/// The row of a session to which another execution attaches.
#[must_use]
pub fn attached(mut session: SessionRecord, ttl_ms: u64, network: Option<&str>, now: &Moment) -> SessionRecord {
    session.row.used_ms = now.wall_ms;
    session.row.ttl_ms = ttl_ms;
    session.row.network = network.map(str::to_owned);
    session
}

/// The row of a session that becomes the shared session of a key; `None` unless its browser runs.
#[must_use]
pub fn promoted(mut session: SessionRecord, key: &str, now: &Moment) -> Option<SessionRecord> {
    if session.row.state != SessionState::Live {
        return None;
    }
    session.row.key = Some(key.to_owned());
    session.row.profile_kept = true;
    session.row.used_ms = now.wall_ms;
    Some(session)
}

/// The row of a session that becomes idle.
#[must_use]
pub fn idle(mut session: SessionRecord, now: &Moment) -> SessionRecord {
    session.row.used_ms = now.wall_ms;
    session.row.boot.clone_from(&now.boot);
    session.idle_steady_ms = now.steady_ms;
    session
}

/// The row of a session that starts to close; `None` if it has ended already.
#[must_use]
pub fn closing(mut session: SessionRecord, reason: EndReason) -> Option<SessionRecord> {
    if session.row.state == SessionState::Ended {
        return None;
    }
    session.row.state = SessionState::Closing;
    // The first reason stands, unless a later reason requires that the profile is removed, which must not be lost.
    let stands = session.row.reason.filter(|noted| noted.forgets() || !reason.forgets());
    session.row.reason = Some(stands.unwrap_or(reason));
    Some(session)
}

/// The row of a session whose browser has ended and left no process; `None` if the row has ended already. `audit_last`
/// is the last row of the audit.
#[must_use]
pub fn ended(
    session: SessionRecord,
    reason: EndReason,
    audit_last: Option<u64>,
    now: &Moment,
) -> Option<SessionRecord> {
    if session.row.state == SessionState::Ended {
        return None;
    }
    let mut session = idle(session, now);
    session.row.state = SessionState::Ended;
    session.row.ended_ms = Some(now.wall_ms);
    session.row.reason = session.row.reason.or(Some(reason));
    session.ended_after = audit_last;
    Some(session)
}

/// The row of an ended session after an operator had the profile and the cookies of its key removed.
#[must_use]
pub fn data_removed(mut session: SessionRecord) -> SessionRecord {
    if session.row.state == SessionState::Ended {
        session.row.reason = Some(EndReason::Operator);
    }
    session
}

/// Decides whether a session's browser may stay, given the row of the session's lease.
#[must_use]
pub fn fate(session: &SessionRecord, lease: Option<&LeaseRecord>, now: &Moment) -> Fate {
    let SessionRecord { row, idle_steady_ms, .. } = session;
    if matches!(row.state, SessionState::Closing | SessionState::Ended) {
        return Fate { watch: Watch::End(row.reason.unwrap_or(EndReason::Operator)), lease_lost: false };
    }
    let standing = lease.map_or(Standing::Free, |lease| standing(lease, now));
    let watch = match (standing, &row.key) {
        (Standing::Held, _) => Watch::Keep,
        (_, None) => Watch::End(EndReason::Abandoned),
        // The execution for which the session is being started has lost its lease.
        _ if row.state == SessionState::Starting => Watch::End(EndReason::NotStarted),
        // The session becomes idle when the loss is recorded.
        (Standing::Expired | Standing::HostDied, Some(_)) => Watch::Keep,
        (Standing::Free, Some(_)) if row.boot != now.boot => Watch::End(EndReason::Crashed),
        (Standing::Free, Some(_)) if now.steady_ms >= idle_steady_ms.saturating_add_unsigned(row.ttl_ms) => {
            Watch::End(EndReason::Idle)
        }
        (Standing::Free, Some(_)) => Watch::Keep,
    };
    Fate { watch, lease_lost: standing.lost_how().is_some() }
}

/// What a keeper observes by itself, independent of the records in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeeperView {
    /// Its browser has exited by itself.
    pub browser_has_ended: bool,
    /// The store's file is the same as at the start.
    pub has_its_store: bool,
    /// For how long the store has been unreadable, in milliseconds; 0 if it is readable.
    pub store_unreadable_ms: u64,
}

/// The reason for which a keeper ends its browser without the store's decision, if there is one. `ttl_ms` is the idle
/// time after which the session ends.
#[must_use]
pub fn ends_without_store(view: KeeperView, ttl_ms: u64) -> Option<EndReason> {
    if view.browser_has_ended {
        Some(EndReason::Crashed)
    } else if !view.has_its_store {
        // No host can reach this keeper any more.
        Some(EndReason::Abandoned)
    } else {
        // Assumes that the lease was lost just after the store was last read.
        (view.store_unreadable_ms > ttl_ms.saturating_add(LEASE_TTL_MS)).then_some(EndReason::Abandoned)
    }
}

/// The reason for which a sweep ends a session, if there is one: the store's decision, or the death of its keeper.
#[must_use]
pub fn ends_in_sweep(state: SessionState, watch: &Watch, has_keeper: bool) -> Option<EndReason> {
    match (state, watch) {
        (SessionState::Ended, _) => None,
        (_, Watch::End(reason)) => Some(*reason),
        // While the browser is starting, its keeper may not have acquired its process lock yet.
        (state, Watch::Keep) => (state == SessionState::Live && !has_keeper).then_some(EndReason::Crashed),
    }
}

/// Whether an execution can attach to the browser of a session; otherwise it needs another browser.
#[must_use]
pub fn is_usable(state: SessionState, has_keeper: bool) -> bool {
    state == SessionState::Live && has_keeper
}

/// The last of a key's ended sessions. A session whose browser never started does not count: it left no profile.
#[must_use]
pub fn last_ended(of_key: Vec<SessionRecord>) -> Option<SessionRow> {
    let ran = |row: &SessionRow| {
        row.state == SessionState::Ended && row.reason.is_some_and(|reason| reason != EndReason::NotStarted)
    };
    let ended = of_key.into_iter().filter(|session| ran(&session.row));
    ended.max_by_key(|session| session.ended_after).map(|session| session.row)
}
