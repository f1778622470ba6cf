//! The parameters of administration requests, from path and query.

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

/// The query of the list of sessions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SessionsParams {
    /// Include the last hundred sessions that have ended.
    #[serde(default)]
    pub ended: bool,
}

/// The query of the list of executions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExecutionsParams {
    /// Only executions that this host is running.
    #[serde(default)]
    running: bool,
    /// Only executions with this session key.
    key: Option<String>,
    /// Only executions that started before this audit row: `before` of the previous answer.
    before: Option<u64>,
    /// At most this many, the latest ones.
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<usize>,
}

/// The query of the audit.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AuditParams {
    /// Only rows about this session key.
    key: Option<String>,
    /// Only rows about this session.
    session: Option<String>,
    /// Only rows about this execution.
    execution: Option<String>,
    /// Only rows at most this old, in milliseconds.
    since_ms: Option<u64>,
    /// Only rows before this one: `before` of the previous answer.
    before: Option<u64>,
    /// At most this many, the latest ones.
    #[param(minimum = 1, maximum = 1000, default = 1000)]
    limit: Option<usize>,
}

/// The query of the audit's verification.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct VerifyParams {
    /// Also check this row against an earlier verification: `LAST:HASH`, from `last` and `hash` of that answer.
    expect: Option<String>,
}

/// The query of a page's picture.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ViewParams {
    /// Wait for a picture newer than this one: `picture` of the previous answer.
    #[serde(default)]
    pub after: u64,
}

/// The query of a route without query parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoParams {}

// The attributes above take only literals.
const _: () = assert!(EXECUTIONS_ANSWERED_MAX == 500 && EXECUTIONS_LISTED == 100);
const _: () = assert!(AUDIT_ROWS_ANSWERED_MAX == 1_000 && AUDIT_ROWS_SHOWN == 1_000);

impl TryFrom<ExecutionsParams> for ExecutionsQuery {
    type Error = ErrorReport;

    fn try_from(params: ExecutionsParams) -> Result<Self, Self::Error> {
        let ExecutionsParams { running, key, before, limit } = params;
        Ok(Self { running, key, before, limit: bounded(limit, EXECUTIONS_ANSWERED_MAX)? })
    }
}

impl TryFrom<AuditParams> for AuditQuery {
    type Error = ErrorReport;

    fn try_from(params: AuditParams) -> Result<Self, Self::Error> {
        let AuditParams { key, session, execution, since_ms, before, limit } = params;
        Ok(Self { key, session, execution, since_ms, before, limit: bounded(limit, AUDIT_ROWS_ANSWERED_MAX)? })
    }
}

impl VerifyParams {
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

/// The query of a request. Unknown names are refused, so that a misspelt filter is not silently ignored.
pub(super) struct StrictQuery<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for StrictQuery<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(query)) => Ok(Self(query)),
            Err(error) => Err(refusal(invalid(&error.body_text()))),
        }
    }
}

/// The parameters in a request's path.
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
