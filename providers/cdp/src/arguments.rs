//! The arguments of each method, read once into a type of their own.

use codemode_page::short;
use codemode_provider::{argument, options};
use codemode_spec::{ErrorCode, ErrorReport, Value, limits::CALL_TIMEOUT_MS_DEFAULT};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};
use std::time::Duration;
use tokio::time::Instant;

/// A command as a script gives it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandCall {
    pub(crate) method: String,
    #[serde(default)]
    pub(crate) params: Map<String, Json>,
    #[serde(flatten)]
    pub(crate) options: CommandOptions,
}

/// Where a command goes and how long it may take.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct CommandOptions {
    #[serde(deserialize_with = "session")]
    pub(crate) session_id: Option<String>,
    pub(crate) timeout_ms: Option<u64>,
}

/// Which page a script attaches to.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct AttachOptions {
    pub(crate) target_id: Option<String>,
    pub(crate) timeout_ms: Option<u64>,
    session_id: Option<String>,
}

/// How a script waits.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct WaitOptions {
    #[serde(deserialize_with = "session")]
    pub(crate) session_id: Option<String>,
    #[serde(rename = "where")]
    pub(crate) pattern: Option<Json>,
    pub(crate) timeout_ms: Option<u64>,
}

/// What a script reads of the events.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct EventsOptions {
    pub(crate) since: u64,
    #[serde(deserialize_with = "session")]
    pub(crate) session_id: Option<String>,
    pub(crate) names: Vec<String>,
    pub(crate) limit: Option<usize>,
}

/// What a script wants to know of the protocol.
pub(crate) enum Lookup {
    Index,
    Named(String),
    Search(String),
}

/// How a script keeps its browser.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct StartOptions {
    pub(crate) replace: bool,
}

/// How much of the debug log a script reads.
#[derive(Default, Deserialize)]
#[serde(default)]
struct LogOptions {
    limit: Option<usize>,
}

#[derive(Deserialize)]
struct Search {
    search: String,
}

/// A session as scripts name it: its id, or what `attachToTarget` answered.
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

/// The command of either form of `send`.
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

/// Either form of `attachToTarget`.
pub(crate) fn attach(arguments: &[Value]) -> Result<AttachOptions, ErrorReport> {
    let AttachOptions { timeout_ms, .. } = options(arguments, 1)?;
    Ok(match arguments.first() {
        Some(Value::Object(_)) => {
            let named: AttachOptions = options(arguments, 0)?;
            // A handle names its target.
            let target_id = named.target_id.or(named.session_id);
            AttachOptions { target_id, timeout_ms: named.timeout_ms.or(timeout_ms), session_id: None }
        }
        _ => AttachOptions { target_id: argument(arguments, 0)?, timeout_ms, session_id: None },
    })
}

/// The name of the event, and how it is waited for.
pub(crate) fn wait(arguments: &[Value]) -> Result<(String, WaitOptions), ErrorReport> {
    Ok((argument(arguments, 0)?.unwrap_or_default(), options(arguments, 1)?))
}

/// Any form of `spec`.
pub(crate) fn lookup(arguments: &[Value]) -> Result<Lookup, ErrorReport> {
    Ok(match arguments.first() {
        None | Some(Value::Undefined) => Lookup::Index,
        Some(Value::String(name)) => Lookup::Named(name.to_string_lossy()),
        Some(_) => Lookup::Search(argument::<Search>(arguments, 0)?.map(|query| query.search).unwrap_or_default()),
    })
}

/// How many entries either form of `getDebugLog` asks for.
pub(crate) fn log_limit(arguments: &[Value]) -> Result<Option<usize>, ErrorReport> {
    match arguments.first() {
        Some(Value::Number(_)) => argument(arguments, 0),
        _ => Ok(options::<LogOptions>(arguments, 0)?.limit),
    }
}

/// The time that a call may take: what the script says or the default, and never longer than the execution.
pub(crate) fn time_for(timeout_ms: Option<u64>, deadline: Instant) -> Duration {
    let asked = Duration::from_millis(timeout_ms.unwrap_or(CALL_TIMEOUT_MS_DEFAULT));
    asked.min(deadline.saturating_duration_since(Instant::now()))
}

/// Refuses what cannot be a name: names go into messages.
pub(crate) fn check_length(name: &str) -> Result<(), ErrorReport> {
    const NAME_BYTES_MAX: usize = 200;
    if name.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    Err(ErrorReport::new(ErrorCode::UnknownMethod, format!("the protocol has nothing named {:?}", short(name)))
        .with_hint("cdp.spec() lists all commands and events."))
}
