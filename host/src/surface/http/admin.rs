//! The administration API, below `/admin/v1`: sessions, leases, executions, the audit, files of answers, logins and
//! secrets. It calls the same methods of the service as the command line, and answers with the same envelopes.
//!
//! `routes` has a handler for each route, `params` the parameters of requests, `document` the OpenAPI schemas of
//! answers.

mod document;
mod params;
mod routes;

use super::guard::refusal;
use crate::service::{Caller, Service};
use axum::{
    Extension, Router,
    extract::Request,
    middleware::{self, Next},
    response::Response,
};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The routes, restricted to callers with the permission to administer. `closing` is cancelled when the host stops.
pub(super) fn router(service: Service, closing: CancellationToken) -> Router {
    routes::router(service, closing).layer(middleware::from_fn(administered))
}

/// Middleware: refuses callers without the permission to administer.
async fn administered(Extension(caller): Extension<Arc<Caller>>, request: Request, next: Next) -> Response {
    match caller.check_administers() {
        Ok(()) => next.run(request).await,
        Err(error) => refusal(error),
    }
}
