//! The answer to a request: the JSON of the contract, or a failure.

use crate::surface::http::guard::{json as answer, refusal};
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};

pub(crate) type Answered = Result<Success, Failure>;

/// The JSON answer to a request that succeeded.
#[derive(Debug)]
pub(crate) struct Success(Json);

impl From<Json> for Success {
    fn from(answer: Json) -> Self {
        Self(answer)
    }
}

impl IntoResponse for Success {
    fn into_response(self) -> Response {
        answer(StatusCode::OK, &self.0)
    }
}

/// A request that was refused or failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) error: ErrorReport,
    /// The contract's code, where it differs from codemode's.
    code: Option<&'static str>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, message: &str) -> Self {
        let code = match status {
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => ErrorCode::UnknownRoute,
            StatusCode::FORBIDDEN => ErrorCode::PolicyRefused,
            StatusCode::NOT_IMPLEMENTED => ErrorCode::UnsupportedOperation,
            _ => ErrorCode::InvalidArgument,
        };
        Self { status, error: ErrorReport::new(code, message), code: None }
    }

    /// A field of the request is missing or invalid.
    pub(crate) fn bad(message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn with_hint(self, hint: &str) -> Self {
        Self { error: self.error.with_hint(hint), ..self }
    }

    /// Sets a code of the contract.
    pub(crate) fn with_code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    /// The contract's code, or codemode's.
    pub(crate) fn code(&self) -> &str {
        self.code.unwrap_or(self.error.code.as_str())
    }

    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }
}

impl From<ErrorReport> for Failure {
    fn from(error: ErrorReport) -> Self {
        let status = StatusCode::from_u16(error.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, error, code: None }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let Self { status, error, code } = self;
        if error.code == ErrorCode::CapacityExceeded {
            // This adds `Retry-After`.
            return refusal(error);
        }
        answer(
            status,
            &json!({"error": error.message, "code": code.unwrap_or(error.code.as_str()), "hint": error.hint}),
        )
    }
}

/// The answer to a request that the host refuses before its handler runs.
pub(crate) fn failed(error: ErrorReport) -> Response {
    Failure::from(error).into_response()
}
