//! What a popup gets before it begins, from the page that opened it: commands of the host's own, on the session that the
//! popup has for scripts.

use crate::{attach::Attached, connected::ConnectedBrowser, popups::Greeting};
use codemode_chromium::Command;
use codemode_spec::ErrorReport;
use serde_json::Value as Json;
use std::{sync::Arc, time::Duration};

impl ConnectedBrowser {
    /// Has each popup greeted before it begins, from now on; the first greeting stays.
    pub fn greet_popups(&self, greeting: Greeting) {
        if let Some(popups) = self.popups() {
            popups.greet(greeting);
        }
    }

    /// Gives a popup that is being greeted a command of the host's own, before anything is loaded there.
    ///
    /// # Errors
    /// When the popup is gone.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn prepare_popup(
        self: &Arc<Self>,
        target: &str,
        method: &str,
        params: Json,
        timeout: Duration,
    ) -> Result<(), ErrorReport> {
        let raw = self.attach_unwatched(target, timeout).await?;
        // It goes on when it has been greeted, and not by a command of this session.
        self.targets.resumed(&raw);
        self.send_unjudged(target, method, params, timeout).await?;
        self.note_success(method, Some(&Attached { raw: raw.clone(), target: Some(target.to_owned()) }));
        // Not waited for: it may be answered only when the popup goes on.
        let connected = Arc::clone(self);
        tokio::spawn(async move { connected.watch(&raw).await });
        Ok(())
    }

    /// Sends a command of the host's own to a page that has loaded nothing yet, of which the policy can say nothing: one by
    /// which its requests stop and go on.
    ///
    /// # Errors
    /// When the page is gone.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn send_unjudged(
        &self,
        target: &str,
        method: &str,
        params: Json,
        timeout: Duration,
    ) -> Result<(), ErrorReport> {
        debug_assert!(method.starts_with("Fetch."), "{method} would be for the policy");
        let raw = self.attach_unwatched(target, timeout).await?;
        let command = Command { method, params, session: Some(&raw), timeout };
        let answer = self.connection.call(command).await;
        answer.map(drop).map_err(|error| self.explain(error, method, Some(&raw), Some(target)))
    }
}
