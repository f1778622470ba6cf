//! Errors for a browser that cannot be reached.

use codemode_spec::{ErrorCode, ErrorReport};
use std::{fmt, io};
use url::Url;

/// The detail of a `CDP_CONNECTION_FAILED` that is set if the browser certainly does not exist. Without it the browser
/// may be alive: it may not have answered in time, or this process may have run out of file descriptors.
pub const REFUSED: &str = "refused";

/// A URL for messages, reduced to scheme, host, port and path: user, password and query may be secrets.
pub(crate) fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_query(None);
    shown.set_fragment(None);
    shown.into()
}

/// The error for a failed socket, marked with [`REFUSED`] if the browser certainly does not exist.
pub(crate) fn failed(url: &Url, error: &io::Error) -> ErrorReport {
    let report = unreachable(url, error);
    let is_certain = matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof
    );
    if is_certain { report.with_detail(REFUSED, true) } else { report }
}

/// The error for a URL that cannot be reached.
pub(crate) fn unreachable(url: &Url, error: &dyn fmt::Display) -> ErrorReport {
    ErrorReport::new(ErrorCode::CdpConnectionFailed, format!("{} cannot be reached: {error}", shown(url)))
}
