//! What is answered: the object of the contract, or what was wrong.

use crate::surface::http::guard::{json as answer, refusal};
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};

pub(super) type Answered = Result<Told, Failure>;

/// What is answered to a request that succeeded.
#[derive(Debug)]
pub(super) struct Told(Json);

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
pub(super) struct Failure {
    pub(super) status: StatusCode,
    pub(super) error: ErrorReport,
}

impl Failure {
    pub(super) fn new(status: StatusCode, message: &str) -> Self {
        let code = match status {
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => ErrorCode::UnknownRoute,
            StatusCode::FORBIDDEN => ErrorCode::PolicyRefused,
            _ => ErrorCode::InvalidArgument,
        };
        Self { status, error: ErrorReport::new(code, message) }
    }

    /// What is missing in a request, or wrong.
    pub(super) fn bad(message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn with_hint(self, hint: &str) -> Self {
        Self { error: self.error.with_hint(hint), ..self }
    }
}

impl From<ErrorReport> for Failure {
    fn from(error: ErrorReport) -> Self {
        let status = StatusCode::from_u16(error.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, error }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let Self { status, error } = self;
        if error.code == ErrorCode::CapacityExceeded {
            // With the time after which to ask again.
            return refusal(error);
        }
        answer(status, &json!({"error": error.message, "code": error.code, "hint": error.hint}))
    }
}

/// The answer to a request that the host itself does not carry out.
pub(crate) fn failed(error: ErrorReport) -> Response {
    Failure::from(error).into_response()
}
