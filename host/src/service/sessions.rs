//! Administration of sessions by operators.

use super::{host::Service, startup::blocking, subsystems::Administration};
use crate::{
    secrets::SecretStore,
    session::store::{Forgotten, Holder, LeaseRow, SessionState},
    session::{SessionInfo, keeper},
    state_dir::StateDir,
};
use codemode_spec::ErrorReport;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use utoipa::ToSchema;

/// The number of ended sessions that are listed on request.
const ENDED_LISTED_MAX: usize = 100;

/// The sessions of a state folder.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SessionsListed {
    /// The sessions that have not ended, then the ended ones, latest first.
    pub sessions: Vec<SessionInfo>,
}

/// The leases of a state folder.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LeasesListed {
    /// The leases that are held, by executions of all hosts.
    pub leases: Vec<LeaseRow>,
}

/// One session.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SessionShown {
    /// The session.
    pub session: SessionInfo,
}

/// A session that an operator ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionClosed {
    /// The session's id.
    pub closed: String,
    /// Whether it had ended before, so that only the profile and the cookies of its key were removed.
    pub already: bool,
}

/// A session whose lease an operator revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionRevoked {
    /// The session's id.
    pub session: String,
    /// The previous holder, if an execution held the lease.
    pub revoked: Option<Holder>,
}

/// The result of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionsSwept {
    /// The sessions that were ended.
    pub sessions: Vec<String>,
    /// The records that were removed.
    pub forgotten: Forgotten,
    /// The number of login states that were removed because they were unused for too long.
    pub logins: usize,
    /// The leftovers of dead hosts and keepers that were removed.
    pub reaped: Reaped,
}

/// The leftovers of dead hosts and keepers that were removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reaped {
    /// Processes that were ended.
    pub processes: usize,
    /// Profiles that were removed.
    pub profiles: usize,
}

impl Service {
    /// The sessions that have not ended; with `ended` also the last ended ones.
    ///
    /// # Errors
    /// When the store cannot be opened or read.
    pub async fn sessions_list(&self, ended: bool) -> Result<SessionsListed, ErrorReport> {
        let administration = self.administration().await?;
        let mut sessions = administration.sessions.list(if ended { ENDED_LISTED_MAX } else { 0 }).await?;
        mask(&administration.secrets, &mut sessions);
        Ok(SessionsListed { sessions })
    }

    /// One session, by its id or its key.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is none; when the store cannot be opened or read.
    pub async fn sessions_show(&self, name: &str) -> Result<SessionShown, ErrorReport> {
        let Administration { sessions, secrets, .. } = self.administration().await?;
        let row = sessions.find(name).await?;
        let mut session = sessions.describe(row).await?;
        mask(secrets, std::slice::from_mut(&mut session));
        Ok(SessionShown { session })
    }

    /// The leases that are held.
    ///
    /// # Errors
    /// When the store cannot be opened or read.
    pub async fn leases_list(&self) -> Result<LeasesListed, ErrorReport> {
        Ok(LeasesListed { leases: self.administration().await?.sessions.store().leases().await? })
    }

    /// Ends a session, even while an execution uses it, and removes the profile and the cookies of its key.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is no such session, `SESSION_BUSY` when another session of its key is in use by now; when
    /// the session cannot be ended.
    pub async fn sessions_close(&self, name: &str) -> Result<SessionClosed, ErrorReport> {
        let sessions = &self.administration().await?.sessions;
        let row = sessions.find(name).await?;
        sessions.close(&row).await?;
        Ok(SessionClosed { already: row.state == SessionState::Ended, closed: row.id })
    }

    /// Revokes the lease of the execution that uses a session. A shared browser stays.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is no such session; when the store fails.
    pub async fn sessions_revoke(&self, name: &str) -> Result<SessionRevoked, ErrorReport> {
        let sessions = &self.administration().await?.sessions;
        let row = sessions.find(name).await?;
        let revoked = sessions.revoke(&row).await?;
        Ok(SessionRevoked { session: row.id, revoked })
    }

    /// Ends the sessions that no execution may use any more, and removes the leftovers of dead hosts and keepers.
    ///
    /// # Errors
    /// The first failure. Everything else is done all the same.
    pub async fn sessions_sweep(&self) -> Result<SessionsSwept, ErrorReport> {
        let administration = self.administration().await?;
        let swept = administration.sessions.sweep().await;
        let profiles = administration.state.profiles();
        let reaped = blocking(move || codemode_chromium::reap(&profiles)).await;
        let logins = administration.forget_logins().await;
        let (swept, reaped, logins) = (swept?, reaped?, logins?);
        let reaped = Reaped { processes: reaped.processes, profiles: reaped.profiles };
        Ok(SessionsSwept { sessions: swept.sessions, forgotten: swept.forgotten, logins, reaped })
    }
}

/// Masks the values of secrets in the URLs of pages. If the secrets cannot be opened, the URLs stay unmasked: an
/// operator must be able to list and end browsers all the same.
fn mask(secrets: &SecretStore, sessions: &mut [SessionInfo]) {
    let Ok(opened) = secrets.open() else { return };
    sessions.iter_mut().flat_map(|session| &mut session.urls).for_each(|url| opened.masker.text(url));
}

/// Runs as the keeper of one browser until the browser has ended. The program of [`super::Settings::keeper`] calls
/// this. The host that started the program, with the same state folder, sends the order for the browser on standard
/// input.
///
/// # Errors
/// When the state folder cannot be trusted, or the browser could not be ended.
pub async fn keep(state_dir: Option<PathBuf>) -> Result<(), ErrorReport> {
    let path = state_dir.map_or_else(StateDir::default_path, Ok)?;
    keeper::keep(StateDir::open(&path)?).await
}
