//! What a provider reports to the audit: the effects of calls, and the refusals of a provider's own policy.

/// The identification of a lease in the audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseMark {
    /// The leased session.
    pub session: String,
    /// The key of the session's browser.
    pub key: Option<String>,
    /// The fencing token.
    pub token: u64,
}

/// The audit record of a call with an effect. Never contains values of the call's arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The action, if it is more specific than the method's name.
    pub action: Option<String>,
    /// The origin of the page on which the call acted.
    pub origin: Option<String>,
    /// The origin of the URL in the call's arguments, if there is one.
    pub to_origin: Option<String>,
    /// Whether this call only reads, although its method may also write.
    pub reads: bool,
    /// The lease under which the call runs.
    pub lease: Option<LeaseMark>,
}

/// The removal of a target from a script, because scripts may not use it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The type of the target, such as `page` or `iframe`.
    pub target: String,
    /// The scheme to which the target navigated. Never more of its URL.
    pub scheme: String,
    /// The lease under which it happened.
    pub lease: Option<LeaseMark>,
}

/// Records the refusals of the providers of one execution. Must return at once.
pub trait RefusalSink: Send + Sync {
    /// Records a refusal.
    fn refused(&self, refusal: &Refusal);
}

/// Records nothing: for hosts without an audit.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRefusalSink;

impl RefusalSink for NoRefusalSink {
    fn refused(&self, _: &Refusal) {}
}
