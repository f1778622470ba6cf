//! The inputs of the policy: the command, its target, and facts about the browser.

use super::device::DevicePermission;
use serde_json::Value as Json;
use std::path::Path;

/// A command about to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: &'a Json,
    /// The target of the session that it is sent to; `None` without a session.
    pub(crate) target: Option<&'a str>,
    /// Whether it is sent to a session.
    pub(crate) has_session: bool,
}

/// Whether scripts may use a target, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TargetAccess {
    /// Scripts may use it.
    Usable,
    /// Its type is permitted; its URL is not known yet.
    NotKnownYet,
    /// Scripts may not use it: it is not for scripts itself, or it is part of such a target.
    Refused(RefusalReason),
    /// No such target is known.
    Absent,
}

/// Why a target is not for scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RefusalReason {
    /// Its type is reserved for the browser.
    Kind,
    /// It shows a URL of this scheme.
    Scheme(String),
}

/// Facts about the browser that the policy needs.
pub(crate) trait PolicyFacts {
    /// Whether the browser existed before the execution and outlives it.
    fn is_external(&self) -> bool;
    /// The only folder of files that the script may use.
    fn folder(&self) -> &Path;
    /// Whether this execution created the target.
    fn owns_target(&self, target: &str) -> bool;
    /// Whether this execution created the browser context.
    fn owns_context(&self, context: &str) -> bool;
    /// Whether the target is in a browser context that this execution created.
    fn owns_context_of(&self, target: &str) -> bool;
    /// Whether another execution created the target.
    fn is_foreign(&self, target: &str) -> bool;
    /// Whether scripts may use the target.
    fn access(&self, target: &str) -> TargetAccess;
    /// Whether the target is a tab.
    fn is_tab(&self, target: &str) -> bool;
    /// The device permissions that the operator allows.
    fn device_permissions(&self) -> &[DevicePermission];
}
