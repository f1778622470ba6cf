//! How a service is: whether it can execute now, and its numbers.

use super::{host::Service, startup::blocking};
use codemode_spec::{ErrorCode, ErrorReport};
use serde::Serialize;

/// Whether a service can execute now, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// It can.
    pub ready: bool,
    /// What is missing, each in a sentence.
    pub reasons: Vec<String>,
}

impl Service {
    /// Looks at what an execution needs, without making or starting any of it.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn readiness(&self) -> Readiness {
        let mut reasons = Vec::new();
        if self.inner.execution.made().is_none() {
            reasons.push("The sandbox is not prepared yet.".to_owned());
        }
        let settings = self.settings();
        if self.inner.ingredients.has_browser && !settings.is_external() {
            let named = settings.browser.browser.clone();
            if let Err(error) = blocking(move || codemode_chromium::find(named.as_deref()).map(drop)).await {
                reasons.push(format!("There is no browser ({}).", error.code));
            }
        }
        Readiness { ready: reasons.is_empty(), reasons }
    }

    /// What this service has done since its start, and what its state folder has now, in the text of `OpenMetrics`.
    ///
    /// # Errors
    /// When the store cannot be opened or read.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn metrics(&self) -> Result<String, ErrorReport> {
        let sessions = &self.administration().await?.sessions;
        let (stock, audit) = (sessions.stock().await?, sessions.store().audit_head().await?);
        let load = self.inner.execution.made().map(|execution| execution.executor.load()).unwrap_or_default();
        let text = self.inner.metrics.text(&stock, &audit, load);
        text.map_err(|error| ErrorReport::new(ErrorCode::HostFault, format!("the numbers cannot be written: {error}")))
    }
}
