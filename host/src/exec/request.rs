//! The request to an executor: its defaults, and the check of its values.

use super::admission::Share;
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{
        CPU_MS_DEFAULT, CPU_MS_MAX, RESULT_CHARS_DEFAULT, RESULT_CHARS_MAX, RESULT_CHARS_MIN, WALL_MS_DEFAULT,
        WALL_MS_MAX, WALL_MS_MIN,
    },
    session::SessionRequest,
};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A request to execute a script.
#[derive(Clone, Debug)]
pub struct Request {
    /// The script, as the model sent it.
    pub code: String,
    /// The limit of wall time.
    pub timeout: Duration,
    /// The limit of processor time.
    pub cpu: Duration,
    /// The result's size limit in characters.
    pub result_chars: usize,
    /// Options for the providers and services, by name.
    pub options: serde_json::Map<String, serde_json::Value>,
    /// The browser session to run in.
    pub session: SessionRequest,
    /// The caller's share of the executor's permits.
    pub share: Share,
    /// Cancels the execution.
    pub cancel: CancellationToken,
    /// The seed of the script's randomness; random if absent.
    pub seed: Option<[u8; 32]>,
}

impl Request {
    /// A request with the defaults.
    pub fn new(code: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            timeout: Duration::from_millis(WALL_MS_DEFAULT),
            cpu: Duration::from_millis(CPU_MS_DEFAULT),
            result_chars: RESULT_CHARS_DEFAULT,
            options: serde_json::Map::new(),
            session: SessionRequest::default(),
            share: Share::default(),
            cancel: CancellationToken::new(),
            seed: None,
        }
    }

    /// Returns `INVALID_ARGUMENT` with all faults at once.
    pub(super) fn check(&self) -> Result<(), ErrorReport> {
        let mut faults = Vec::new();
        let wall_ms = self.timeout.as_millis();
        if wall_ms < u128::from(WALL_MS_MIN) || wall_ms > u128::from(WALL_MS_MAX) {
            faults.push(format!("timeout_ms must be between {WALL_MS_MIN} and {WALL_MS_MAX}, it is {wall_ms}"));
        }
        if self.cpu.is_zero() || self.cpu.as_millis() > u128::from(CPU_MS_MAX) {
            faults.push(format!("the processor time must be between 1 and {CPU_MS_MAX} ms"));
        }
        if !(RESULT_CHARS_MIN..=RESULT_CHARS_MAX).contains(&self.result_chars) {
            let chars = self.result_chars;
            faults
                .push(format!("result_chars must be between {RESULT_CHARS_MIN} and {RESULT_CHARS_MAX}, it is {chars}"));
        }
        if faults.is_empty() { Ok(()) } else { Err(ErrorReport::new(ErrorCode::InvalidArgument, faults.join("; "))) }
    }
}
