//! The messages between the host and the guest.
//!
//! Messages are serde types in postcard's format. They carry JavaScript values as [`Encoded`] bytes of the value codec,
//! so that each side converts a value once, directly from or to its own representation.

use crate::{Value, limits::CALL_BYTES, value::DecodeError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A value, encoded by the codec of [`crate::value`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encoded(#[serde(with = "serde_bytes")] pub Vec<u8>);

impl Encoded {
    /// Decodes the value.
    ///
    /// # Errors
    /// When the bytes are not a value.
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

/// JavaScript that a namespace adds to the image: see [`Manifest::layer`](crate::Manifest::layer).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Layer {
    /// The namespace's name.
    pub namespace: String,
    /// A script whose completion value is a function.
    pub source: String,
}

/// The result of adding a layer to the image; the error is a message for the layer's author.
pub type LayerAdded = Result<(), String>;

/// Starts an execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// A JavaScript script. If its completion value is a function, the function is called without arguments. The value
    /// of the script or of that call is awaited, and is the result.
    pub source: String,
    /// The name of the source in stack traces.
    pub source_name: String,
    /// The namespaces that the script can use.
    pub namespaces: Vec<Namespace>,
    /// Seeds every random draw of the script.
    pub seed: [u8; 32],
    /// The current time, in milliseconds since the Unix epoch.
    pub now_ms: f64,
    /// The number of calls that this execution may make.
    pub calls_max: u32,
    /// How many bytes of calls the host accepts in the first turn, see [`Call::bytes`].
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

/// Resumes an execution that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resume {
    /// The current time, in milliseconds since the Unix epoch; never less than in the previous turn.
    pub now_ms: f64,
    /// Calls that have completed.
    pub replies: Vec<Reply>,
    /// How many bytes of calls the host accepts in this turn, see [`Call::bytes`]. Further calls stay in the sandbox
    /// until a later turn, which comes as soon as the host holds no waiting call: it then has room for any single call.
    pub call_bytes: u32,
}

/// The completion of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The id of the call.
    pub call: u32,
    /// The call's return value, or its error.
    pub result: Result<Encoded, CallError>,
}

/// The failure of a call. The script sees it as an `Error` with these properties.
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

/// The result of one turn of the guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Whether the execution is done or waits.
    pub state: State,
    /// Console lines since the previous turn.
    pub console: Vec<ConsoleLine>,
    /// Console bytes of this turn that were dropped between the first and the last stored lines.
    pub console_dropped: u64,
}

/// The state of an execution after a turn.
#[expect(clippy::large_enum_variant, reason = "one turn lives at a time")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum State {
    /// The script's promise is settled.
    Done {
        /// The result or the error with which the promise settled.
        outcome: Outcome,
        /// Unhandled rejections and uncaught errors, as text.
        unhandled: Vec<String>,
        /// Calls made so late that they were not sent, as `namespace.method`.
        unsent: Vec<String>,
    },
    /// Nothing can run until a call completes or a timer is due.
    Waiting {
        /// New calls, and those withheld from earlier turns, for which the host has room.
        calls: Vec<Call>,
        /// When the next timer is due, in milliseconds since the Unix epoch.
        next_timer_ms: Option<f64>,
        /// Whether the guest withholds further calls, for which the host has no room in this turn.
        withheld: bool,
    },
}

/// How a script ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// The script returned a result.
    Returned(Encoded),
    /// The script threw a value, or its promise was rejected with one.
    Threw(Thrown),
    /// The script returned a result that cannot cross the boundary.
    Unserialisable {
        /// Where in the result, as `result.items[3]`.
        path: String,
        /// The kind of the offending value, as `a function`.
        what: String,
    },
    /// The script returned a result larger than the bound.
    TooLarge,
    /// The script exceeded the engine's limit on recursion.
    RecursionLimit {
        /// The stack trace at the limit.
        stack: String,
    },
    /// The engine could not parse the source.
    Syntax {
        /// The parser's message.
        message: String,
        /// The line, counted from 1; 0 if unknown.
        line: u32,
        /// The column, counted from 1; 0 if unknown.
        column: u32,
    },
}

/// A value that a script threw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thrown {
    /// `error.name`, or the type of a thrown value that is not an error.
    pub name: String,
    /// `error.message`, or the value as text.
    pub message: String,
    /// `error.stack`; empty if there is none.
    pub stack: String,
    /// What to use instead of an unsupported global; empty if the error is not about one.
    pub hint: String,
    /// The messages of the causes, the nearest first.
    pub causes: Vec<String>,
    /// The failed call, if this is the same error object with which its promise was rejected. The script cannot forge
    /// it: the object is recognised by its identity, not by a property.
    pub call: Option<u32>,
    /// Why a call was refused before it was sent, if this is the same error object with which its promise was rejected.
    pub refused: Option<CallError>,
}

/// A call to a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The call's number, counted from 0 in each execution.
    pub id: u32,
    /// The namespace's name.
    pub namespace: String,
    /// The method's name; such a method need not exist.
    pub method: String,
    /// The arguments, as an array.
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
    /// The line's severity.
    pub level: Level,
    /// The text of the line.
    pub text: String,
}

/// The severity of a console line.
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

/// Serialises a message.
///
/// # Panics
/// Never: postcard can serialise every message of this module.
#[must_use]
pub fn encode(message: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(message).expect("every message of this module can be serialised")
}

/// The length of a message in bytes, as [`encode`] would write it.
///
/// # Panics
/// Never, as [`encode`].
#[must_use]
pub fn length(message: &impl Serialize) -> usize {
    let size = postcard::serialize_with_flavor(message, postcard::ser_flavors::Size::default());
    size.expect("every message of this module can be serialised")
}

/// Writes a message into a slice of at least [`length`] bytes.
///
/// # Errors
/// When the slice is too short.
pub fn encode_into(message: &impl Serialize, place: &mut [u8]) -> Result<(), postcard::Error> {
    postcard::to_slice(message, place).map(drop)
}

/// Whether a serialised [`Turn`] is an execution's last one. Reads only its first byte, because the message may be
/// large.
#[must_use]
pub fn is_last(turn: &[u8]) -> bool {
    // The state is serialised first, and its first variant is `Done`.
    turn.first() == Some(&0)
}

/// Deserialises a message.
///
/// # Errors
/// When the bytes are not a message of that type.
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
