//! A look at the live browser of a key: no lease is taken, so its idle time goes on.

use super::{
    door::pages,
    rules::{Ages, ages},
    store::{SessionState, Store},
};
use crate::state_dir::StateDir;
use codemode_provider::KeptBrowser;
use codemode_spec::ErrorReport;
use std::time::Duration;

/// What is known of the live browser of a key, at this time by the wall clock.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn look(
    store: &dyn Store,
    places: &StateDir,
    key: &str,
    wall_ms: i64,
) -> Result<Option<KeptBrowser>, ErrorReport> {
    let (found, leases) = (store.session_of_key(key).await?, store.leases().await?);
    let Some(session) = found.filter(|session| session.state == SessionState::Live) else { return Ok(None) };
    let name = session.lease_name();
    // The lease of a dead host keeps no execution from using the browser.
    let holder = leases.into_iter().find(|lease| lease.name == name.as_str() && lease.host_alive);
    let Ages { age_ms, idle_ms, ends_in_ms } = ages(&session, holder.is_some(), wall_ms);
    let time = |ms: i64| Duration::from_millis(ms.unsigned_abs());
    Ok(Some(KeptBrowser {
        pages: pages(&places.sockets(), &session.id).await,
        age: time(age_ms),
        idle: idle_ms.map(time),
        ends_in: ends_in_ms.map(time),
        holder: holder.map(|lease| lease.holder.execution),
        session: session.id,
    }))
}
