//! The audit: a hash chain of the events of sessions, leases and executions.
//!
//! A row's hash is BLAKE3 over the hash of the previous row and its own fields. A row that was edited, removed or moved
//! breaks the chain at its place; rows removed from the end are detected by the head, which names the last row. For
//! rows that retention removed there is a checkpoint, which names the last removed row.

use super::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// A session was created.
    #[serde(rename = "session.created")]
    SessionCreated,
    /// The browser of a session started.
    #[serde(rename = "session.started")]
    SessionStarted,
    /// An execution attached to an existing session.
    #[serde(rename = "session.attached")]
    SessionAttached,
    /// A session became the shared session of a key.
    #[serde(rename = "session.promoted")]
    SessionPromoted,
    /// A script replaced its browser by a fresh one.
    #[serde(rename = "session.reset")]
    SessionReset,
    /// A session was closed.
    #[serde(rename = "session.closed")]
    SessionClosed,
    /// A session that no execution used was ended.
    #[serde(rename = "session.swept")]
    SessionSwept,
    /// The browser of a session died.
    #[serde(rename = "session.crashed")]
    SessionCrashed,
    /// An execution requested the lease of a key's browser.
    #[serde(rename = "lease.requested")]
    LeaseRequested,
    /// A lease was granted.
    #[serde(rename = "lease.acquired")]
    LeaseAcquired,
    /// A lease was renewed for the first, second, fourth, eighth … time: other renewals have no row.
    #[serde(rename = "lease.renewed")]
    LeaseRenewed,
    /// A holder lost its lease.
    #[serde(rename = "lease.lost")]
    LeaseLost,
    /// A lease was released.
    #[serde(rename = "lease.released")]
    LeaseReleased,
    /// A claim for a lease was refused.
    #[serde(rename = "lease.refused")]
    LeaseRefused,
    /// An operator revoked a lease.
    #[serde(rename = "lease.revoked")]
    LeaseRevoked,
    /// An execution started.
    #[serde(rename = "execution.started")]
    ExecutionStarted,
    /// An execution ended.
    #[serde(rename = "execution.ended")]
    ExecutionEnded,
    /// A script made a call that has an effect.
    #[serde(rename = "call")]
    Call,
    /// A page or a frame was closed to a script, because it navigated to a scheme that scripts may not access.
    #[serde(rename = "policy.refused")]
    PolicyRefused,
    /// An operator stored a secret, or changed its value.
    #[serde(rename = "secret.set")]
    SecretSet,
    /// An operator removed a secret.
    #[serde(rename = "secret.removed")]
    SecretRemoved,
    /// A script filled a secret into a page of its origin.
    #[serde(rename = "secret.used")]
    SecretUsed,
    /// A script saved its login state under a name.
    #[serde(rename = "login.saved")]
    LoginSaved,
    /// A script loaded a saved login state into its browser.
    #[serde(rename = "login.loaded")]
    LoginLoaded,
    /// A saved login state was removed: by a script, by an operator, or because it was unused for too long.
    #[serde(rename = "login.removed")]
    LoginRemoved,
    /// A network rule refused a destination to a page.
    #[serde(rename = "network.refused")]
    NetworkRefused,
    /// Older rows were removed.
    #[serde(rename = "audit.checkpoint")]
    Checkpoint,
}

impl EventKind {
    /// The name in the audit, such as `lease.acquired`.
    #[must_use]
    pub fn name(self) -> String {
        match serde_json::to_value(self) {
            Ok(Json::String(name)) => name,
            _ => String::new(),
        }
    }
}

/// An event for the audit. Never contains the value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The kind of the event.
    pub kind: EventKind,
    /// The key of the browser concerned.
    pub key: Option<String>,
    /// The session concerned.
    pub session: Option<String>,
    /// The execution that caused the event, or is concerned by it.
    pub execution: Option<String>,
    /// The token of the lease under which the event happened.
    pub token: Option<u64>,
    /// Further data.
    pub detail: Json,
}

impl Event {
    /// An event that has only a kind.
    #[must_use]
    pub const fn new(kind: EventKind) -> Self {
        Self { kind, key: None, session: None, execution: None, token: None, detail: Json::Null }
    }

    /// The event with this key.
    #[must_use]
    pub fn key(mut self, key: Option<&str>) -> Self {
        self.key = key.map(str::to_owned);
        self
    }

    /// The event with this session.
    #[must_use]
    pub fn session(mut self, session: &str) -> Self {
        self.session = Some(session.to_owned());
        self
    }

    /// The event with this execution.
    #[must_use]
    pub fn execution(mut self, execution: &str) -> Self {
        self.execution = Some(execution.to_owned());
        self
    }

    /// The event with this token.
    #[must_use]
    pub const fn token(mut self, token: u64) -> Self {
        self.token = Some(token);
        self
    }

    /// The event with this further data.
    #[must_use]
    pub fn detail(mut self, detail: Json) -> Self {
        self.detail = detail;
        self
    }
}

/// A row of the audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AuditRow {
    /// The number of the row, counted from 1 without gaps.
    pub id: u64,
    /// The time, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// The kind of the event, such as `lease.acquired`.
    pub kind: String,
    /// The key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<String>,
    /// The token of the lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    /// Further data, as JSON text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The hash that binds the row to all rows before it, in hexadecimal digits.
    pub hash: String,
}

impl AuditRow {
    /// The hash that the row must have if `previous` is the hash of the row before it.
    #[must_use]
    pub fn hash_after(&self, previous: &str) -> String {
        let Self { id, at_ms, kind, key, session, execution, token, detail, hash: _ } = self;
        let words = json!([previous, id, at_ms, kind, key, session, execution, token, detail]).to_string();
        blake3::hash(words.as_bytes()).to_hex().to_string()
    }
}

/// A source of events that are added to the audit in a later transaction.
pub trait Batch: Send {
    /// Takes the events. Called once, within the transaction: events that were added since the batch was enqueued are
    /// included.
    fn take(&mut self) -> Vec<Event>;

    /// Called with the events that could not be written.
    fn failed(&mut self, events: Vec<Event>, error: StoreError);
}

/// The head of the chain: its last row, and the last row that retention has removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditHead {
    /// The number of the last row; 0 if there is no row.
    pub last: u64,
    /// The hash of the last row.
    pub hash: String,
    /// The number of the last row that retention removed; 0 if no row was removed.
    pub removed: u64,
    /// The hash of that row.
    pub removed_hash: String,
}

/// A filter for rows of the audit. All conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Rows of this key.
    pub key: Option<String>,
    /// Rows of this session.
    pub session: Option<String>,
    /// Rows of one of these executions; of all if empty.
    pub executions: Vec<String>,
    /// Rows of this kind.
    pub kind: Option<EventKind>,
    /// Rows at or after this time, in milliseconds since the Unix epoch.
    pub since_ms: Option<i64>,
    /// Rows before the row with this number.
    pub before: Option<u64>,
    /// The maximum number of rows: the last that match.
    pub limit: usize,
}

/// A row that an operator noted: its number and its hash, written `PLACE:HASH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownRow {
    /// The number of the row.
    pub id: u64,
    /// The hash of the row.
    pub hash: String,
}

impl std::str::FromStr for KnownRow {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (id, hash) = text.split_once(':').ok_or("write the row's place and its hash as PLACE:HASH")?;
        let id = id.parse().map_err(|_| "the row's place is a number")?;
        let is_hash = hash.len() == blake3::OUT_LEN * 2 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash {
            return Err("the hash has 64 hexadecimal digits");
        }
        Ok(Self { id, hash: hash.to_ascii_lowercase() })
    }
}

/// The result of a verification of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Verdict {
    /// Whether every row is as it was written, and none is missing.
    pub intact: bool,
    /// Rows that were checked.
    pub rows: u64,
    /// Rows that retention removed, and a checkpoint replaces.
    pub removed: u64,
    /// The number of the last intact row. An operator who notes this number and its hash elsewhere can verify later
    /// that no row up to there was replaced.
    pub last: u64,
    /// The hash of the last intact row.
    pub hash: String,
    /// The first row that is not as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_at: Option<u64>,
    /// What is wrong with that row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Verifies a chain, row by row.
#[derive(Debug)]
pub struct Verifier {
    verdict: Verdict,
    /// A row that must be part of the chain; `None` once it was found.
    known: Option<KnownRow>,
}

impl Verifier {
    /// For rows that begin after `removed` rows, the last of which had the hash `previous`.
    #[must_use]
    pub fn new(removed: u64, previous: String, known: Option<KnownRow>) -> Self {
        // The hash of the last row that retention removed is still known.
        let known = known.filter(|known| *known != KnownRow { id: removed, hash: previous.clone() });
        let verdict =
            Verdict { intact: true, rows: 0, removed, last: removed, hash: previous, broken_at: None, fault: None };
        Self { verdict, known }
    }

    /// Verifies the next row. `false` if the chain is broken there: further rows need not be verified.
    pub fn row(&mut self, row: &AuditRow) -> bool {
        self.verdict.rows += 1;
        let next = self.verdict.last + 1;
        if row.id != next {
            return self.broken(next.min(row.id), "a row is missing before this one, or was put in between");
        }
        if row.hash != row.hash_after(&self.verdict.hash) {
            return self.broken(row.id, "the row is not as it was written, or not where it was written");
        }
        if let Some(known) = self.known.take_if(|known| known.id == row.id)
            && known.hash != row.hash
        {
            return self.broken(row.id, "the row is not the one that was noted: the chain was written anew");
        }
        self.verdict.last = row.id;
        self.verdict.hash.clone_from(&row.hash);
        true
    }

    /// Finishes the verification: checks that the last row is the one that the head names.
    #[must_use]
    pub fn end(mut self, last: u64, hash: &str) -> Verdict {
        if self.verdict.intact && (self.verdict.last != last || self.verdict.hash != hash) {
            self.broken(self.verdict.last + 1, "the last rows are missing");
        }
        match &self.known {
            Some(known) if self.verdict.intact && known.id > self.verdict.removed => {
                self.broken(self.verdict.last + 1, "the row that was noted is missing, and all between");
            }
            Some(known) if self.verdict.intact => {
                self.broken(known.id, "the row that was noted has been removed by retention: note a newer one");
            }
            _ => {}
        }
        self.verdict
    }

    /// Ends the verification with a fault of the chain as a whole.
    #[must_use]
    pub fn fail(mut self, fault: &str) -> Verdict {
        self.broken(self.verdict.last, fault);
        self.verdict
    }

    fn broken(&mut self, at: u64, fault: &str) -> bool {
        self.verdict.intact = false;
        self.verdict.broken_at = Some(at);
        self.verdict.fault = Some(fault.to_owned());
        false
    }
}
