//! Which URLs are for scripts: those that a script may open, and those that a target may show.

use url::Url;

/// What Chromium shows in a frame whose page could not be loaded. Its origin is opaque and it has no rights; its address
/// is what the target tells, for a frame it is this.
const ERROR_PAGE: &str = "chrome-error://chromewebdata/";
/// Of a scheme in a message or in the audit.
const SCHEME_CHARS_MAX: usize = 40;

/// What the URL of a target or a frame says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Nothing yet: what is loaded is not known before it is there.
    NotYet,
    /// A page that is for scripts.
    ForScripts,
    /// One that is not: its scheme.
    Refused(String),
}

/// What a URL that the browser tells of a target or a frame says.
pub(crate) fn shown(url: &str) -> Shown {
    // Long data: URLs come with every change of a target's title: not read as a whole.
    let is_plain = ["http://", "https://", "data:"].iter().any(|start| url.starts_with(start));
    if url.is_empty() {
        Shown::NotYet
    } else if is_plain || url == ERROR_PAGE || Url::parse(url).is_ok_and(|url| is_web(&url)) {
        Shown::ForScripts
    } else {
        Shown::Refused(told(url))
    }
}

/// Whether a URL may be opened. It is read as browsers read it: without regard to case, leading blanks and control
/// characters, or tabs and line ends within. What is no URL by itself leads nowhere: Chromium does not complete it. But it
/// may make one of what we cannot read, as of a host with a blank.
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

/// The scheme that a text begins with, as browsers read it.
fn scheme(text: &str) -> Option<String> {
    let text = text.trim_start_matches(|c| c <= ' ').replace(['\t', '\n', '\r'], "");
    let (scheme, _) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme.then(|| scheme.to_ascii_lowercase())
}

/// The scheme as it is told: nothing else of the URL.
fn told(url: &str) -> String {
    scheme(url).filter(|scheme| scheme.len() <= SCHEME_CHARS_MAX).unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_target_shows() {
        assert_eq!(shown(""), Shown::NotYet);
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
            assert_eq!(shown(url), Shown::ForScripts, "{url}");
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
            assert_eq!(shown(url), Shown::Refused(scheme.to_owned()), "{url}");
        }
    }
}
