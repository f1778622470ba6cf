//! What history has, and what can be asked of it.

use serde_json::Value as Json;

/// The owner of a history: a caller with a session key. An owner reads and deletes its own rows only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The name of the caller's token; empty without one.
    pub caller: String,
    /// The session key.
    pub key: String,
}

/// A client's browser, from the first request to the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// The execution that carried its requests out.
    pub id: String,
    /// When it began, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// When something was noted of it last.
    pub last_ms: i64,
}

/// An action, to be noted with what happened during it.
#[derive(Clone, Debug)]
pub struct NewAction {
    /// The tab.
    pub tab: Option<String>,
    /// What was done, as `click`.
    pub kind: String,
    /// When it began, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// How long it took, with its wait.
    pub duration_ms: i64,
    /// With what.
    pub params: Json,
    /// What it came to, or the code and the words of its failure.
    pub outcome: Result<Json, (String, String)>,
    /// The tab before and after, as WebP.
    pub pictures: [Option<Vec<u8>>; 2],
    /// What happened.
    pub events: Vec<Event>,
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The tab.
    pub tab: Option<String>,
    /// What happened, as `navigation`.
    pub kind: String,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// What belongs to the kind.
    pub data: Json,
}

/// A request of a page, kept under a tag.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tag.
    pub tag: String,
    /// The tab.
    pub tab: String,
    /// The action during which it was made.
    pub action: Option<i64>,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// An object of what is told of it.
    pub fields: Json,
    /// An object of the bodies.
    pub bodies: Json,
}

/// An action that was noted.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionRow {
    /// Its number, which no other action gets.
    pub id: i64,
    /// The session.
    pub session: String,
    /// The tab.
    pub tab: Option<String>,
    /// What was done.
    pub kind: String,
    /// When it began.
    pub at_ms: i64,
    /// How long it took.
    pub duration_ms: i64,
    /// With what.
    pub params: Json,
    /// What it came to; null when it failed.
    pub result: Json,
    /// The code and the words of its failure.
    pub error: Option<(String, String)>,
    /// Whether there is a picture of before, and one of after.
    pub has_pictures: [bool; 2],
}

/// An event that was noted.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// Its number, which no other event gets.
    pub id: i64,
    /// The session.
    pub session: String,
    /// What was noted.
    pub event: Event,
}

/// A request that was kept.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRow {
    /// Its number, which no other request gets.
    pub id: i64,
    /// What was kept; without bodies where they were not asked for.
    pub call: Call,
}

/// Which actions or events.
#[derive(Clone, Debug, Default)]
pub struct Which {
    /// One with this number.
    pub id: Option<i64>,
    /// Those of a session.
    pub session: Option<String>,
    /// Those of a tab.
    pub tab: Option<String>,
    /// Those of a kind.
    pub kind: Option<String>,
    /// Actions that succeeded, or that failed.
    pub success: Option<bool>,
    /// Not before, in milliseconds since the Unix epoch.
    pub from_ms: Option<i64>,
    /// Not after.
    pub to_ms: Option<i64>,
}

/// Which part of a list.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Only what is newer than this number (`true`), or older.
    pub from: Option<(i64, bool)>,
    /// No more than these.
    pub limit: usize,
}

/// What was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deleted {
    /// Sessions.
    pub sessions: usize,
    /// Actions.
    pub actions: usize,
    /// Events.
    pub events: usize,
}
