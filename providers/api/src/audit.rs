//! What a provider tells the audit of its own accord, beside the calls that the host itself writes down.

use crate::provider::LeaseMark;

/// Something that was taken from a script because it is not for scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The type of the target, as `page` or `iframe`.
    pub target: String,
    /// The scheme to which it went. Never more of its URL.
    pub scheme: String,
    /// The lease under which that was.
    pub lease: Option<LeaseMark>,
}

/// Takes down what a provider refused on its own. Must return at once.
pub trait AuditSink: Send + Sync {
    /// Something was taken from the script.
    fn refused(&self, refusal: &Refusal);
}

/// Takes down nothing: for hosts that have no audit.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAudit;

impl AuditSink for NoAudit {
    fn refused(&self, _: &Refusal) {}
}
