//! What the host and the guest say to each other.
//!
//! Messages are serde types in postcard's format. Values travel inside them as [`Encoded`] bytes of the value codec, so
//! that each side converts them once, straight from or into its own kind of value.

use crate::{Value, limits::CALL_BYTES, value::DecodeError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A value in the bytes of the codec of [`crate::value`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encoded(#[serde(with = "serde_bytes")] pub Vec<u8>);

impl Encoded {
    /// The value.
    ///
    /// # Errors
    /// When the bytes are not one.
    pub fn value(&self) -> Result<Value, DecodeError> {
        Value::decode(&self.0)
    }
}

impl From<Value> for Encoded {
    fn from(value: Value) -> Self {
        Self(value.encode())
    }
}

impl From<serde_json::Value> for Encoded {
    fn from(json: serde_json::Value) -> Self {
        Value::from(json).into()
    }
}

/// JavaScript of a namespace's own, which becomes part of the image: see [`Manifest::layer`](crate::Manifest::layer).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Layer {
    /// The namespace.
    pub namespace: String,
    /// A script whose value is a function.
    pub source: String,
}

/// Whether a layer became part of the image, or why not.
pub type LayerAdded = Result<(), String>;

/// Begins an execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// A JavaScript script. If its completion value is a function, that is called without arguments; what comes out is
    /// awaited, and is the result.
    pub source: String,
    /// The name of the source in stacks.
    pub source_name: String,
    /// What the script can reach.
    pub namespaces: Vec<Namespace>,
    /// Seeds every random draw of the script.
    pub seed: [u8; 32],
    /// Milliseconds since the Unix epoch.
    pub now_ms: f64,
    /// Calls that this execution may make.
    pub calls_max: u32,
    /// How many bytes of calls the host takes in the first turn, see [`Call::bytes`].
    pub call_bytes: u32,
}

/// A namespace and its methods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    /// The global's name.
    pub name: String,
    /// The methods' names.
    pub methods: Vec<String>,
}

/// Continues an execution that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resume {
    /// Milliseconds since the Unix epoch; never less than in the turn before.
    pub now_ms: f64,
    /// Calls that have completed.
    pub replies: Vec<Reply>,
    /// How many bytes of calls the host takes in this turn, see [`Call::bytes`]. Calls beyond that stay in the sandbox until a later one,
    /// which comes as soon as the host holds no other that waits: then it has room for any.
    pub call_bytes: u32,
}

/// The completion of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Of which call.
    pub call: u32,
    /// What it returned, or with what it failed.
    pub result: Result<Encoded, CallError>,
}

/// How a failed call looks to the script: an `Error` with these properties.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallError {
    /// `error.code`
    pub code: String,
    /// `error.message`
    pub message: String,
    /// `error.hint`
    pub hint: String,
    /// `error.retryable`
    pub retryable: bool,
    /// `error.details`
    pub details: Option<Encoded>,
}

/// What one turn of the guest came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Whether the execution goes on.
    pub state: State,
    /// Console lines since the turn before.
    pub console: Vec<ConsoleLine>,
    /// Console bytes of this turn that were dropped between the first and the last lines kept.
    pub console_dropped: u64,
}

/// Whether an execution goes on after a turn.
#[expect(clippy::large_enum_variant, reason = "one turn lives at a time")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum State {
    /// The script's promise is settled.
    Done {
        /// The result or the error with which the promise settled.
        outcome: Outcome,
        /// Rejections that nothing handled, as text.
        unhandled: Vec<String>,
        /// Calls that were made too late to be sent, as `namespace.method`.
        unsent: Vec<String>,
    },
    /// Nothing can run until a call completes or a timer is due.
    Waiting {
        /// Calls made since the turn before.
        calls: Vec<Call>,
        /// When the next timer is due, in milliseconds since the Unix epoch.
        next_timer_ms: Option<f64>,
        /// Whether there are further calls, for which the host had no room in this turn.
        withheld: bool,
    },
}

/// How a script ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// With a result.
    Returned(Encoded),
    /// With something thrown.
    Threw(Thrown),
    /// With a result that cannot cross the boundary.
    Unserialisable {
        /// Where in the result, as `result.items[3]`.
        path: String,
        /// What stands there, as `a function`.
        what: String,
    },
    /// With a result larger than the bound.
    TooLarge,
    /// With the engine's limit on recursion.
    RecursionLimit {
        /// The stack at the limit.
        stack: String,
    },
    /// The engine did not accept the source.
    Syntax {
        /// Why the source was not accepted.
        message: String,
        /// Line, counted from 1; 0 if unknown.
        line: u32,
        /// Column, counted from 1; 0 if unknown.
        column: u32,
    },
}

/// Something that a script threw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thrown {
    /// `error.name`, or what kind of value was thrown.
    pub name: String,
    /// `error.message`, or the value as text.
    pub message: String,
    /// `error.stack`; empty if there is none.
    pub stack: String,
    /// What to use instead, if the engine knows; otherwise empty.
    pub hint: String,
    /// Messages of the causes, the nearest first.
    pub causes: Vec<String>,
    /// The call of which this is the failure, if it is the very error that the call rejected with. The script cannot
    /// forge it: it is the object's identity, not a property.
    pub call: Option<u32>,
    /// Why a call was refused before it was sent, if it is the very error that the call rejected with.
    pub refused: Option<CallError>,
}

/// A call to a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Counted from 0 in each execution.
    pub id: u32,
    /// The namespace.
    pub namespace: String,
    /// The method, which need not exist.
    pub method: String,
    /// An array of the arguments.
    pub arguments: Encoded,
}

impl Call {
    /// The memory that the call takes while it waits, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.arguments.0.len() + self.namespace.len() + self.method.len() + CALL_BYTES / 4
    }
}

/// A line of the console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleLine {
    /// How important the line is.
    pub level: Level,
    /// What was written.
    pub text: String,
}

/// How important a console line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each is the console method of that name")]
pub enum Level {
    Debug,
    Log,
    Info,
    Warn,
    Error,
}

/// A message as bytes.
///
/// # Panics
/// Never: the messages of this module have no form that postcard refuses.
#[must_use]
pub fn encode(message: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(message).expect("every message of this module can be serialised")
}

/// How many bytes a message has.
///
/// # Panics
/// Never, as [`encode`].
#[must_use]
pub fn length(message: &impl Serialize) -> usize {
    let size = postcard::serialize_with_flavor(message, postcard::ser_flavors::Size::default());
    size.expect("every message of this module can be serialised")
}

/// Writes a message to where it goes, which has [`length`] bytes.
///
/// # Errors
/// When there is less room.
pub fn encode_into(message: &impl Serialize, place: &mut [u8]) -> Result<(), postcard::Error> {
    postcard::to_slice(message, place).map(drop)
}

/// Whether a turn's message is an execution's last one, told without reading it: that may be large.
#[must_use]
pub fn is_last(turn: &[u8]) -> bool {
    // The state comes first, and the first of its variants is the end.
    turn.first() == Some(&0)
}

/// The message of these bytes.
///
/// # Errors
/// When they are not one.
pub fn decode<M: DeserializeOwned>(bytes: &[u8]) -> Result<M, postcard::Error> {
    postcard::from_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive() {
        let turn = Turn {
            state: State::Waiting {
                calls: vec![Call {
                    id: 3,
                    namespace: "cdp".into(),
                    method: "send".into(),
                    arguments: Encoded(Value::Array(vec!["x".into()]).encode()),
                }],
                next_timer_ms: Some(1.5),
                withheld: true,
            },
            console: vec![ConsoleLine { level: Level::Warn, text: "ä".into() }],
            console_dropped: 9,
        };
        let bytes = encode(&turn);
        assert_eq!((length(&turn), is_last(&bytes)), (bytes.len(), false));
        let mut place = vec![0; bytes.len()];
        encode_into(&turn, &mut place).unwrap();
        assert_eq!(place, bytes);
        assert!(encode_into(&turn, &mut place[1..]).is_err());
        assert_eq!(decode::<Turn>(&bytes).as_ref(), Ok(&turn));
        assert!(decode::<Turn>(&[9, 9, 9]).is_err());
        let state = State::Done { outcome: Outcome::TooLarge, unhandled: Vec::new(), unsent: Vec::new() };
        assert!(is_last(&encode(&Turn { state, ..turn })));
    }
}
