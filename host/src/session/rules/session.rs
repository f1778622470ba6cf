//! A session: its row, and what becomes of it.

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

/// The life of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// Its execution was over, and the session was not shared.
    Done,
    /// Its execution was lost: its host died, or was stopped for too long.
    Abandoned,
    /// A script closed the session.
    Closed,
    /// A script reset the session.
    Reset,
    /// A script put its own browser in the place of this one.
    Replaced,
    /// No execution used it for its idle time.
    Idle,
    /// Its browser died or could not be reached.
    Crashed,
    /// Its browser did not start.
    NotStarted,
    /// A client stopped the browser: what is kept of its key stays.
    Stopped,
    /// An operator closed the session.
    Operator,
}

impl EndReason {
    /// The reason in words, for readers.
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
    /// The execution that asked for it.
    pub execution: String,
    /// The host in which that execution runs.
    pub host: String,
    /// How long it is kept unused, in milliseconds.
    pub ttl_ms: u64,
    /// The lease under which it is made; `None` has a lease of the session's own granted.
    pub lease: Option<LeaseRef>,
    /// How long that lease holds without being renewed, in milliseconds.
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
    /// The walls around the browser that are missing.
    #[serde(default)]
    pub shortfalls: Vec<String>,
    /// The number of its main process.
    pub browser_pid: u32,
    /// The number of its keeper.
    pub keeper_pid: u32,
    /// When the keeper started, in clock ticks after the boot: with the number, it names one process.
    pub keeper_started: u64,
}

/// A session, for callers of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// Names it.
    pub id: String,
    /// As it was asked for.
    pub mode: SessionMode,
    /// The key that it is the shared browser of.
    pub key: Option<String>,
    /// Where it is in its life.
    pub state: SessionState,
    /// Names the profile.
    pub profile: String,
    /// Whether the profile stays when the browser ends.
    pub profile_kept: bool,
    /// The execution that asked for it.
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
    /// What its browser may reach, as its keeper enforces it.
    pub network_held: Option<String>,
}

impl SessionRow {
    /// The name of the lease under which it is used.
    #[must_use]
    pub fn lease_name(&self) -> LeaseName {
        self.key.as_deref().map_or_else(|| LeaseName::of_session(&self.id), LeaseName::of_key)
    }
}

/// The whole row of a session: what callers see, and what only the rules need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// What callers see.
    pub row: SessionRow,
    /// Since when no execution uses it, or when it ended: by the steady clock of its boot.
    pub idle_steady_ms: i64,
    /// The last audit row at its end: tells which of two sessions ended later, whatever the clocks say.
    pub ended_after: Option<u64>,
}

/// What a keeper is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Look again.
    Keep,
    /// End the browser.
    End(EndReason),
}

/// What becomes of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// What its keeper is to do.
    pub watch: Watch,
    /// Whether its holder has lost the lease; the loss is to be noted.
    pub lease_lost: bool,
}

/// How old a session is and how long it has been unused, in milliseconds: for people to read, by the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ages {
    /// Since when it exists, up to its end.
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

/// Whether one more session may be made beside those that have not ended.
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

/// The row of a session whose browser runs; `None` if the session is to end meanwhile.
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

/// The row of a session that another execution uses from now on.
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

/// The row of a session that no execution uses from now on.
#[must_use]
pub fn idle(mut session: SessionRecord, now: &Moment) -> SessionRecord {
    session.row.used_ms = now.wall_ms;
    session.row.boot.clone_from(&now.boot);
    session.idle_steady_ms = now.steady_ms;
    session
}

/// The row of a session whose browser is to end; `None` if it has ended already.
#[must_use]
pub fn closing(mut session: SessionRecord, reason: EndReason) -> Option<SessionRecord> {
    if session.row.state == SessionState::Ended {
        return None;
    }
    session.row.state = SessionState::Closing;
    // The first reason stands, unless a later reason has the profile removed: that must not be missed.
    let stands = session.row.reason.filter(|noted| noted.forgets() || !reason.forgets());
    session.row.reason = Some(stands.unwrap_or(reason));
    Some(session)
}

/// The row of an ended session, of whose browser nothing is left; `None` if the row says so already. `audit_last` is
/// the last row of the audit.
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
pub fn disowned(mut session: SessionRecord) -> SessionRecord {
    if session.row.state == SessionState::Ended {
        session.row.reason = Some(EndReason::Operator);
    }
    session
}

/// What becomes of a session, given the row of the lease under which it is used.
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
        // The session is idle from the moment at which the loss is noted.
        (Standing::Expired | Standing::HostDied, Some(_)) => Watch::Keep,
        (Standing::Free, Some(_)) if row.boot != now.boot => Watch::End(EndReason::Crashed),
        (Standing::Free, Some(_)) if now.steady_ms >= idle_steady_ms.saturating_add_unsigned(row.ttl_ms) => {
            Watch::End(EndReason::Idle)
        }
        (Standing::Free, Some(_)) => Watch::Keep,
    };
    Fate { watch, lease_lost: standing.lost_how().is_some() }
}

/// What a keeper sees beside the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeeperView {
    /// Its browser has ended by itself.
    pub browser_has_ended: bool,
    /// The store's file is the same as at the start.
    pub has_its_store: bool,
    /// For how long the store could not be read, in milliseconds; 0 if the store can be read.
    pub blind_ms: u64,
}

/// Why a keeper ends its browser without the store's decision, if so. `ttl_ms` is how long the session is kept unused.
#[must_use]
pub fn ends_without_store(view: KeeperView, ttl_ms: u64) -> Option<EndReason> {
    if view.browser_has_ended {
        Some(EndReason::Crashed)
    } else if !view.has_its_store {
        // No host can reach this keeper any more.
        Some(EndReason::Abandoned)
    } else {
        // As if the lease had been lost when the store was last read.
        (view.blind_ms > ttl_ms.saturating_add(LEASE_TTL_MS)).then_some(EndReason::Abandoned)
    }
}

/// Why a sweep ends a session, if so: the store's decision for its keeper, or that no keeper is left.
#[must_use]
pub fn ends_in_sweep(state: SessionState, watch: &Watch, has_keeper: bool) -> Option<EndReason> {
    match (state, watch) {
        (SessionState::Ended, _) => None,
        (_, Watch::End(reason)) => Some(*reason),
        // A keeper that starts its browser may not have made itself known yet.
        (state, Watch::Keep) => (state == SessionState::Live && !has_keeper).then_some(EndReason::Crashed),
    }
}

/// Whether an execution can be given the browser of a session, or needs another browser.
#[must_use]
pub fn is_usable(state: SessionState, has_keeper: bool) -> bool {
    state == SessionState::Live && has_keeper
}

/// The last of a key's sessions that has ended. A session whose browser never started does not count: it left
/// no profile.
#[must_use]
pub fn last_ended(of_key: Vec<SessionRecord>) -> Option<SessionRow> {
    let ran = |row: &SessionRow| {
        row.state == SessionState::Ended && row.reason.is_some_and(|reason| reason != EndReason::NotStarted)
    };
    let ended = of_key.into_iter().filter(|session| ran(&session.row));
    ended.max_by_key(|session| session.ended_after).map(|session| session.row)
}
