//! Asking a page for its events.

use crate::{attach::Attached, connected::ConnectedBrowser};
use codemode_chromium::{CdpError, Command};
use codemode_spec::ErrorReport;
use serde_json::{Value as Json, json};
use std::time::Duration;

/// Domains that are not enabled by waiting for their events: enabling them stops or changes what the page does.
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

/// Whether events of a domain come only after a script has enabled it: enabling changes what the page does.
#[must_use]
pub fn is_enabled_by_scripts_only(domain: &str) -> bool {
    INTERVENING_DOMAINS.contains(&domain)
}

impl ConnectedBrowser {
    /// Asks a session for the events of a domain, if it was not asked before and asking changes nothing else.
    ///
    /// # Errors
    /// When the browser refuses, or the session may not be used.
    ///
    /// # Cancellation
    /// May be dropped at any time: a dropped request counts as asked.
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
        let can_be_asked = self.protocol().and_then(|protocol| protocol.command(&method)).is_some_and(|command| {
            command.parameters.iter().all(|parameter| parameter.optional) && !is_enabled_by_scripts_only(domain)
        });
        if can_be_asked && !self.targets.is_enabled(raw, domain) {
            commands.push((method, Json::Null));
        }
        // Enabled apart from its domain.
        if event == "Page.lifecycleEvent" && !self.targets.is_enabled(raw, event) {
            commands.push(("Page.setLifecycleEventsEnabled".to_owned(), json!({"enabled": true})));
        }
        // The host itself asks each page for these; for others it must be known what is asked.
        if !commands.is_empty() && !matches!(domain, "Page" | "Inspector") {
            self.admit(&format!("{domain}.enable"), Some(raw), None, timeout).await?;
        }
        for (method, params) in commands {
            // Noted before the answer: a wait that is served earlier drops this.
            let asked = if method.ends_with(".enable") { domain } else { event };
            self.targets.set_enabled(raw, asked, true);
            let answer = self.connection.call(Command { method: &method, params, session: Some(raw), timeout }).await;
            match answer {
                Ok(_) => {}
                // A wait has a timeout of its own, and watches the page.
                Err(CdpError::Timeout { .. } | CdpError::Detached { .. }) => {}
                Err(error) => {
                    self.targets.set_enabled(raw, asked, false);
                    return Err(self.explain(error, &method, Some(raw), target.as_deref()));
                }
            }
        }
        Ok(())
    }

    /// Waits until no event can come from a session any more: its page closed or crashed.
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
