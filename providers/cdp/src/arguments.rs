//! The arguments of each method, parsed once into a type of their own.

use codemode_page::short;
use codemode_provider::{argument, options};
use codemode_spec::{ErrorCode, ErrorReport, Value, limits::CALL_TIMEOUT_MS_DEFAULT};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};
use std::time::Duration;
use tokio::time::Instant;

/// A command as passed by a script.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandCall {
    pub(crate) method: String,
    #[serde(default)]
    pub(crate) params: Map<String, Json>,
    #[serde(flatten)]
    pub(crate) options: CommandOptions,
}

/// The session and the timeout of a command.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct CommandOptions {
    #[serde(deserialize_with = "session")]
    pub(crate) session_id: Option<String>,
    pub(crate) timeout_ms: Option<u64>,
}

/// The page that a script attaches to.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct AttachOptions {
    pub(crate) target_id: Option<String>,
    pub(crate) timeout_ms: Option<u64>,
    session_id: Option<String>,
}

/// The options of a wait.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct WaitOptions {
    #[serde(deserialize_with = "session")]
    pub(crate) session_id: Option<String>,
    #[serde(rename = "where")]
    pub(crate) pattern: Option<Json>,
    pub(crate) timeout_ms: Option<u64>,
}

/// The filter of a script that reads events.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct EventsOptions {
    pub(crate) since: u64,
    #[serde(deserialize_with = "session")]
    pub(crate) session_id: Option<String>,
    pub(crate) names: Vec<String>,
    pub(crate) limit: Option<usize>,
}

/// The kinds of lookup in the protocol.
pub(crate) enum Lookup {
    Index,
    Named(String),
    Search(String),
}

/// The options of `startSession`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct StartOptions {
    pub(crate) replace: bool,
}

/// The options of `getDebugLog`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct LogOptions {
    limit: Option<usize>,
}

#[derive(Deserialize)]
struct Search {
    search: String,
}

/// A session as scripts give it: its id, or the answer of `attachToTarget`.
#[derive(Deserialize)]
#[serde(untagged)]
enum SessionName {
    Id(String),
    #[serde(rename_all = "camelCase")]
    Answer {
        session_id: String,
    },
}

fn session<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<SessionName>::deserialize(deserializer)?.map(|name| match name {
        SessionName::Id(id) | SessionName::Answer { session_id: id } => id,
    }))
}

/// Parses either form of `send`.
pub(crate) fn command(arguments: &[Value]) -> Result<CommandCall, ErrorReport> {
    if !matches!(arguments.first(), Some(Value::String(_))) {
        let missing = || ErrorReport::new(ErrorCode::InvalidArgument, "command is missing");
        return argument(arguments, 0)?.ok_or_else(missing);
    }
    Ok(CommandCall {
        method: argument(arguments, 0)?.unwrap_or_default(),
        params: options(arguments, 1)?,
        options: options::<CommandOptions>(arguments, 2)?,
    })
}

/// Parses either form of `attachToTarget`.
pub(crate) fn attach(arguments: &[Value]) -> Result<AttachOptions, ErrorReport> {
    let AttachOptions { timeout_ms, .. } = options(arguments, 1)?;
    Ok(match arguments.first() {
        Some(Value::Object(_)) => {
            let named: AttachOptions = options(arguments, 0)?;
            // A handle contains its target.
            let target_id = named.target_id.or(named.session_id);
            AttachOptions { target_id, timeout_ms: named.timeout_ms.or(timeout_ms), session_id: None }
        }
        _ => AttachOptions { target_id: argument(arguments, 0)?, timeout_ms, session_id: None },
    })
}

/// Parses `waitForEvent`: the name of the event, and the options.
pub(crate) fn wait(arguments: &[Value]) -> Result<(String, WaitOptions), ErrorReport> {
    Ok((argument(arguments, 0)?.unwrap_or_default(), options(arguments, 1)?))
}

/// Parses any form of `spec`.
pub(crate) fn lookup(arguments: &[Value]) -> Result<Lookup, ErrorReport> {
    Ok(match arguments.first() {
        None | Some(Value::Undefined) => Lookup::Index,
        Some(Value::String(name)) => Lookup::Named(name.to_string_lossy()),
        Some(_) => Lookup::Search(argument::<Search>(arguments, 0)?.map(|query| query.search).unwrap_or_default()),
    })
}

/// Parses either form of `getDebugLog`: the number of entries.
pub(crate) fn log_limit(arguments: &[Value]) -> Result<Option<usize>, ErrorReport> {
    match arguments.first() {
        Some(Value::Number(_)) => argument(arguments, 0),
        _ => Ok(options::<LogOptions>(arguments, 0)?.limit),
    }
}

/// The timeout of a call: the script's or the default, but never past the execution's deadline.
pub(crate) fn time_for(timeout_ms: Option<u64>, deadline: Instant) -> Duration {
    let requested = Duration::from_millis(timeout_ms.unwrap_or(CALL_TIMEOUT_MS_DEFAULT));
    requested.min(deadline.saturating_duration_since(Instant::now()))
}

/// Refuses a name that is too long to be one: names are quoted in messages.
pub(crate) fn check_length(name: &str) -> Result<(), ErrorReport> {
    const NAME_BYTES_MAX: usize = 200;
    if name.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    Err(ErrorReport::new(ErrorCode::UnknownMethod, format!("the protocol has nothing named {:?}", short(name)))
        .with_hint("cdp.spec() lists all commands and events."))
}
