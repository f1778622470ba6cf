//! What `OpenAPI` tells of answers: the envelope with each kind of data, and the refusals that every route may give.

use codemode_spec::{
    ErrorReport,
    envelope::{Context, Meta},
};
use utoipa::{
    IntoResponses, Modify, ToSchema,
    openapi::{
        OpenApi,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

/// An answer with data.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes an envelope")]
pub(super) struct Answer<T> {
    /// `true`.
    ok: bool,
    /// What was asked for, as the command line calls it.
    command: String,
    /// What it was about.
    context: Context,
    /// The outcome.
    data: T,
    /// What else there is to say of it.
    meta: Meta,
}

/// An answer that says why there is no data.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes an envelope")]
pub(super) struct Refusal {
    /// `false`.
    ok: bool,
    /// What was asked for; `serve` where nothing was carried out.
    command: String,
    /// What it was about.
    context: Context,
    /// Why there is none.
    error: ErrorReport,
    /// What else there is to say of it.
    meta: Meta,
}

/// What every route may answer besides its data.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it describes answers")]
pub(super) enum Refusals {
    /// The request has a fault.
    #[response(status = 400)]
    Invalid(#[to_schema] Refusal),
    /// The request has no token of this host.
    #[response(status = 401)]
    Unauthenticated(#[to_schema] Refusal),
    /// The caller may not administer, or the request names a foreign host or comes from a foreign page.
    #[response(status = 403)]
    Refused(#[to_schema] Refusal),
    /// There is nothing at the path, or nothing of the name in it.
    #[response(status = 404)]
    NotFound(#[to_schema] Refusal),
    /// The path is not for this method.
    #[response(status = 405)]
    MethodNotAllowed(#[to_schema] Refusal),
    /// The request did not come in time.
    #[response(status = 408)]
    Timeout(#[to_schema] Refusal),
    /// What is meant is in use.
    #[response(status = 409)]
    Busy(#[to_schema] Refusal),
    /// The request is too long.
    #[response(status = 413)]
    TooLarge(#[to_schema] Refusal),
    /// The host, its browser or its store failed.
    #[response(status = "5XX")]
    Failed(#[to_schema] Refusal),
}

/// How callers say who they are.
pub(super) struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(
            "A token of the file of tokens, with `admin = true`. A host on loopback without tokens asks for none.",
        ));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme.build()));
    }
}
