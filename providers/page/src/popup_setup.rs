//! Commands that the host sends to a popup before it loads anything, to give it the settings of the page that opened
//! it. They go through the session that scripts use for the popup.

use crate::{attach::Attached, connected::ConnectedBrowser, popups::PopupSetup};
use codemode_chromium::Command;
use codemode_spec::ErrorReport;
use serde_json::Value as Json;
use std::{sync::Arc, time::Duration};

impl ConnectedBrowser {
    /// Runs `setup` for each popup before it loads anything, from now on. Later calls have no effect.
    pub fn set_up_popups(&self, setup: PopupSetup) {
        if let Some(popups) = self.popups() {
            popups.set_up_with(setup);
        }
    }

    /// Sends a command of the host's own to a popup during its setup, before it loads anything.
    ///
    /// # Errors
    /// When the popup was closed.
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
        // `popups` resumes it after its setup; no command of this session does.
        self.targets.resumed(&raw);
        self.send_bypassing_policy(target, method, params, timeout).await?;
        self.note_success(method, Some(&Attached { raw: raw.clone(), target: Some(target.to_owned()) }));
        // Not awaited: the answer may come only after the popup is resumed.
        let connected = Arc::clone(self);
        tokio::spawn(async move { connected.watch(&raw).await });
        Ok(())
    }

    /// Sends a command of the host's own, past the policy, to a page that has loaded nothing yet, which the policy
    /// could not check. Only for `Fetch` commands, which pause and continue its requests.
    ///
    /// # Errors
    /// When the page was closed.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn send_bypassing_policy(
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
        answer.map(drop).map_err(|error| self.map_error(error, method, Some(&raw), Some(target)))
    }
}
