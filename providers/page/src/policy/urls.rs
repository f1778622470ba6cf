//! Classifies URLs: those that a script may open, and those that a target may show to a script.

use url::Url;

/// The URL of a frame whose page could not be loaded. Its origin is opaque and has no rights. The target of a page
/// keeps the requested URL; that of a frame reports this one.
const ERROR_PAGE: &str = "chrome-error://chromewebdata/";
/// The URL of a new tab.
const BLANK: &str = "about:blank";
/// The maximum length of a scheme in a message or in the audit.
const SCHEME_CHARS_MAX: usize = 40;

/// Whether scripts may use a target or a frame with a given URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UrlAccess {
    /// There is no URL yet: it is known only once the page has loaded.
    NotYet,
    /// Scripts may use the page.
    ForScripts,
    /// Scripts may not use the page, because of this scheme.
    Refused(String),
}

/// Classifies the URL that the browser reports for a target or a frame.
pub(crate) fn url_access(url: &str) -> UrlAccess {
    // This is asked several times for each command, and long data: URLs are reported with every change of a target's
    // title: those that need no parser are not parsed.
    let is_plain = ["http://", "https://", "data:"].iter().any(|start| url.starts_with(start)) || url == BLANK;
    if url.is_empty() {
        UrlAccess::NotYet
    } else if is_plain || url == ERROR_PAGE || Url::parse(url).is_ok_and(|url| is_web(&url)) {
        UrlAccess::ForScripts
    } else {
        UrlAccess::Refused(reportable_scheme(url))
    }
}

/// Whether a script may open a URL. It is parsed as browsers parse it: ignoring case, leading blanks and control
/// characters, and tabs and line ends within. A relative URL cannot be opened, since Chromium does not complete it. But
/// Chromium may accept URLs that our parser rejects, such as one whose host contains a blank: these are checked by
/// their scheme.
pub(crate) fn may_be_opened(url: &str) -> bool {
    match Url::parse(url) {
        Ok(url) => is_web(&url),
        Err(_) => scheme(url).is_none_or(|scheme| {
            matches!(scheme.as_str(), "http" | "https" | "ws" | "wss" | "about" | "data" | "blob")
        }),
    }
}

fn is_web(url: &Url) -> bool {
    match url.scheme() {
        "http" | "https" | "data" => true,
        "about" => matches!(url.path(), "blank" | "srcdoc"),
        "blob" | "view-source" => {
            Url::parse(url.path()).is_ok_and(|inner| matches!(inner.scheme(), "http" | "https"))
                || url.path().starts_with("null/")
        }
        _ => false,
    }
}

/// The scheme at the start of a text, parsed as browsers do.
fn scheme(text: &str) -> Option<String> {
    let text = text.trim_start_matches(|c| c <= ' ').replace(['\t', '\n', '\r'], "");
    let (scheme, _) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme.then(|| scheme.to_ascii_lowercase())
}

/// The scheme for a message or the audit; nothing else of the URL is reported.
fn reportable_scheme(url: &str) -> String {
    scheme(url).filter(|scheme| scheme.len() <= SCHEME_CHARS_MAX).unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_target_shows() {
        assert_eq!(url_access(""), UrlAccess::NotYet);
        for url in [
            "http://a.test/",
            "https://a.test/x#y",
            "data:text/html,x",
            "about:blank",
            "about:blank#blocked",
            "about:srcdoc",
            "blob:https://a.test/uuid",
            "blob:null/uuid",
            "view-source:https://a.test/",
            "chrome-error://chromewebdata/",
        ] {
            assert_eq!(url_access(url), UrlAccess::ForScripts, "{url}");
        }
        for (url, scheme) in [
            ("chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html", "chrome-extension"),
            ("chrome://settings/", "chrome"),
            ("chrome-untrusted://x/", "chrome-untrusted"),
            ("chrome-error://other/", "chrome-error"),
            ("devtools://devtools/bundled/inspector.html", "devtools"),
            ("file:///etc/passwd", "file"),
            ("view-source:file:///etc/passwd", "view-source"),
            ("blob:chrome-extension://x/uuid", "blob"),
            ("filesystem:http://a.test/temporary/x", "filesystem"),
            ("isolated-app://x/", "isolated-app"),
            ("about:version", "about"),
            ("brave://settings", "brave"),
            ("what is this", "unknown"),
        ] {
            assert_eq!(url_access(url), UrlAccess::Refused(scheme.to_owned()), "{url}");
        }
    }
}
