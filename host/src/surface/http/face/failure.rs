//! What is answered: the object of the contract, or what was wrong.

use crate::surface::http::guard::{json as answer, refusal};
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};

pub(crate) type Answered = Result<Told, Failure>;

/// What is answered to a request that succeeded.
#[derive(Debug)]
pub(crate) struct Told(Json);

impl From<Json> for Told {
    fn from(answer: Json) -> Self {
        Self(answer)
    }
}

impl IntoResponse for Told {
    fn into_response(self) -> Response {
        answer(StatusCode::OK, &self.0)
    }
}

/// A request that is not carried out, or failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) error: ErrorReport,
    /// The contract's own code, where that is not ours.
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

    /// What is missing in a request, or wrong.
    pub(crate) fn bad(message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn with_hint(self, hint: &str) -> Self {
        Self { error: self.error.with_hint(hint), ..self }
    }

    /// With a code of the contract's.
    pub(crate) fn with_code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    /// The contract's code, or ours.
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
            // With the time after which to ask again.
            return refusal(error);
        }
        answer(
            status,
            &json!({"error": error.message, "code": code.unwrap_or(error.code.as_str()), "hint": error.hint}),
        )
    }
}

/// The answer to a request that the host itself does not carry out.
pub(crate) fn failed(error: ErrorReport) -> Response {
    Failure::from(error).into_response()
}
