//! Targets and contexts that an execution creates in an external browser: recorded, and closed at the end.

use super::{CLOSE_OWNED_MAX, ExecutionBrowser};
use crate::{
    connected::ConnectedBrowser,
    route::Route,
    targets::{OPENERS_MAX, Target},
};
use codemode_chromium::{CdpError, Command};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::Value as Json;
use std::{sync::Arc, time::Duration};
use tokio::task::JoinHandle;

/// The entries of an execution among the owners of targets; removed when this is dropped.
struct Ownership<'a>(&'a ExecutionBrowser);

impl Drop for Ownership<'_> {
    fn drop(&mut self) {
        self.0.owners.forget(&self.0.context.execution);
    }
}

impl ExecutionBrowser {
    /// Closes what this execution created in an external browser, and disconnects.
    pub(super) async fn close_owned(
        &self,
        connected: Option<Arc<ConnectedBrowser>>,
        route: &Route,
    ) -> Result<(), ErrorReport> {
        // Only when the tabs are closed, or closing is abandoned: until then no other execution may use them.
        let _ownership = Ownership(self);
        self.creating.close();
        let all_answered = tokio::time::timeout(CLOSE_OWNED_MAX, self.creating.wait()).await.is_ok();
        if let Some(connected) = &connected {
            self.adopt_popups(connected);
        }
        let connected =
            connected.map(|connected| connected.connection.clone()).filter(|connection| !connection.is_closed());
        let owned = self.owned.all();
        let connection = match connected {
            Some(connection) => connection,
            None if owned.is_empty() => return Ok(()),
            None => match route.connect(CLOSE_OWNED_MAX).await {
                Ok(connection) => connection,
                Err(error) => {
                    tracing::warn!(%error, "could not tidy up in an external browser");
                    self.warn("The external browser cannot be reached any more: tabs of this script may be left open.");
                    return Ok(());
                }
            },
        };
        let closed = owned.close(&connection, CLOSE_OWNED_MAX).await;
        connection.close().await;
        if closed && all_answered {
            return Ok(());
        }
        let message = "tabs of this script may be left open in the external browser: it did not answer in time";
        Err(ErrorReport::new(ErrorCode::ProviderDisposeFailed, message))
    }

    /// Records as owned the tabs that an owned tab opened, and those in an owned context.
    pub(super) fn adopt_popups(&self, connected: &Arc<ConnectedBrowser>) {
        connected.catch_up();
        for target in connected.targets.visible() {
            if self.owns(&target, Some(connected)) {
                self.owned.add_target(&target.id);
            }
        }
    }

    /// Sends a command that creates something in an external browser, and records what it created even if the call is
    /// dropped.
    pub(crate) fn create_owned(
        self: &Arc<Self>,
        connected: &Arc<ConnectedBrowser>,
        method: &str,
        params: Json,
        session: Option<&str>,
        timeout: Duration,
    ) -> JoinHandle<Result<Json, CdpError>> {
        let (browser, connected, method) = (Arc::clone(self), Arc::clone(connected), method.to_owned());
        let session = session.map(str::to_owned);
        self.creating.spawn(async move {
            let command = Command { method: &method, params, session: session.as_deref(), timeout };
            let answer = connected.connection.call(command).await;
            if let Ok(answer) = &answer {
                if let Some(target) = answer["targetId"].as_str() {
                    browser.owned.add_target(target);
                    browser.owners.add(target, &browser.context.execution);
                }
                if let Some(context) = answer["browserContextId"].as_str() {
                    browser.owned.add_context(context);
                }
            }
            answer
        })
    }

    /// Whether this execution created a target, or the tab that opened it, or the context that it is in.
    pub(super) fn owns(&self, target: &Target, connected: Option<&Arc<ConnectedBrowser>>) -> bool {
        let mut target = target.clone();
        for _ in 0..OPENERS_MAX {
            if self.owned.has_target(&target.id) || target.context.as_ref().is_some_and(|id| self.owned.has_context(id))
            {
                return true;
            }
            let Some(opener) = &target.opener else { return false };
            if self.owned.has_target(opener) {
                return true;
            }
            match connected.and_then(|connected| connected.targets.target(opener)) {
                Some(opener) => target = opener,
                None => return false,
            }
        }
        false
    }
}
