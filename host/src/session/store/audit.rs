//! The audit: what happened to sessions, leases and executions, each row bound to the one before it.
//!
//! A row's hash is BLAKE3 over the hash of the row before and its own words. A row that was edited, removed or moved
//! breaks the chain where it stood; rows removed from the end are detected by the head, which names the last row. For
//! rows that retention removed there is a checkpoint, which names the last row that is gone.

use super::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// A session was made.
    #[serde(rename = "session.created")]
    SessionCreated,
    /// The browser of a session runs.
    #[serde(rename = "session.started")]
    SessionStarted,
    /// An execution uses a session that was there before.
    #[serde(rename = "session.attached")]
    SessionAttached,
    /// A session became the shared session of a key.
    #[serde(rename = "session.promoted")]
    SessionPromoted,
    /// A script had its browser replaced by a fresh one.
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
    /// An execution asks for the lease of a key's browser.
    #[serde(rename = "lease.requested")]
    LeaseRequested,
    /// A lease was given.
    #[serde(rename = "lease.acquired")]
    LeaseAcquired,
    /// A lease was extended for the first, second, fourth, eighth … time: other renewals have no row.
    #[serde(rename = "lease.renewed")]
    LeaseRenewed,
    /// A holder lost its lease.
    #[serde(rename = "lease.lost")]
    LeaseLost,
    /// A lease was given back.
    #[serde(rename = "lease.released")]
    LeaseReleased,
    /// A lease was not given.
    #[serde(rename = "lease.refused")]
    LeaseRefused,
    /// An operator took a lease away.
    #[serde(rename = "lease.revoked")]
    LeaseRevoked,
    /// A script began.
    #[serde(rename = "execution.started")]
    ExecutionStarted,
    /// A script ended.
    #[serde(rename = "execution.ended")]
    ExecutionEnded,
    /// A script made a call that has an effect.
    #[serde(rename = "call")]
    Call,
    /// A page or a frame was taken from a script, because it went to a scheme that is not for scripts.
    #[serde(rename = "policy.refused")]
    PolicyRefused,
    /// An operator stored a secret, or another value for one.
    #[serde(rename = "secret.set")]
    SecretSet,
    /// An operator removed a secret.
    #[serde(rename = "secret.removed")]
    SecretRemoved,
    /// A script had a secret put into a page of its origin.
    #[serde(rename = "secret.used")]
    SecretUsed,
    /// A script saved what a login left, under a name.
    #[serde(rename = "login.saved")]
    LoginSaved,
    /// A script had its browser given what was saved.
    #[serde(rename = "login.loaded")]
    LoginLoaded,
    /// A saved login state was removed: by a script, by an operator, or because it was not used for long.
    #[serde(rename = "login.removed")]
    LoginRemoved,
    /// A page was refused a destination by a network rule.
    #[serde(rename = "network.refused")]
    NetworkRefused,
    /// Older rows were removed.
    #[serde(rename = "audit.checkpoint")]
    Checkpoint,
}

impl EventKind {
    /// The name in the audit, as `lease.acquired`.
    #[must_use]
    pub fn name(self) -> String {
        match serde_json::to_value(self) {
            Ok(Json::String(name)) => name,
            _ => String::new(),
        }
    }
}

/// Something that happened. Never holds a value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The key whose browser it happened to.
    pub key: Option<String>,
    /// The session that it happened to.
    pub session: Option<String>,
    /// The execution that did it, or that it happened to.
    pub execution: Option<String>,
    /// The token of the lease under which it happened.
    pub token: Option<u64>,
    /// Further facts.
    pub detail: Json,
}

impl Event {
    /// An event with nothing but its kind.
    #[must_use]
    pub const fn new(kind: EventKind) -> Self {
        Self { kind, key: None, session: None, execution: None, token: None, detail: Json::Null }
    }

    /// The event, about this key.
    #[must_use]
    pub fn key(mut self, key: Option<&str>) -> Self {
        self.key = key.map(str::to_owned);
        self
    }

    /// The event, about this session.
    #[must_use]
    pub fn session(mut self, session: &str) -> Self {
        self.session = Some(session.to_owned());
        self
    }

    /// The event, about this execution.
    #[must_use]
    pub fn execution(mut self, execution: &str) -> Self {
        self.execution = Some(execution.to_owned());
        self
    }

    /// The event, under this token.
    #[must_use]
    pub const fn token(mut self, token: u64) -> Self {
        self.token = Some(token);
        self
    }

    /// The event, with these further facts.
    #[must_use]
    pub fn detail(mut self, detail: Json) -> Self {
        self.detail = detail;
        self
    }
}

/// A row of the audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AuditRow {
    /// Its place, counted from 1 without gaps.
    pub id: u64,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// What happened, as `lease.acquired`.
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
    /// Further facts, as JSON text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The hash that binds the row to all rows before it, in hexadecimal digits.
    pub hash: String,
}

impl AuditRow {
    /// The hash that the row must have after the row with this hash.
    #[must_use]
    pub fn hash_after(&self, previous: &str) -> String {
        let Self { id, at_ms, kind, key, session, execution, token, detail, hash: _ } = self;
        let words = json!([previous, id, at_ms, kind, key, session, execution, token, detail]).to_string();
        blake3::hash(words.as_bytes()).to_hex().to_string()
    }
}

/// Events that are to be added to the audit once their turn has come.
pub trait Batch: Send {
    /// The events, asked for once: events that came since the batch was enqueued are included.
    fn take(&mut self) -> Vec<Event>;

    /// Is told of the events that could not be written.
    fn failed(&mut self, events: Vec<Event>, error: StoreError);
}

/// The head of the chain: its last row, and the last row that retention has removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditHead {
    /// The place of the last row; 0 if there is no row.
    pub last: u64,
    /// The hash of the last row.
    pub hash: String,
    /// The place of the last row that retention removed; 0 if no row was removed.
    pub removed: u64,
    /// The hash of that row.
    pub removed_hash: String,
}

/// Which rows of the audit to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Of this key.
    pub key: Option<String>,
    /// Of this session.
    pub session: Option<String>,
    /// Of one of these executions; of all if empty.
    pub executions: Vec<String>,
    /// Of this kind.
    pub kind: Option<EventKind>,
    /// Not before this time, in milliseconds since the Unix epoch.
    pub since_ms: Option<i64>,
    /// Before this place.
    pub before: Option<u64>,
    /// At most this many rows, the last that match.
    pub limit: usize,
}

/// A row as an operator noted it: its place and its hash, written `PLACE:HASH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownRow {
    /// Its place.
    pub id: u64,
    /// Its hash.
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

/// What a check of the chain found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Verdict {
    /// Whether every row is what was written, and none is missing.
    pub intact: bool,
    /// Rows that were checked.
    pub rows: u64,
    /// Rows that a checkpoint stands for.
    pub removed: u64,
    /// The last row that was found in its place. An operator who notes its place and its hash elsewhere can tell later
    /// that no row up to there was replaced by another chain.
    pub last: u64,
    /// The hash of the last row that was found in its place.
    pub hash: String,
    /// The first row that is not as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_at: Option<u64>,
    /// What is wrong with that row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Checks a chain, row by row.
#[derive(Debug)]
pub struct Verifier {
    verdict: Verdict,
    /// A row that must be there, until it is found.
    known: Option<KnownRow>,
}

impl Verifier {
    /// For rows that begin after `removed` rows, the last of which had the hash `previous`.
    #[must_use]
    pub fn new(removed: u64, previous: String, known: Option<KnownRow>) -> Self {
        // The last row that retention removed is still known by its hash.
        let known = known.filter(|known| *known != KnownRow { id: removed, hash: previous.clone() });
        let verdict =
            Verdict { intact: true, rows: 0, removed, last: removed, hash: previous, broken_at: None, fault: None };
        Self { verdict, known }
    }

    /// Checks the next row. `false` if the chain is broken there: no further row need be checked.
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

    /// Checks that the last row is the row that the head names.
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

    /// Gives up, with a fault of the chain as a whole.
    #[must_use]
    pub fn broken_off(mut self, fault: &str) -> Verdict {
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
