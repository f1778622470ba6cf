//! What a request for administration says, in its path and its query.

use super::super::guard::refusal;
use crate::service::{AuditQuery, ExecutionsQuery, KnownRow};
use axum::{
    extract::{FromRequestParts, Path, Query},
    http::request::Parts,
    response::Response,
};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{AUDIT_ROWS_ANSWERED_MAX, AUDIT_ROWS_SHOWN, EXECUTIONS_ANSWERED_MAX, EXECUTIONS_LISTED},
};
use serde::{Deserialize, de::DeserializeOwned};
use std::fmt::Display;
use utoipa::IntoParams;

/// Which sessions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SessionsAsked {
    /// Those that ended as well, the last hundred.
    #[serde(default)]
    pub ended: bool,
}

/// Which executions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExecutionsAsked {
    /// Only those that this host runs now.
    #[serde(default)]
    running: bool,
    /// Of this session key.
    key: Option<String>,
    /// That began before this row of the audit: `before` of the answer that went before.
    before: Option<u64>,
    /// The last that began, at most so many.
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<usize>,
}

/// Which rows of the audit.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AuditAsked {
    /// Of this session key.
    key: Option<String>,
    /// Of this session.
    session: Option<String>,
    /// Of this execution.
    execution: Option<String>,
    /// At most so old, in milliseconds.
    since_ms: Option<u64>,
    /// Before this row: `before` of the answer that went before.
    before: Option<u64>,
    /// The last of them, at most so many.
    #[param(minimum = 1, maximum = 1000, default = 1000)]
    limit: Option<usize>,
}

/// What the audit is checked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct VerifyAsked {
    /// Also that this row is still what it was, as an earlier answer told it in `last` and `hash`: `LAST:HASH`.
    expect: Option<String>,
}

/// Which picture of a page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ViewAsked {
    /// Another one than this: `picture` of the answer that went before.
    #[serde(default)]
    pub after: u64,
}

/// Nothing can be chosen.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NothingAsked {}

// The attributes above take numbers as they are written.
const _: () = assert!(EXECUTIONS_ANSWERED_MAX == 500 && EXECUTIONS_LISTED == 100);
const _: () = assert!(AUDIT_ROWS_ANSWERED_MAX == 1_000 && AUDIT_ROWS_SHOWN == 1_000);

impl TryFrom<ExecutionsAsked> for ExecutionsQuery {
    type Error = ErrorReport;

    fn try_from(asked: ExecutionsAsked) -> Result<Self, Self::Error> {
        let ExecutionsAsked { running, key, before, limit } = asked;
        Ok(Self { running, key, before, limit: bounded(limit, EXECUTIONS_ANSWERED_MAX)? })
    }
}

impl TryFrom<AuditAsked> for AuditQuery {
    type Error = ErrorReport;

    fn try_from(asked: AuditAsked) -> Result<Self, Self::Error> {
        let AuditAsked { key, session, execution, since_ms, before, limit } = asked;
        Ok(Self { key, session, execution, since_ms, before, limit: bounded(limit, AUDIT_ROWS_ANSWERED_MAX)? })
    }
}

impl VerifyAsked {
    pub(super) fn known(self) -> Result<Option<KnownRow>, ErrorReport> {
        self.expect.map(|row| row.parse().map_err(|fault| invalid(&format!("expect: {fault}")))).transpose()
    }
}

fn bounded(limit: Option<usize>, most: usize) -> Result<Option<usize>, ErrorReport> {
    match limit {
        Some(limit) if limit == 0 || limit > most => {
            Err(invalid(&format!("limit: {limit} is not between 1 and {most}; ask for the rest with `before`")))
        }
        limit => Ok(limit),
    }
}

fn invalid(fault: &dyn Display) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, fault.to_string())
        .with_hint("GET /admin/v1/openapi.json lists what each route takes.")
}

/// The query of a request; a name that is not known is refused, so that no filter is lost by a slip.
pub(super) struct Chosen<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Chosen<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(chosen)) => Ok(Self(chosen)),
            Err(error) => Err(refusal(invalid(&error.body_text()))),
        }
    }
}

/// The names in a request's path.
pub(super) struct Named<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Named<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(names)) => Ok(Self(names)),
            Err(error) => Err(refusal(invalid(&error.body_text()))),
        }
    }
}
