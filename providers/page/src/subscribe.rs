//! Enables events of a page.

use crate::{attach::Attached, connected::ConnectedBrowser};
use codemode_chromium::{CdpError, Command};
use codemode_spec::ErrorReport;
use serde_json::{Value as Json, json};
use std::time::Duration;

/// Domains that waiting for their events does not enable: enabling them pauses or changes the page.
const INTERVENING_DOMAINS: &[&str] = &[
    "Autofill",
    "Cast",
    "Debugger",
    "DeviceAccess",
    "FedCm",
    "Fetch",
    "HeadlessExperimental",
    "Overlay",
    "SmartCardEmulation",
    "WebAuthn",
];

/// Whether only an explicit command of the script enables a domain's events, since that changes the page.
#[must_use]
pub fn is_enabled_by_scripts_only(domain: &str) -> bool {
    INTERVENING_DOMAINS.contains(&domain)
}

impl ConnectedBrowser {
    /// Enables the domain of an event on a session, if that was not done before and has no other effect.
    ///
    /// # Errors
    /// When the browser refuses, or the session may not be used.
    ///
    /// # Cancellation
    /// May be dropped at any time: the domain then counts as enabled.
    pub async fn subscribe(
        &self,
        event: &str,
        session: Option<&Attached>,
        timeout: Duration,
    ) -> Result<(), ErrorReport> {
        let Some(Attached { raw, target }) = session else { return Ok(()) };
        let domain = event.split('.').next().unwrap_or_default();
        let mut commands: Vec<(String, Json)> = Vec::new();
        let method = format!("{domain}.enable");
        let can_be_enabled = self.protocol().and_then(|protocol| protocol.command(&method)).is_some_and(|command| {
            command.parameters.iter().all(|parameter| parameter.optional) && !is_enabled_by_scripts_only(domain)
        });
        if can_be_enabled && !self.targets.is_enabled(raw, domain) {
            commands.push((method, Json::Null));
        }
        // This event has a command of its own.
        if event == "Page.lifecycleEvent" && !self.targets.is_enabled(raw, event) {
            commands.push(("Page.setLifecycleEventsEnabled".to_owned(), json!({"enabled": true})));
        }
        // The host enables these on each page itself; for others the gate must first know what the target shows.
        if !commands.is_empty() && !matches!(domain, "Page" | "Inspector") {
            self.admit(&format!("{domain}.enable"), Some(raw), None, timeout).await?;
        }
        for (method, params) in commands {
            // Recorded before the answer: a wait that receives its event earlier drops this future.
            let enabled = if method.ends_with(".enable") { domain } else { event };
            self.targets.set_enabled(raw, enabled, true);
            let answer = self.connection.call(Command { method: &method, params, session: Some(raw), timeout }).await;
            match answer {
                Ok(_) => {}
                // The wait itself has a timeout and watches the page.
                Err(CdpError::Timeout { .. } | CdpError::Detached { .. }) => {}
                Err(error) => {
                    self.targets.set_enabled(raw, enabled, false);
                    return Err(self.map_error(error, &method, Some(raw), target.as_deref()));
                }
            }
        }
        Ok(())
    }

    /// Waits until a session can send no more events, and returns why: its page closed or crashed.
    pub async fn silent(&self, session: Option<&Attached>, event: &str) -> ErrorReport {
        if let Some(Attached { raw, .. }) = session {
            let mut changes = self.targets.changes();
            loop {
                self.catch_up();
                if let Some(silence) = self.targets.silence(raw, event) {
                    return silence;
                }
                if changes.changed().await.is_err() {
                    break;
                }
            }
        }
        std::future::pending().await
    }
}
