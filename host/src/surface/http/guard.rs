//! The checks that every request passes before its handler runs: its Host, its Origin, its token and the size and time
//! of its body.

use super::{sessions::CALLER, tokens::Tokens};
use crate::service::{self, BROWSER_VIA, Caller};
use axum::{
    body::{Body, HttpBody as _, to_bytes},
    extract::{Request, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode, Uri,
        header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN, RETRY_AFTER, VIA, WWW_AUTHENTICATE},
        uri::Authority,
    },
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use codemode_spec::{
    Envelope, ErrorCode, ErrorReport,
    limits::{HTTP_BODIES_BYTES_MAX, HTTP_BODY_BYTES_MAX, HTTP_BODY_MS_MAX},
};
use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};
use tokio::{sync::Semaphore, time::timeout};

/// The `Retry-After` of a request that was refused for lack of capacity, in seconds.
const RETRY_AFTER_S: u64 = 1;
/// The relation between the page that sent a request and this host, as reported by the browser (Fetch Metadata).
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The host names of loopback.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The state against which requests are checked.
pub(super) struct Guard {
    tokens: RwLock<Tokens>,
    /// Host names, without ports.
    hosts: Vec<String>,
    origins: Vec<String>,
    /// Bounds the memory of bodies being read; one permit per byte.
    bodies: Semaphore,
    /// How long reading a body may take.
    patience: Duration,
}

impl Guard {
    pub(super) fn new(tokens: Tokens, hosts: &[String], origins: &[String], patience: Duration) -> Self {
        let lower = |text: &String| text.trim_end_matches('/').to_ascii_lowercase();
        let hosts = LOOPBACK.map(str::to_owned).into_iter().chain(hosts.iter().map(lower)).collect();
        let origins = origins.iter().map(lower).collect();
        let tokens = RwLock::new(tokens);
        let patience = patience.min(Duration::from_millis(HTTP_BODY_MS_MAX));
        Self { tokens, hosts, origins, bodies: Semaphore::new(HTTP_BODIES_BYTES_MAX), patience }
    }

    /// Whether callers need a token.
    pub(super) fn has_tokens(&self) -> bool {
        !self.tokens.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Replaces the tokens, effective from the next request.
    pub(super) fn set_tokens(&self, tokens: Tokens) {
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens;
    }

    /// The accepted host names.
    pub(super) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Refuses a request with an unknown Host. This stops DNS rebinding: a page whose name resolves to this machine
    /// sends its own name as Host.
    fn check_host(&self, host: &str) -> Result<(), ErrorReport> {
        let name = host.parse::<Authority>().map(|authority| authority.host().to_ascii_lowercase());
        if name.is_ok_and(|name| self.hosts.contains(&name)) {
            return Ok(());
        }
        Err(ErrorReport::new(ErrorCode::PolicyRefused, "the request's Host is none of this host's names")
            .with_hint("Use the address that `codemode serve` printed, or start it with --allowed-host NAME."))
    }

    /// Refuses a request from a page of an origin that is not allowed.
    fn check_origin(&self, origin: Option<&HeaderValue>, host: &str) -> Result<(), ErrorReport> {
        let Some(origin) = origin else { return Ok(()) };
        let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if own.is_some_and(|own| own == host.to_ascii_lowercase()) || self.origins.contains(&origin) {
            return Ok(());
        }
        Err(ErrorReport::new(ErrorCode::PolicyRefused, "pages of the request's Origin may not use this host")
            .with_hint("Start it with --allowed-origin ORIGIN if they should."))
    }

    /// Refuses a request with an unknown Host, from a page of a foreign origin, or from a browser of codemode.
    fn check_source(&self, request: &Request) -> Result<(), ErrorReport> {
        let host = named_host(request.uri(), request.headers());
        self.check_host(&host)?;
        self.check_origin(request.headers().get(ORIGIN), &host)?;
        check_browser(request.headers())
    }

    /// Authenticates the caller by the request's token.
    fn caller(&self, headers: &HeaderMap) -> Result<Arc<Caller>, ErrorReport> {
        // No code panics while holding the lock.
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        if tokens.is_empty() {
            return Ok(Arc::default());
        }
        let mut authorizations = headers.get_all(AUTHORIZATION).iter();
        let token = match (authorizations.next().map(HeaderValue::as_bytes), authorizations.next()) {
            (Some(value), None) => value
                .split_at_checked(7)
                .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "))
                .map(|(_, token)| token.trim_ascii()),
            _ => None,
        };
        let token = token.ok_or_else(|| ErrorReport::new(ErrorCode::Unauthenticated, "the request has no token"))?;
        tokens
            .caller(token)
            .ok_or_else(|| ErrorReport::new(ErrorCode::Unauthenticated, "the request's token is not known"))
    }

    /// Reads the whole body into memory, within the bounds on size, time and total memory.
    async fn whole(&self, request: Request) -> Result<Request, ErrorReport> {
        let too_large = || {
            let message = format!("the request has more than {HTTP_BODY_BYTES_MAX} bytes");
            ErrorReport::new(ErrorCode::RequestTooLarge, message)
        };
        let (parts, body) = request.into_parts();
        let hint = body.size_hint();
        if hint.upper() == Some(0) {
            return Ok(Request::from_parts(parts, body));
        }
        if hint.lower() > HTTP_BODY_BYTES_MAX as u64 {
            return Err(too_large());
        }
        let most = hint.upper().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(HTTP_BODY_BYTES_MAX);
        let patience = self.patience;
        let room = u32::try_from(most.min(HTTP_BODY_BYTES_MAX)).unwrap_or(u32::MAX);
        let Ok(Ok(_room)) = timeout(patience, self.bodies.acquire_many(room)).await else {
            return Err(ErrorReport::new(ErrorCode::CapacityExceeded, "too many requests are being read")
                .with_hint("Send the request again."));
        };
        match timeout(patience, to_bytes(body, HTTP_BODY_BYTES_MAX)).await {
            Ok(Ok(bytes)) => Ok(Request::from_parts(parts, Body::from(bytes))),
            Ok(Err(error)) if is_limit(&error) => Err(too_large()),
            Ok(Err(_)) => Err(ErrorReport::new(ErrorCode::InvalidArgument, "the request's body ended early")),
            Err(_) => {
                let message = format!("the request's body did not come within {} s", patience.as_secs());
                Err(ErrorReport::new(ErrorCode::RequestTimeout, message))
            }
        }
    }
}

/// Whether reading a body failed because of the size limit.
fn is_limit(error: &axum::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<http_body_util::LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Middleware for public routes: checks Host and Origin, but no token.
pub(super) async fn public(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    match guard.check_source(&request) {
        Ok(()) => next.run(request).await,
        Err(error) => refusal(error),
    }
}

/// Middleware for all other routes: checks Host, Origin and token, reads the body and sets the caller.
pub(super) async fn guarded(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    let admitted = async {
        guard.check_source(&request)?;
        let caller = guard.caller(request.headers())?;
        request.extensions_mut().insert(Arc::clone(&caller));
        // Only this check needs the token; handlers must not see it.
        request.headers_mut().remove(AUTHORIZATION);
        Ok((caller, guard.whole(request).await?))
    };
    match admitted.await {
        Ok((caller, request)) => CALLER.scope(caller, next.run(request)).await,
        Err(error) => refusal(error),
    }
}

/// Refuses requests that a foreign page makes without an Origin, as for an image (recognised by Fetch Metadata), and
/// all requests from browsers of codemode: a script must reach its host only through its namespaces.
fn check_browser(headers: &HeaderMap) -> Result<(), ErrorReport> {
    let is = |name: HeaderName, of: &[&str]| {
        headers.get_all(name).iter().any(|value| of.iter().any(|of| value.as_bytes().ends_with(of.as_bytes())))
    };
    if headers.get_all(VIA).iter().any(|via| via.to_str().is_ok_and(|via| via.contains(BROWSER_VIA))) {
        return Err(ErrorReport::new(ErrorCode::PolicyRefused, "browsers of codemode may not use a host of codemode")
            .with_hint("A script reaches its host by its namespaces alone."));
    }
    if !headers.contains_key(ORIGIN) && is(SEC_FETCH_SITE, &["cross-site", "same-site"]) {
        return Err(ErrorReport::new(ErrorCode::PolicyRefused, "other pages may not use this host")
            .with_hint("Start it with --allowed-origin ORIGIN, and have the page send requests with CORS."));
    }
    Ok(())
}

/// The host and port that a request names; empty if there is none or more than one.
fn named_host(uri: &Uri, headers: &HeaderMap) -> String {
    let mut named = headers.get_all(HOST).iter();
    match (uri.authority(), named.next(), named.next()) {
        (Some(authority), _, None) => authority.to_string(),
        (None, Some(host), None) => host.to_str().unwrap_or_default().to_owned(),
        // None, or two: another program in the chain might use the other one.
        _ => String::new(),
    }
}

/// The error answer to a refused request.
pub(super) fn refusal(error: ErrorReport) -> Response {
    enveloped(&refused(error))
}

/// The answer to a request with a method that the path does not support.
pub(super) fn not_for_this_method() -> Response {
    let error = ErrorReport::new(ErrorCode::UnknownRoute, "this path is not for this method");
    with_status(StatusCode::METHOD_NOT_ALLOWED, &refused(error))
}

fn refused(error: ErrorReport) -> Envelope {
    service::answer::<()>("serve", Err(error), Duration::ZERO)
}

/// The response for an envelope, with the HTTP status of its error code.
pub(super) fn enveloped(envelope: &Envelope) -> Response {
    let status = envelope.error.as_ref().map_or(200, |error| error.code.http_status());
    with_status(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), envelope)
}

fn with_status(status: StatusCode, envelope: &Envelope) -> Response {
    let header: Option<(HeaderName, HeaderValue)> = match status {
        StatusCode::UNAUTHORIZED => Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
        StatusCode::SERVICE_UNAVAILABLE => Some((RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S))),
        _ => None,
    };
    let mut response = json(status, envelope);
    response.headers_mut().extend(header);
    response
}

/// A JSON response.
pub(super) fn json(status: StatusCode, value: &impl serde::Serialize) -> Response {
    let text = serde_json::to_string(value).expect("plain data can be written as JSON");
    (status, [(CONTENT_TYPE, "application/json")], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_origins_are_judged_by_name() {
        let guard = Guard::new(
            Tokens::default(),
            &["Tools.example".to_owned()],
            &["https://app.example/".to_owned()],
            Duration::MAX,
        );
        for (host, is_known) in [
            ("127.0.0.1:8222", true),
            ("LOCALHOST", true),
            ("[::1]:1", true),
            ("tools.example:443", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1@evil.example", false),
            ("evil.example/127.0.0.1", false),
            ("", false),
        ] {
            assert_eq!(guard.check_host(host).is_ok(), is_known, "{host}");
        }
        for (origin, is_known) in [
            ("http://127.0.0.1:8222", true),
            ("https://app.example", true),
            ("http://app.example", false),
            ("http://127.0.0.1:8223", false),
            ("null", false),
            ("", false),
        ] {
            let origin = HeaderValue::from_static(origin);
            assert_eq!(guard.check_origin(Some(&origin), "127.0.0.1:8222").is_ok(), is_known, "{origin:?}");
        }
        guard.check_origin(None, "127.0.0.1:8222").unwrap();
    }

    #[test]
    fn two_hosts_are_none() {
        let mut headers = HeaderMap::new();
        headers.append(HOST, HeaderValue::from_static("localhost"));
        assert_eq!(named_host(&Uri::from_static("/mcp"), &headers), "localhost");
        headers.append(HOST, HeaderValue::from_static("evil.example"));
        assert_eq!(named_host(&Uri::from_static("/mcp"), &headers), "");
    }
}
