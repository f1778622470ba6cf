//! The types of the history, and of queries on it.

use serde_json::Value as Json;

/// The owner of a history: a caller with a session key. An owner reads and deletes its own rows only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The name of the caller's token; empty without one.
    pub caller: String,
    /// The session key.
    pub key: String,
}

/// A client's browser session, from its first request to its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// The number of the session, in the order in which the history learnt of the sessions.
    pub number: i64,
    /// The id of the execution that served its requests.
    pub id: String,
    /// The start time, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// The time of the latest record, in milliseconds since the Unix epoch.
    pub last_ms: i64,
}

/// An action to record, with the events during it.
#[derive(Clone, Debug)]
pub struct NewAction {
    /// The tab.
    pub tab: Option<String>,
    /// The kind of action, such as `click`.
    pub kind: String,
    /// The start time, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// The duration in milliseconds, including the wait after the action.
    pub duration_ms: i64,
    /// The parameters of the action.
    pub params: Json,
    /// The result, or the code and the message of the failure.
    pub outcome: Result<Json, (String, String)>,
    /// Pictures of the tab before and after the action, as WebP.
    pub pictures: [Option<Vec<u8>>; 2],
    /// The events during the action.
    pub events: Vec<Event>,
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The tab.
    pub tab: Option<String>,
    /// The kind of event, such as `navigation`.
    pub kind: String,
    /// The time, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// The data, specific to the kind.
    pub data: Json,
}

/// A request of a page, recorded under a tag.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tag.
    pub tag: String,
    /// The tab.
    pub tab: String,
    /// The action during which it was made.
    pub action: Option<i64>,
    /// The time, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// An object with the request's and the response's properties.
    pub fields: Json,
    /// An object with the bodies.
    pub bodies: Json,
}

/// A recorded action.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionRow {
    /// The id, which is never reused.
    pub id: i64,
    /// The session.
    pub session: String,
    /// The tab.
    pub tab: Option<String>,
    /// The kind of action.
    pub kind: String,
    /// The start time, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// The duration in milliseconds.
    pub duration_ms: i64,
    /// The parameters of the action.
    pub params: Json,
    /// The result; null when the action failed.
    pub result: Json,
    /// The code and the message of the failure.
    pub error: Option<(String, String)>,
    /// Whether there are pictures from before and after the action.
    pub has_pictures: [bool; 2],
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// The id, which is never reused.
    pub id: i64,
    /// The session.
    pub session: String,
    /// The event.
    pub event: Event,
}

/// A recorded request.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRow {
    /// The id, which is never reused.
    pub id: i64,
    /// The request; without bodies if they were not requested.
    pub call: Call,
}

/// A filter of actions or events.
#[derive(Clone, Debug, Default)]
pub struct Which {
    /// Only the one with this id.
    pub id: Option<i64>,
    /// Only those of this session.
    pub session: Option<String>,
    /// Only those of this tab.
    pub tab: Option<String>,
    /// Only those of this kind.
    pub kind: Option<String>,
    /// Only actions that succeeded (`true`) or failed (`false`).
    pub success: Option<bool>,
    /// Only those at or after this time, in milliseconds since the Unix epoch.
    pub from_ms: Option<i64>,
    /// Only those at or before this time.
    pub to_ms: Option<i64>,
}

/// A page of a list.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Only entries with an id, or sessions with a number, above this number (`true`) or below it (`false`).
    pub from: Option<(i64, bool)>,
    /// The largest number of entries.
    pub limit: usize,
}

/// The numbers of rows that were deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deleted {
    /// Sessions.
    pub sessions: usize,
    /// Actions.
    pub actions: usize,
    /// Events.
    pub events: usize,
}
