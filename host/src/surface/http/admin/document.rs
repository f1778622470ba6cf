//! The `OpenAPI` schemas of answers: the envelope around each kind of data, and the errors that every route may return.

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
    /// The operation, named as the command of the command line.
    command: String,
    /// The execution, session, lease and page that the answer is about.
    context: Context,
    /// The result.
    data: T,
    /// Timing, warnings and cuts.
    meta: Meta,
}

/// An answer with an error instead of data.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes an envelope")]
pub(super) struct Refusal {
    /// `false`.
    ok: bool,
    /// The operation; `serve` if the request was refused before it reached one.
    command: String,
    /// The execution, session, lease and page that the answer is about.
    context: Context,
    /// The error.
    error: ErrorReport,
    /// Timing, warnings and cuts.
    meta: Meta,
}

/// The error answers that every route may return.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it describes answers")]
pub(super) enum Refusals {
    /// The request is invalid.
    #[response(status = 400)]
    Invalid(#[to_schema] Refusal),
    /// The request has no token, or an unknown one.
    #[response(status = 401)]
    Unauthenticated(#[to_schema] Refusal),
    /// The caller may not administer, or the request has an unknown Host or comes from a page of a foreign origin.
    #[response(status = 403)]
    Refused(#[to_schema] Refusal),
    /// The path, or the item that it names, does not exist.
    #[response(status = 404)]
    NotFound(#[to_schema] Refusal),
    /// The path does not support this method.
    #[response(status = 405)]
    MethodNotAllowed(#[to_schema] Refusal),
    /// The request's body did not arrive in time.
    #[response(status = 408)]
    Timeout(#[to_schema] Refusal),
    /// The item is in use.
    #[response(status = 409)]
    Busy(#[to_schema] Refusal),
    /// The request is too large.
    #[response(status = 413)]
    TooLarge(#[to_schema] Refusal),
    /// The host, its browser or its store failed.
    #[response(status = "5XX")]
    Failed(#[to_schema] Refusal),
}

/// The authentication scheme.
pub(super) struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(
            "A token from the token file, with `admin = true`. A host on loopback without tokens asks for none.",
        ));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme.build()));
    }
}
