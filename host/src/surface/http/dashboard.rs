//! The dashboard at `/`: a static page, script and style sheet. The script requests its data from `/admin/v1` with the
//! token that the operator enters. The files contain no secrets, so they are served without a token.

use super::guard::Guard;
use axum::{
    Router,
    http::{
        HeaderName, HeaderValue,
        header::{
            CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
            X_FRAME_OPTIONS,
        },
    },
    response::{IntoResponse as _, Response},
    routing::get,
};
use std::sync::Arc;

const PAGE: &str = include_str!("dashboard/index.html");
const SCRIPT: &str = include_str!("dashboard/app.js");
const STYLE: &str = include_str!("dashboard/style.css");
/// The attribute of the page that tells the script whether callers need a token.
const TOKENS: &str = "data-tokens=\"no\"";
/// Scripts, styles and requests only from this host; images only as `data:` URLs (pictures of pages). No framing by
/// other pages.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// The routes of the dashboard.
pub(super) fn router(guard: &Arc<Guard>) -> Router {
    let guard = Arc::clone(guard);
    let page = async move || {
        let needed = if guard.has_tokens() { PAGE.replacen(TOKENS, "data-tokens=\"yes\"", 1) } else { PAGE.to_owned() };
        sent("text/html; charset=utf-8", needed)
    };
    Router::new()
        .route("/", get(page))
        .route("/dashboard/app.js", get(async || sent("text/javascript; charset=utf-8", SCRIPT)))
        .route("/dashboard/style.css", get(async || sent("text/css; charset=utf-8", STYLE)))
}

fn sent(kind: &'static str, text: impl Into<axum::body::Body>) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        // Revalidated, so that a newer host does not run with an older dashboard.
        (CACHE_CONTROL, "no-cache"),
    ];
    let mut response = text.into().into_response();
    response.headers_mut().extend(headers.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_bundle_makes_markup_of_text_or_leads_elsewhere() {
        assert_eq!(PAGE.matches(TOKENS).count(), 1);
        for word in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "srcdoc", "http:", "https:"]
        {
            for (name, text) in [("index.html", PAGE), ("app.js", SCRIPT), ("style.css", STYLE)] {
                assert!(!text.contains(word), "{word} in {name}");
            }
        }
        // The content security policy blocks inline styles and event handlers.
        assert!(!PAGE.contains("<style") && !PAGE.contains("style=") && !PAGE.contains(" on"), "{PAGE}");
        assert_eq!(PAGE.matches("<script").count(), 1);
    }
}
