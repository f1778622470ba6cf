//! The proxy's own responses to a browser whose request is not forwarded.

use super::rules::Rule;
use http_body_util::Full;
use hyper::{
    Response, StatusCode,
    body::Bytes,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue},
};

/// The response header that names the rule.
const RULE_HEADER: &str = "codemode-network-rule";

/// The response to a `CONNECT` to an unreachable destination. Browsers do not show its body.
pub(super) fn no_tunnel() -> Response<Full<Bytes>> {
    page(StatusCode::BAD_GATEWAY, "Not reached", "There is no connection.")
}

/// The response to a message that is not a proxy request.
pub(super) fn malformed() -> Response<Full<Bytes>> {
    page(StatusCode::BAD_REQUEST, "Not understood", "This proxy takes requests for http URLs, and CONNECT.")
}

/// The response to a request or `CONNECT` that a rule refuses.
pub(super) fn refused(host: &str, port: u16, rule: &Rule) -> Response<Full<Bytes>> {
    let (place, rule) = (place(host, port), rule.to_string());
    let words = format!(
        "{} is refused by a network rule of codemode: <code>{}</code>. An operator can change it: [network] in \
         config.toml.",
        escaped(&place),
        escaped(&rule)
    );
    let mut response = page(StatusCode::FORBIDDEN, "Refused", &words);
    if let Ok(value) = HeaderValue::from_str(&format!("{place}; {rule}")) {
        response.headers_mut().insert(RULE_HEADER, value);
    }
    response
}

fn page(status: StatusCode, title: &str, words: &str) -> Response<Full<Bytes>> {
    let text = format!("<!doctype html><meta charset=\"utf-8\"><title>{title}</title><h1>{title}</h1><p>{words}</p>\n");
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // The page has the origin of the refused host, so it must not load anything.
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
    response
}

fn place(host: &str, port: u16) -> String {
    format!("{host}:{port}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
