//! The health of a service: its readiness and its metrics.

use super::{host::Service, startup::blocking};
use codemode_spec::{ErrorCode, ErrorReport};
use serde::Serialize;

/// Whether a service can execute scripts now, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// Whether the service is ready.
    pub ready: bool,
    /// What is missing, one sentence each.
    pub reasons: Vec<String>,
}

impl Service {
    /// Checks the requirements of an execution, without building or starting any of them.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn readiness(&self) -> Readiness {
        let mut reasons = Vec::new();
        if self.inner.execution.if_ready().is_none() {
            reasons.push("The sandbox is not prepared yet.".to_owned());
        }
        let settings = self.settings();
        if self.inner.config.has_browser && !settings.is_external() {
            let named = settings.browser.browser.clone();
            if let Err(error) = blocking(move || codemode_chromium::find(named.as_deref()).map(drop)).await {
                reasons.push(format!("There is no browser ({}).", error.code));
            }
        }
        Readiness { ready: reasons.is_empty(), reasons }
    }

    /// The metrics of this service since its start, and of its state folder now, in the `OpenMetrics` text format.
    ///
    /// # Errors
    /// When the store cannot be opened or read.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn metrics(&self) -> Result<String, ErrorReport> {
        let sessions = &self.administration().await?.sessions;
        let (totals, audit) = (sessions.totals().await?, sessions.store().audit_head().await?);
        let load = self.inner.execution.if_ready().map(|execution| execution.executor.load()).unwrap_or_default();
        let text = self.inner.metrics.text(&totals, &audit, load);
        text.map_err(|error| ErrorReport::new(ErrorCode::HostFault, format!("the numbers cannot be written: {error}")))
    }
}
