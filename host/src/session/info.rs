//! A look at the live browser of a key: no lease is taken, so its idle time goes on.

use super::{
    door::pages,
    store::{SessionState, Store},
};
use crate::state_dir::StateDir;
use codemode_provider::KeptBrowser;
use codemode_spec::ErrorReport;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What is known of the live browser of a key.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn look(store: &dyn Store, places: &StateDir, key: &str) -> Result<Option<KeptBrowser>, ErrorReport> {
    let (found, leases) = (store.session_of_key(key).await?, store.leases().await?);
    let Some(session) = found.filter(|session| session.state == SessionState::Live) else { return Ok(None) };
    let name = session.lease_name();
    // A lease whose host died does not keep anybody from using the browser.
    let holder = leases.into_iter().find(|lease| lease.name == name.as_str() && lease.host_alive);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = |ms: i64| now.saturating_sub(Duration::from_millis(ms.try_into().unwrap_or_default()));
    let idle = holder.is_none().then(|| since(session.used_ms));
    Ok(Some(KeptBrowser {
        pages: pages(&places.sockets(), &session.id).await,
        age: since(session.created_ms),
        idle,
        ends_in: idle.map(|idle| Duration::from_millis(session.ttl_ms).saturating_sub(idle)),
        holder: holder.map(|lease| lease.holder.execution),
        session: session.id,
    }))
}
