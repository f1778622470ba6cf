//! The errors of commands.

use crate::message::PASSED_OVER_CODE;
use codemode_spec::{ErrorCode, ErrorReport, limits::CDP_REPLY_BYTES_MAX};
use serde_json::Value as Json;
use std::time::Duration;
use thiserror::Error;

/// Why a command has no result.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CdpError {
    /// The browser refused the command.
    #[error("the browser refused the command: {message} ({code})")]
    Protocol {
        /// The JSON-RPC code.
        code: i64,
        /// The browser's message.
        message: String,
        /// The browser's additional data, for example the names of wrong parameters.
        data: Option<Json>,
    },
    /// There was no answer in time. The browser may still execute the command.
    #[error("{method} was not answered within {} ms", timeout.as_millis())]
    Timeout {
        /// The command.
        method: String,
        /// The timeout.
        timeout: Duration,
    },
    /// The connection was already closed, or closed before the answer arrived.
    #[error("the connection to the browser is closed: {reason}")]
    Closed {
        /// Why the connection is closed.
        reason: String,
    },
    /// The command's session was detached before the answer: its page was closed or detached from.
    #[error("{method} was not answered: its session was detached")]
    Detached {
        /// The command.
        method: String,
        /// The session.
        session: String,
    },
    /// The page crashed before the answer, so there will be none. Detected only in sessions with `Inspector.enable`.
    #[error("{method} was not answered: the page crashed")]
    Crashed {
        /// The command.
        method: String,
        /// The session.
        session: String,
    },
    /// The command or its answer exceeds a bound, as text or in memory. If it is an answer of an external endpoint that
    /// exceeds the bound on one message, the connection is lost as well.
    #[error("the message is too large: {bytes} bytes as text, at most {bytes_max} are taken")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The bound.
        bytes_max: usize,
    },
    /// The memory budget for answers was exhausted by answers that were not taken yet. Other calls are not affected.
    #[error("there was no room for the answer's {bytes} bytes, as other answers were not taken")]
    NoRoom {
        /// Its size.
        bytes: usize,
    },
    /// The answer exceeds the nesting bound of values. Other calls are not affected.
    #[error("the answer is nested deeper than {depth_max} levels")]
    TooDeep {
        /// The bound.
        depth_max: usize,
    },
    /// The answer is malformed. Other calls are not affected.
    #[error("the answer cannot be read: {reason}")]
    Malformed {
        /// The fault of the answer.
        reason: String,
    },
}

impl CdpError {
    /// Converts the member `error` of an answer from the browser or from a relay.
    pub(crate) fn refusal(mut error: Json) -> Self {
        let message = error["message"].as_str().unwrap_or("no reason was given").to_owned();
        let data = error.get_mut("data").map(Json::take);
        let code = error["code"].as_i64().unwrap_or_default();
        if code == PASSED_OVER_CODE {
            let bytes = data.and_then(|bytes| usize::try_from(bytes.as_u64()?).ok()).unwrap_or_default();
            return Self::TooLarge { bytes, bytes_max: CDP_REPLY_BYTES_MAX };
        }
        Self::Protocol { code, message, data }
    }
}

impl From<CdpError> for ErrorReport {
    fn from(error: CdpError) -> Self {
        let code = match error {
            CdpError::Protocol { .. } => ErrorCode::CdpProtocolError,
            CdpError::Timeout { .. } => ErrorCode::CallTimeout,
            CdpError::Closed { .. } => ErrorCode::BrowserGone,
            CdpError::Detached { .. } => ErrorCode::CdpTargetClosed,
            CdpError::Crashed { .. } => ErrorCode::CdpTargetCrashed,
            CdpError::TooLarge { .. } | CdpError::TooDeep { .. } => ErrorCode::ResultTooLarge,
            CdpError::NoRoom { .. } => ErrorCode::CapacityExceeded,
            CdpError::Malformed { .. } => ErrorCode::CallFailed,
        };
        let report = Self::new(code, error.to_string());
        match error {
            CdpError::Protocol { code, data, .. } => {
                let report = report.with_detail("cdp_code", code);
                match data {
                    Some(data) => report.with_detail("cdp_data", data),
                    None => report,
                }
            }
            CdpError::NoRoom { .. } => {
                report.with_hint("Ask for large answers one after the other: await each before the next is sent.")
            }
            CdpError::TooLarge { .. } => report
                .with_hint("Ask for less: filter, count or slice in the page, or take a smaller part of the document."),
            CdpError::TooDeep { .. } => report.with_hint(
                "Ask for less depth: pass a smaller depth, or evaluate a function that picks what you need.",
            ),
            _ => report,
        }
    }
}
