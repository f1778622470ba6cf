//! Serves the third-party web applications in `tests/foreign`, built and unmodified.
//!
//! Each is served at the root of its own origin, as by its authors: `tests/foreign/NAME` is `http://NAME.localhost`
//! with the port of this site. Pages can load nothing from other origins (`POLICY`).

use super::root;
use axum::{
    Router,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use std::{
    ffi::OsStr,
    fs,
    path::{Component, Path, PathBuf},
};

/// Older frameworks compile their templates in the page.
const POLICY: &str = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:";
/// The content types of the programs' files, by extension.
const TYPES: &[(&str, &str)] = &[
    ("css", "text/css"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/x-icon"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("png", "image/png"),
];

/// Serves all programs; the host name of the request selects one.
pub fn router() -> Router {
    Router::new().fallback(file)
}

async fn file(headers: HeaderMap, uri: Uri) -> Response {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let wanted = located(host, uri.path());
    let answer = wanted.and_then(|path| {
        let extension = path.extension().and_then(OsStr::to_str)?;
        let (_, kind) = TYPES.iter().find(|(name, _)| *name == extension)?;
        // Some programs are distributed compressed.
        let (bytes, encoding) = match fs::read(&path) {
            Ok(bytes) => (bytes, "identity"),
            Err(_) => (fs::read(path.with_extension(format!("{extension}.gz"))).ok()?, "gzip"),
        };
        let headers = [
            (header::CONTENT_TYPE, *kind),
            (header::CONTENT_ENCODING, encoding),
            (header::CONTENT_SECURITY_POLICY, POLICY),
        ];
        Some((headers, bytes).into_response())
    });
    answer.unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
}

/// The path of a program's file; `None` for paths that lead out of its folder.
fn located(host: &str, path: &str) -> Option<PathBuf> {
    let (name, _) = host.split_once(".localhost")?;
    let path = Path::new(path.strip_prefix('/')?);
    let path = if path.as_os_str().is_empty() { Path::new("index.html") } else { path };
    let is_plain = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
    let is_name = Path::new(name).components().count() == 1 && is_plain(Path::new(name));
    (is_name && is_plain(path)).then(|| root().join("tests/foreign").join(name).join(path))
}

#[test]
fn files_are_only_those_of_the_named_program() {
    let found = |host: &str, path: &str| located(host, path).map(|path| path.strip_prefix(root()).unwrap().to_owned());
    assert_eq!(found("a.localhost:1", "/"), Some("tests/foreign/a/index.html".into()));
    assert_eq!(found("a.localhost:1", "/b/c.js"), Some("tests/foreign/a/b/c.js".into()));
    for (host, path) in [
        ("localhost:1", "/"),
        (".localhost:1", "/"),
        ("..localhost:1", "/c.js"),
        ("...localhost:1", "/c.js"),
        ("a/b.localhost:1", "/c.js"),
        ("a.localhost:1", "/../b/c.js"),
        ("a.localhost:1", "/b/../../c.js"),
        ("a.localhost:1", "//c.js"),
    ] {
        assert_eq!(found(host, path), None, "{host} {path}");
    }
}
