//! What a command is judged by.

use super::device::DevicePermission;
use serde_json::Value as Json;
use std::path::Path;

/// A command about to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: &'a Json,
    /// The target of the session it is sent to; `None` without a session.
    pub(crate) target: Option<&'a str>,
    /// Whether it is sent to a session.
    pub(crate) has_session: bool,
}

/// What a target is, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// For scripts.
    Usable,
    /// Of a type that is for scripts; what it shows is not known yet.
    NotKnownYet,
    /// Not for scripts, or a part of what is not.
    Refused(Why),
    /// There is no such target, as far as is known.
    Absent,
}

/// Why a target is not for scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It is of a type that is the browser's own.
    Kind,
    /// It shows something of this scheme.
    Scheme(String),
}

/// What the policy must know of the browser.
pub(crate) trait PolicyFacts {
    /// Whether the browser was there before the execution and stays after it.
    fn is_external(&self) -> bool;
    /// The only folder of files that the script may use.
    fn folder(&self) -> &Path;
    /// Whether this execution made the target.
    fn owns_target(&self, target: &str) -> bool;
    /// Whether this execution made the browser context.
    fn owns_context(&self, context: &str) -> bool;
    /// Whether the target is in a browser context that this execution made.
    fn owns_context_of(&self, target: &str) -> bool;
    /// Whether another execution made the target.
    fn is_foreign(&self, target: &str) -> bool;
    /// What the target is.
    fn standing(&self, target: &str) -> Standing;
    /// Whether the target is a tab.
    fn is_tab(&self, target: &str) -> bool;
    /// What the operator lets pages have of this machine's devices.
    fn device_permissions(&self) -> &[DevicePermission];
}
