//! Information on sessions, for operators and for scripts. Takes no lease, since releasing it would reset the idle
//! timer.

use super::{
    keeper_socket::pages,
    rules::{Ages, ages},
    store::{EndReason, LeaseRow, SessionRow, SessionState, Store},
};
use crate::state_dir::StateDir;
use codemode_chromium::memory_kib;
use codemode_provider::KeptBrowser;
use codemode_spec::{ErrorCode, ErrorReport, limits::SESSIONS_MAX};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A session, for an operator.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SessionInfo {
    /// The session's id.
    pub id: String,
    /// The key whose shared browser it is.
    pub key: Option<String>,
    /// The mode in which the session was requested.
    pub mode: String,
    /// The session's state: starting, live, closing, ended.
    pub state: SessionState,
    /// Why the session ended.
    pub reason: Option<EndReason>,
    /// The lease on the session, with its holder.
    pub lease: Option<LeaseRow>,
    /// For how long the session has existed, in milliseconds.
    pub age_ms: i64,
    /// For how long no execution has used the session, in milliseconds.
    pub idle_ms: Option<i64>,
    /// In how long the session ends if no execution uses it, in milliseconds.
    pub expires_in_ms: Option<i64>,
    /// The main process of the session's browser.
    pub browser_pid: Option<u32>,
    /// The process of the browser's keeper.
    pub keeper_pid: Option<u32>,
    /// Memory of the browser's processes, in KiB: shared pages count proportionally.
    pub memory_kib: Option<u64>,
    /// The URLs of the browser's pages.
    pub urls: Vec<String>,
}

/// The sessions that have not ended, and the last `ended_max` ended sessions. `wall_ms` is the current wall time.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn list(
    store: &dyn Store,
    state_dir: &StateDir,
    ended_max: usize,
    wall_ms: i64,
) -> Result<Vec<SessionInfo>, ErrorReport> {
    let (rows, leases) = (store.sessions().await?, store.leases().await?);
    let (live, ended): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.state != SessionState::Ended);
    let rows = live.into_iter().take(SESSIONS_MAX).chain(ended.into_iter().rev().take(ended_max));
    Ok(futures::future::join_all(rows.map(|row| describe(state_dir, row, &leases, wall_ms))).await)
}

/// The numbers of sessions, leases and browsers of a state folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionTotals {
    /// Sessions whose browser is being started.
    pub starting: u64,
    /// Sessions whose browser runs, according to the store.
    pub live: u64,
    /// Sessions whose browser is to end.
    pub closing: u64,
    /// Leases that are held.
    pub leases: u64,
    /// Browsers of these sessions whose process exists.
    pub browsers: u64,
    /// The memory of these browsers, in KiB: shared pages count proportionally.
    pub browser_kib: u64,
}

/// Counts sessions, leases and browsers. Sends nothing to any browser.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn totals(store: &dyn Store) -> Result<SessionTotals, ErrorReport> {
    let mut totals = SessionTotals { leases: store.leases().await?.len() as u64, ..SessionTotals::default() };
    for row in store.sessions().await? {
        match row.state {
            SessionState::Starting => totals.starting += 1,
            SessionState::Live => totals.live += 1,
            SessionState::Closing => totals.closing += 1,
            SessionState::Ended => continue,
        }
        if let Some(kib) = row.browser.and_then(|browser| memory_kib(browser.browser_pid)) {
            totals.browsers += 1;
            totals.browser_kib += kib;
        }
    }
    Ok(totals)
}

/// The session with this id; otherwise the live session of this key; otherwise the last session of this key.
///
/// # Errors
/// `NOT_FOUND` when there is no such session; when the store cannot be read.
pub(super) async fn find(store: &dyn Store, name: &str) -> Result<SessionRow, ErrorReport> {
    let found = match store.session(name).await? {
        Some(row) => Some(row),
        None => match store.session_of_key(name).await? {
            Some(row) => Some(row),
            None => store.session_ended_of_key(name).await?,
        },
    };
    found.ok_or_else(|| {
        ErrorReport::new(ErrorCode::NotFound, format!("there is no session with the id or the key {name:?}"))
            .with_hint("`codemode sessions list` names those that live, with --ended also those that ended.")
    })
}

/// Describes a session, given the leases that are held. Requests the URLs of the pages from its keeper.
pub(super) async fn describe(state_dir: &StateDir, row: SessionRow, leases: &[LeaseRow], wall_ms: i64) -> SessionInfo {
    let name = row.lease_name();
    let lease = leases.iter().find(|lease| lease.name == name.as_str()).cloned();
    let Ages { age_ms, idle_ms, ends_in_ms } = ages(&row, lease.is_some(), wall_ms);
    let browser = row.browser.clone().filter(|_| row.state != SessionState::Ended);
    let urls = match &browser {
        Some(_) if row.state == SessionState::Live => pages(&state_dir.sockets(), &row.id).await,
        _ => Vec::new(),
    };
    SessionInfo {
        age_ms,
        idle_ms,
        expires_in_ms: ends_in_ms,
        browser_pid: browser.as_ref().map(|browser| browser.browser_pid),
        keeper_pid: browser.as_ref().map(|browser| browser.keeper_pid),
        memory_kib: browser.as_ref().and_then(|browser| memory_kib(browser.browser_pid)),
        urls,
        id: row.id,
        key: row.key,
        mode: row.mode.to_string(),
        state: row.state,
        reason: row.reason,
        lease,
    }
}

/// Describes the live browser of a key, if there is one. `wall_ms` is the current wall time.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn live_browser(
    store: &dyn Store,
    state_dir: &StateDir,
    key: &str,
    wall_ms: i64,
) -> Result<Option<KeptBrowser>, ErrorReport> {
    let (found, leases) = (store.session_of_key(key).await?, store.leases().await?);
    let Some(session) = found.filter(|session| session.state == SessionState::Live) else { return Ok(None) };
    let name = session.lease_name();
    // The lease of a dead host does not keep other executions from using the browser.
    let holder = leases.into_iter().find(|lease| lease.name == name.as_str() && lease.host_alive);
    let Ages { age_ms, idle_ms, ends_in_ms } = ages(&session, holder.is_some(), wall_ms);
    let time = |ms: i64| Duration::from_millis(ms.unsigned_abs());
    Ok(Some(KeptBrowser {
        pages: pages(&state_dir.sockets(), &session.id).await,
        age: time(age_ms),
        idle: idle_ms.map(time),
        ends_in: ends_in_ms.map(time),
        holder: holder.map(|lease| lease.holder.execution),
        session: session.id,
    }))
}
