//! What a provider tells the audit: what a call does, and what was taken from a script.

/// What a lease is known by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseMark {
    /// The session that it is on.
    pub session: String,
    /// The key whose browser that is.
    pub key: Option<String>,
    /// The fencing token.
    pub token: u64,
}

/// What a call of effect was, for the audit: never a value of its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// What was done, if that says more than the method's name.
    pub action: Option<String>,
    /// The origin of the page that it was done to.
    pub origin: Option<String>,
    /// The origin that it leads to, if it was given a URL.
    pub to_origin: Option<String>,
    /// It only reads, though its method may also write.
    pub reads: bool,
    /// The lease under which it is done.
    pub lease: Option<LeaseMark>,
}

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

/// Takes down what the providers of one execution refused on their own. Must return at once.
pub trait RefusalSink: Send + Sync {
    /// Something was taken from the script.
    fn refused(&self, refusal: &Refusal);
}

/// Takes down nothing: for hosts that have no audit.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRefusalSink;

impl RefusalSink for NoRefusalSink {
    fn refused(&self, _: &Refusal) {}
}
