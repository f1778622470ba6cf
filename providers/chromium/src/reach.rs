//! How a failure to reach a browser is told.

use codemode_spec::{ErrorCode, ErrorReport};
use std::{fmt, io};
use url::Url;

/// The detail of a `CDP_CONNECTION_FAILED` that says for certain that no such browser is there. Without it the browser may
/// live: it did not answer in time, or this process has no file descriptor left.
pub const REFUSED: &str = "refused";

/// A URL for messages: scheme, host, port and path. User, password and query may be secrets.
pub(crate) fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_query(None);
    shown.set_fragment(None);
    shown.into()
}

/// What a socket's failure says of a browser.
pub(crate) fn failed(url: &Url, error: &io::Error) -> ErrorReport {
    let report = unreachable(url, error);
    let is_certain = matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof
    );
    if is_certain { report.with_detail(REFUSED, true) } else { report }
}

/// An error of the connection to a URL.
pub(crate) fn unreachable(url: &Url, error: &dyn fmt::Display) -> ErrorReport {
    ErrorReport::new(ErrorCode::CdpConnectionFailed, format!("{} cannot be reached: {error}", shown(url)))
}
