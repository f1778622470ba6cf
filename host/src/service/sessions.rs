//! Sessions as an operator sees them.

use super::answer;
use crate::{
    config::Config,
    network::NetworkRules,
    session::{
        SessionManager, SessionSettings,
        clock::{Clock as _, MachineClock},
        keeper, pages,
        rules::{Ages, ages},
        store::{EndReason, LeaseRow, Retention, SessionRow, SessionState},
    },
    state_dir::StateDir,
};
use codemode_spec::{
    Envelope, ErrorCode, ErrorReport,
    limits::{AUDIT_ROWS_MIN, SESSIONS_MAX},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::{
    env, fs,
    time::{Duration, Instant},
};

/// Ended sessions that are listed when they are asked for.
const ENDED_LISTED_MAX: usize = 100;

/// A session, for an operator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Names it.
    pub id: String,
    /// The key that it is the shared browser of.
    pub key: Option<String>,
    /// How it was asked for.
    pub mode: String,
    /// Its life: starting, live, closing, ended.
    pub state: SessionState,
    /// Why it ended.
    pub reason: Option<EndReason>,
    /// Who uses it.
    pub lease: Option<LeaseRow>,
    /// Since when it exists, in milliseconds.
    pub age_ms: i64,
    /// For how long nobody has used it.
    pub idle_ms: Option<i64>,
    /// In how long it ends if nobody uses it.
    pub expires_in_ms: Option<i64>,
    /// The main process of its browser.
    pub browser_pid: Option<u32>,
    /// The process that keeps it.
    pub keeper_pid: Option<u32>,
    /// Memory of the browser's main process and its children, in KiB: what is shared counts in part.
    pub memory_kib: Option<u64>,
    /// What its pages show.
    pub urls: Vec<String>,
}

/// The manager of a configuration.
pub(super) fn open(config: &Config, state: &StateDir) -> Result<SessionManager, ErrorReport> {
    let program = match &config.keeper {
        Some(program) => program.clone(),
        None => env::current_exe().map_err(|error| {
            ErrorReport::new(ErrorCode::HostFault, format!("this program's own file cannot be found: {error}"))
        })?,
    };
    let lease_ttl = Duration::from_millis(config.lease_ttl_ms.max(1));
    let defaults = config.defaults()?;
    let (keep, usual) = (defaults.keep, Retention::default());
    let retention = Retention {
        sessions_ms: keep.sessions_ms.unwrap_or(usual.sessions_ms),
        logins_ms: keep.logins_ms.unwrap_or(usual.logins_ms),
        audit_rows: keep.audit_rows.unwrap_or(usual.audit_rows).max(AUDIT_ROWS_MIN),
    };
    let network = NetworkRules::parse(&defaults.network)
        .map_err(|faults| ErrorReport::new(ErrorCode::InvalidArgument, faults.to_string()))?;
    let settings = SessionSettings {
        lease_ttl,
        renew_every: Some(lease_ttl / 6),
        retention,
        confinement: config.confinement()?,
        network,
    };
    SessionManager::open(state.clone(), program, settings)
}

/// Keeps a browser: what the hidden command does.
///
/// # Errors
/// See [`keeper::keep`].
pub async fn keep(config: &Config) -> Result<(), ErrorReport> {
    keeper::keep(config.state()?).await
}

/// The sessions that live, and those that ended if they are asked for too.
pub async fn sessions_list(config: &Config, ended: bool) -> Envelope {
    told("sessions list", async {
        let state = config.state()?;
        let manager = open(config, &state)?;
        let (rows, leases) = (manager.store().sessions().await?, manager.store().leases().await?);
        let (live, gone): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.state != SessionState::Ended);
        let gone = gone.into_iter().rev().take(if ended { ENDED_LISTED_MAX } else { 0 });
        let rows = live.into_iter().take(SESSIONS_MAX).chain(gone);
        let infos = futures::future::join_all(rows.map(|row| info(&state, row, &leases))).await;
        Ok(json!({ "sessions": infos }))
    })
    .await
}

/// One session, by its id or its key.
pub async fn sessions_show(config: &Config, name: &str) -> Envelope {
    told("sessions show", async {
        let state = config.state()?;
        let manager = open(config, &state)?;
        let row = find(&manager, name).await?;
        let leases = manager.store().leases().await?;
        Ok(json!({ "session": info(&state, row, &leases).await }))
    })
    .await
}

/// Ends a session, whoever uses it. What is kept of its key goes too.
pub async fn sessions_close(config: &Config, name: &str) -> Envelope {
    told("sessions close", async {
        let manager = open(config, &config.state()?)?;
        let row = find(&manager, name).await?;
        manager.close(&row).await?;
        Ok(json!({"closed": row.id, "already": row.state == SessionState::Ended}))
    })
    .await
}

/// Takes a session away from the execution that uses it.
pub async fn sessions_revoke(config: &Config, name: &str) -> Envelope {
    told("sessions revoke", async {
        let manager = open(config, &config.state()?)?;
        let row = find(&manager, name).await?;
        let holder = manager.revoke(&row).await?;
        Ok(json!({"session": row.id, "revoked": holder}))
    })
    .await
}

/// Ends what nobody may use any more.
pub async fn sessions_sweep(config: &Config) -> Envelope {
    told("sessions sweep", async {
        let state = config.state()?;
        let manager = open(config, &state)?;
        let swept = manager.sweep().await?;
        let profiles = state.profiles();
        let reaped = super::preparation::blocking(move || codemode_chromium::reap(&profiles)).await??;
        Ok(json!({
            "sessions": swept.sessions,
            "forgotten": swept.forgotten,
            "reaped": {"processes": reaped.processes, "profiles": reaped.profiles},
        }))
    })
    .await
}

async fn told(command: &str, work: impl Future<Output = Result<Json, ErrorReport>>) -> Envelope {
    let began = Instant::now();
    answer(command, work.await, began.elapsed())
}

async fn find(manager: &SessionManager, name: &str) -> Result<SessionRow, ErrorReport> {
    let store = manager.store();
    let found = match store.session(name).await? {
        Some(row) => Some(row),
        None => match store.session_of_key(name).await? {
            Some(row) => Some(row),
            None => store.session_ended_of_key(name).await?,
        },
    };
    found.ok_or_else(|| {
        ErrorReport::new(ErrorCode::InvalidArgument, format!("there is no session with the id or the key {name:?}"))
            .with_hint("`codemode sessions list` names those that live, with --ended also those that ended.")
    })
}

async fn info(state: &StateDir, row: SessionRow, leases: &[LeaseRow]) -> SessionInfo {
    let name = row.lease_name();
    let lease = leases.iter().find(|lease| lease.name == name.as_str()).cloned();
    let Ages { age_ms, idle_ms, ends_in_ms } = ages(&row, lease.is_some(), MachineClock.wall_ms());
    let browser = row.browser.clone().filter(|_| row.state != SessionState::Ended);
    let urls = match &browser {
        Some(_) if row.state == SessionState::Live => pages(&state.sockets(), &row.id).await,
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

/// The memory of a process group.
fn memory_kib(leader: u32) -> Option<u64> {
    let mut total = None;
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let group = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(2)?.parse::<u32>().ok());
        if group != Some(leader) {
            continue;
        }
        let rollup = fs::read_to_string(entry.path().join("smaps_rollup")).unwrap_or_default();
        let pss =
            rollup.lines().find_map(|line| line.strip_prefix("Pss:")?.split_whitespace().next()?.parse::<u64>().ok());
        total = Some(total.unwrap_or(0) + pss.unwrap_or(0));
    }
    total
}
