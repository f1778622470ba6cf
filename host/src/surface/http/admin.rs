//! Administration as JSON, below `/admin/v1`: what the command line does with sessions, leases, executions, the audit, files
//! of answers, logins and secrets, by the same methods of the service, in the same envelopes.
//!
//! `routes` has a handler for each route, `asked` what a request says, `document` what OpenAPI tells of it.

mod asked;
mod document;
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

/// The routes, for callers who may administer.
pub(super) fn router(service: Service) -> Router {
    routes::router(service).layer(middleware::from_fn(administered))
}

/// Lets those through who may administer.
async fn administered(Extension(caller): Extension<Arc<Caller>>, request: Request, next: Next) -> Response {
    match caller.check_administers() {
        Ok(()) => next.run(request).await,
        Err(error) => refusal(error),
    }
}
