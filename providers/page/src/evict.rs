//! Detaches the sessions of targets that are no longer for scripts, as soon as the browser reports what the target
//! shows.

use crate::targets::{Departure, Detachment, Targets};
use codemode_chromium::{Command, Connection};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio_util::task::AbortOnDropHandle;

/// How long the browser may take to detach a session. Scripts cannot use the session in the meantime either.
const DETACH_MAX: Duration = Duration::from_secs(5);

/// Detaches revoked sessions from now on, and passes each target that caused it to `record`.
pub(crate) fn watch(
    connection: &Connection,
    targets: &Arc<Targets>,
    record: impl Fn(Departure) + Send + 'static,
) -> AbortOnDropHandle<()> {
    let (connection, targets) = (connection.clone(), Arc::clone(targets));
    let mut changes = targets.changes();
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            let (detachments, departures) = targets.take_detachments();
            departures.into_iter().for_each(&record);
            for Detachment { session, through } in detachments {
                let connection = connection.clone();
                // A session that does not answer must not delay the others.
                tokio::spawn(async move {
                    let params = json!({ "sessionId": session });
                    let method = "Target.detachFromTarget";
                    // Only the session through which it was attached can detach it. Either may be detached already.
                    let session = through.as_deref();
                    let _ = connection.call(Command { method, params, session, timeout: DETACH_MAX }).await;
                });
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }))
}
