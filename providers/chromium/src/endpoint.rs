//! The address of a browser's debugging port.

use crate::{http, reach::shown};
use codemode_spec::{ErrorCode, ErrorReport};
use serde::Deserialize;
use std::{fmt, time::Duration};
use url::Url;

/// The WebSocket address of a browser, and the headers that it requires.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The WebSocket of the browser itself, not of a page.
    pub ws_url: String,
    /// Headers sent with every request to the endpoint.
    pub headers: Vec<(String, String)>,
}

/// The fields of `/json/version` that are used here.
#[derive(Deserialize)]
pub(crate) struct Version {
    #[serde(rename = "Browser", default)]
    pub browser: String,
    #[serde(rename = "webSocketDebuggerUrl")]
    ws_url: Option<String>,
}

impl Endpoint {
    /// Resolves a URL from a user to the browser's WebSocket: `ws:` and `wss:` URLs are used as they are, without a
    /// request; for `http:` and `https:` URLs, `/json/version` is requested.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an unusable URL or header, `CDP_CONNECTION_FAILED` if no browser answers there.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn resolve(url: &str, headers: Vec<(String, String)>, timeout: Duration) -> Result<Self, ErrorReport> {
        let url = parse(url)?;
        http::header_map(&headers)?;
        if matches!(url.scheme(), "ws" | "wss") {
            return Ok(Self { ws_url: url.into(), headers });
        }
        let mut version_url = url.clone();
        if !url.path().ends_with("/json/version") {
            version_url.set_path(&format!("{}/json/version", url.path().trim_end_matches('/')));
        }
        let version = Version::get(&version_url, &headers, timeout).await?;
        let ws_url = version.ws_url.ok_or_else(|| {
            ErrorReport::new(ErrorCode::CdpConnectionFailed, format!("{} names no WebSocket", shown(&url)))
                .with_hint("Give the WebSocket address of the browser (ws:// or wss://) instead.")
        })?;
        let ws_url = reachable(parse(&ws_url)?, &url);
        Ok(Self { ws_url: ws_url.into(), headers })
    }

    pub(crate) fn url(&self) -> Result<Url, ErrorReport> {
        parse(&self.ws_url)
    }

    /// The address of an HTTP document on the WebSocket's host.
    pub(crate) fn http_url(&self, path: &str) -> Result<Url, ErrorReport> {
        let mut url = self.url()?;
        let scheme = if url.scheme() == "wss" { "https" } else { "http" };
        // Cannot fail: all four are special schemes.
        let _ = url.set_scheme(scheme);
        url.set_path(path);
        Ok(url)
    }
}

impl Version {
    pub(crate) async fn get(url: &Url, headers: &[(String, String)], timeout: Duration) -> Result<Self, ErrorReport> {
        let body = http::get(url, headers, timeout).await?;
        serde_json::from_slice(&body).map_err(|error| {
            ErrorReport::new(ErrorCode::CdpConnectionFailed, format!("{} is no browser: {error}", shown(url)))
                .with_hint("Check the address: there must be a browser started with --remote-debugging-port.")
        })
    }
}

/// Omits possible secrets: header values, and the URL's user, password and query.
impl fmt::Debug for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        out.debug_struct("Endpoint").field("ws_url", &format_args!("{self}")).field("headers", &names).finish()
    }
}

/// The URL without its parts that may be secret.
impl fmt::Display for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Url::parse(&self.ws_url) {
            Ok(url) => out.write_str(&shown(&url)),
            Err(_) => out.write_str("(not a URL)"),
        }
    }
}

fn parse(text: &str) -> Result<Url, ErrorReport> {
    let wrong = |message: String| {
        ErrorReport::new(ErrorCode::InvalidArgument, message)
            .with_hint("Write the endpoint as ws://host:port/devtools/browser/… or as http://host:port.")
    };
    // The message does not repeat the text, which may contain a token.
    let url = Url::parse(text).map_err(|error| wrong(format!("the endpoint is not a URL: {error}")))?;
    if !matches!(url.scheme(), "ws" | "wss" | "http" | "https") {
        return Err(wrong(format!("the endpoint's scheme {:?} is not supported", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("the endpoint's URL holds a user or a password, which would not be sent".to_owned())
            .with_hint("Pass the credentials as a header: `Authorization: Basic …`."));
    }
    Ok(url)
}

/// The WebSocket URL with the host and port of the queried URL. Behind a proxy or a tunnel, a browser names the host
/// and port that it sees itself; and a malicious server could name a third host in order to have the headers sent
/// there.
fn reachable(mut ws_url: Url, asked: &Url) -> Url {
    // None of these can fail: all four are special schemes, and `asked` has a host.
    let _ = ws_url.set_scheme(if asked.scheme() == "https" { "wss" } else { "ws" });
    let _ = ws_url.set_host(asked.host_str());
    let _ = ws_url.set_port(asked.port());
    ws_url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(ws_url: &str) -> Endpoint {
        Endpoint { ws_url: ws_url.to_owned(), headers: vec![("X-Key".to_owned(), "hush".to_owned())] }
    }

    #[test]
    fn secrets_are_not_printed() {
        let shown = format!("{0:?} {0}", endpoint("wss://user:hush@host/path?token=hush#hush"));
        assert!(!shown.contains("hush"), "{shown}");
        assert!(shown.contains("wss://host/path") && shown.contains("X-Key"), "{shown}");
    }

    #[tokio::test]
    async fn a_websocket_is_taken_as_it_is_and_what_cannot_be_used_is_refused_without_repeating_it() {
        let second = Duration::from_secs(1);
        let url = "ws://127.0.0.1:1/devtools/browser/x?token=1";
        assert_eq!(Endpoint::resolve(url, Vec::new(), second).await.unwrap().ws_url, url);
        for url in ["hush", "ftp://host/hush", "ws://user:hush@host/"] {
            let report = Endpoint::resolve(url, Vec::new(), second).await.unwrap_err();
            assert_eq!(report.code, ErrorCode::InvalidArgument, "{url}");
            assert!(!format!("{report:?}").contains("hush"), "{report:?}");
        }
        for header in [("a b", "hush"), ("A", "hush\nhush")] {
            let headers = vec![(header.0.to_owned(), header.1.to_owned())];
            let report = Endpoint::resolve("ws://127.0.0.1:1/", headers, second).await.unwrap_err();
            assert_eq!(report.code, ErrorCode::InvalidArgument);
            assert!(!format!("{report:?}").contains("hush"), "{report:?}");
        }
    }

    #[test]
    fn addresses_beside_the_websocket_keep_host_and_query() {
        let beside = |url| endpoint(url).http_url("/json/protocol").unwrap().to_string();
        assert_eq!(beside("ws://127.0.0.1:9/devtools/browser/x"), "http://127.0.0.1:9/json/protocol");
        assert_eq!(beside("wss://host/x?token=1"), "https://host/json/protocol?token=1");
    }

    #[test]
    fn a_browser_is_reached_where_it_was_asked_whatever_it_says_of_its_address() {
        let url = |text: &str| Url::parse(text).unwrap();
        let reached = |ws_url, asked| reachable(url(ws_url), &url(asked)).to_string();
        for (said, asked, expected) in [
            ("ws://0.0.0.0:9222/x", "http://10.1.2.3:9222", "ws://10.1.2.3:9222/x"),
            ("ws://127.0.0.1:9222/x?a=1", "http://10.1.2.3:8080/json/version", "ws://10.1.2.3:8080/x?a=1"),
            ("ws://127.0.0.1:9222/x", "https://host", "wss://host/x"),
            ("ws://127.0.0.1:9222/x", "https://host:8443/json/version", "wss://host:8443/x"),
            ("wss://inside:9222/x", "http://[::1]:7000", "ws://[::1]:7000/x"),
            ("ws://host/x", "http://127.0.0.1:80/", "ws://127.0.0.1/x"),
            ("ws://other/x", "https://host", "wss://host/x"),
        ] {
            assert_eq!(reached(said, asked), expected, "{said} {asked}");
        }
    }
}
