//! Maps errors of the protocol and of the connection to the reports that scripts get.

use crate::{
    connected::ConnectedBrowser,
    reports::{closed, detached, gone, needs_a_page},
};
use codemode_chromium::CdpError;
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::Value as Json;
use std::{sync::atomic::Ordering, time::Duration};

impl ConnectedBrowser {
    /// The report for a failed command on a session (`raw`) or a target.
    pub(crate) fn map_error(
        &self,
        error: CdpError,
        method: &str,
        raw: Option<&str>,
        target: Option<&str>,
    ) -> ErrorReport {
        self.catch_up();
        if let Some(refusal) = raw.and_then(|raw| self.targets.refusal(raw, method)) {
            return refusal;
        }
        match error {
            CdpError::Protocol { code, message, data } => self.refused(method, raw, target, code, &message, data),
            CdpError::Timeout { timeout, .. } => self.too_late(method, raw, timeout),
            CdpError::Detached { session, .. } => {
                let obstacle = self.targets.obstacle(&session, method);
                let gone = target.filter(|target| self.targets.was_closed(target)).map(closed);
                gone.or(obstacle).unwrap_or_else(|| detached(&session))
            }
            CdpError::Crashed { method, session } => {
                let report = self.targets.crash(&session);
                report.unwrap_or_else(|| CdpError::Crashed { method, session }.into())
            }
            CdpError::Closed { .. } if self.closed_by_script.load(Ordering::Relaxed) => gone("the script closed it"),
            CdpError::Closed { reason } => gone(&format!("{method} was not answered: {reason}")),
            error => {
                let mut report = ErrorReport::from(error);
                report.message = format!("{method}: {}", report.message);
                report
            }
        }
    }

    fn refused(
        &self,
        method: &str,
        raw: Option<&str>,
        target: Option<&str>,
        code: i64,
        message: &str,
        data: Option<Json>,
    ) -> ErrorReport {
        const METHOD_NOT_FOUND: i64 = -32_601;
        const SESSION_NOT_FOUND: i64 = -32_001;
        match (code, raw) {
            (METHOD_NOT_FOUND, None) => return needs_a_page(method),
            (METHOD_NOT_FOUND, Some(raw)) => {
                let kind = self.targets.target_of(raw).and_then(|target| self.targets.target(&target)).map(|t| t.kind);
                let kind = kind.unwrap_or_else(|| "unknown".to_owned());
                return ErrorReport::new(
                    ErrorCode::InvalidArgument,
                    format!("{method} does not exist for a target of the kind {kind}"),
                )
                .with_hint("Commands of the whole browser, as those of Browser and Target, take no sessionId.");
            }
            (SESSION_NOT_FOUND, Some(raw)) => {
                return target
                    .filter(|target| self.targets.was_closed(target))
                    .map_or_else(|| self.no_session(raw), closed);
            }
            (_, None) if message.contains("No target with given id") => {
                let target = target.unwrap_or_default();
                return if self.targets.was_closed(target) { closed(target) } else { self.no_target(target) };
            }
            _ => {}
        }
        let words = match data.as_ref().and_then(Json::as_str) {
            Some(data) => format!("{method}: {message} ({data})"),
            None => format!("{method}: {message}"),
        };
        let hint = if message.contains("browser target") {
            "Send it without sessionId.".to_owned()
        } else {
            format!("⟦describe \"{method}\"⟧ says what it takes and returns.")
        };
        ErrorReport::new(ErrorCode::CdpProtocolError, words).with_hint(hint).with_detail("cdpCode", code)
    }

    /// The report of a call that timed out: its obstacle, such as a dialog of its page or of a related one. Any other
    /// page that shows a dialog is only mentioned: pages of one site may share a process, which a dialog blocks as a
    /// whole, but most do not.
    fn too_late(&self, method: &str, raw: Option<&str>, timeout: Duration) -> ErrorReport {
        let obstacle = raw.and_then(|raw| {
            self.targets.obstacle(raw, method).or_else(|| self.targets.dialog_of_relative(raw, method))
        });
        if let Some(obstacle) = obstacle {
            return obstacle;
        }
        let message = format!("{method} was not answered within {} ms", timeout.as_millis());
        let report = ErrorReport::new(ErrorCode::CallTimeout, message);
        let report = report.with_detail("timeoutMs", timeout.as_millis() as u64);
        match raw.and_then(|_| self.targets.with_dialog()) {
            Some(other) => report.with_hint(format!(
                "Pass a larger timeoutMs. If this page shares its process with target:{}, the dialog shown there blocks \
                 both: answer it first.",
                other.id
            )),
            None => report,
        }
    }
}
