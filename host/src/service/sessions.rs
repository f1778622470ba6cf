//! Sessions as an operator administers them.

use super::{host::Service, parts::Administration, startup::blocking};
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

/// Ended sessions that are listed when they are asked for.
const ENDED_LISTED_MAX: usize = 100;

/// The sessions of a state folder.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SessionsListed {
    /// Those that live, then those that ended, the last first.
    pub sessions: Vec<SessionInfo>,
}

/// The leases of a state folder.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LeasesListed {
    /// Those that are held, whichever host runs the holder.
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
    /// Its id.
    pub closed: String,
    /// Whether it had ended before: only what was kept of its key was left to remove.
    pub already: bool,
}

/// A session that an operator took from its holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionRevoked {
    /// Its id.
    pub session: String,
    /// The execution that had it, if one had.
    pub revoked: Option<Holder>,
}

/// What a sweep ended and removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionsSwept {
    /// The sessions that were ended.
    pub sessions: Vec<String>,
    /// What is forgotten.
    pub forgotten: Forgotten,
    /// Saved login states that were not used for long and are removed.
    pub logins: usize,
    /// What dead hosts and keepers had left.
    pub reaped: Reaped,
}

/// What dead hosts and keepers had left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reaped {
    /// Processes that were ended.
    pub processes: usize,
    /// Profiles that were removed.
    pub profiles: usize,
}

impl Service {
    /// The sessions that live; with `ended` also the last that ended.
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

    /// Ends a session, even while an execution uses it. What is kept of its key goes too.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is none, `SESSION_BUSY` when another session of its key is in use by now; when it
    /// cannot be ended.
    pub async fn sessions_close(&self, name: &str) -> Result<SessionClosed, ErrorReport> {
        let sessions = &self.administration().await?.sessions;
        let row = sessions.find(name).await?;
        sessions.close(&row).await?;
        Ok(SessionClosed { already: row.state == SessionState::Ended, closed: row.id })
    }

    /// Takes a session away from the execution that uses it. A shared browser stays.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is none; when the store fails.
    pub async fn sessions_revoke(&self, name: &str) -> Result<SessionRevoked, ErrorReport> {
        let sessions = &self.administration().await?.sessions;
        let row = sessions.find(name).await?;
        let revoked = sessions.revoke(&row).await?;
        Ok(SessionRevoked { session: row.id, revoked })
    }

    /// Ends the sessions that no execution may use any more, and removes what dead hosts and keepers left.
    ///
    /// # Errors
    /// With the first failure; the rest is done all the same.
    pub async fn sessions_sweep(&self) -> Result<SessionsSwept, ErrorReport> {
        let administration = self.administration().await?;
        let swept = administration.sessions.sweep().await?;
        let profiles = administration.state.profiles();
        let reaped = blocking(move || codemode_chromium::reap(&profiles)).await?;
        let reaped = Reaped { processes: reaped.processes, profiles: reaped.profiles };
        let logins = administration.forget_logins().await?;
        Ok(SessionsSwept { sessions: swept.sessions, forgotten: swept.forgotten, logins, reaped })
    }
}

/// Masks the addresses that pages show. Those of secrets that do not open stand there as they are: what an operator needs to
/// end a browser is told all the same.
fn mask(secrets: &SecretStore, sessions: &mut [SessionInfo]) {
    let Ok(opened) = secrets.open() else { return };
    sessions.iter_mut().flat_map(|session| &mut session.urls).for_each(|url| opened.masker.text(url));
}

/// Keeps one browser until it has ended: what the program of [`super::Settings::keeper`] does. The browser is ordered on
/// standard input, by the host that started the program with the same state folder.
///
/// # Errors
/// When the state folder cannot be trusted, or the browser could not be ended.
pub async fn keep(state_dir: Option<PathBuf>) -> Result<(), ErrorReport> {
    let path = state_dir.map_or_else(StateDir::usual, Ok)?;
    keeper::keep(StateDir::open(&path)?).await
}
