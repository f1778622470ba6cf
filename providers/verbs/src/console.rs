//! A page's console messages, and the uncaught errors of its scripts.

use crate::reports::exception;
use codemode_page::{Event, EventLog};
use serde_json::{Value as Json, json};
use std::collections::{HashMap, HashSet};

/// The event of a console message.
pub(crate) const LINE: &str = "Runtime.consoleAPICalled";
/// The event of an uncaught error.
pub(crate) const THROWN: &str = "Runtime.exceptionThrown";
/// The event that reports that the scripts of a session's document are gone.
const CLEARED: &str = "Runtime.executionContextsCleared";

/// The numbers of events that repeat earlier ones: a document restored from the back/forward cache reports its whole
/// console again.
pub(crate) fn replayed_events(log: &EventLog) -> HashSet<u64> {
    let is_of_consoles = |event: &Event| matches!(event.method.as_str(), LINE | THROWN | CLEARED);
    let mut documents: HashMap<&str, u64> = HashMap::new();
    let mut told: HashMap<(&str, &str, u64), u64> = HashMap::new();
    let mut again = HashSet::new();
    let events = log.since(0, usize::MAX, &is_of_consoles).events;
    for event in &events {
        let session = event.session.as_deref().unwrap_or_default();
        let document = documents.entry(session).or_default();
        if event.method == CLEARED {
            *document += 1;
            continue;
        }
        // Timestamps have microsecond resolution; equal ones within one document are two messages, not a repetition.
        let time = event.params["timestamp"].as_f64().unwrap_or_default().to_bits();
        if *told.entry((session, event.method.as_str(), time)).or_insert(*document) < *document {
            again.insert(event.seq);
        }
    }
    again
}

/// A console message as scripts see it.
pub(crate) fn line(params: &Json) -> Json {
    let arguments: Vec<String> = params["args"].as_array().into_iter().flatten().map(argument_text).collect();
    let at = params.pointer("/stackTrace/callFrames/0");
    json!({
        "level": params["type"], "text": arguments.join(" "),
        "location": at.map(place),
    })
}

/// An uncaught error as scripts see it.
pub(crate) fn error(params: &Json) -> Json {
    let thrown = &params["exceptionDetails"];
    let stack = exception(thrown).message;
    let first = stack.lines().next().unwrap_or_default();
    let (name, message) = match (thrown["exception"]["className"].as_str(), first.split_once(": ")) {
        (Some(name), Some((_, message))) => (name, message),
        (name, _) => (name.unwrap_or("Error"), first),
    };
    let at = thrown.pointer("/stackTrace/callFrames/0").unwrap_or(thrown);
    json!({"name": name, "message": message, "stack": stack, "location": place(at)})
}

/// The location of a message, counted from 0 as the protocol and Playwright do.
fn place(at: &Json) -> Json {
    json!({"url": at["url"], "lineNumber": at["lineNumber"], "columnNumber": at["columnNumber"]})
}

/// An argument of a console call, as the console shows it.
fn argument_text(argument: &Json) -> String {
    match (&argument["value"], argument["unserializableValue"].as_str(), argument["description"].as_str()) {
        (Json::String(text), ..) => text.clone(),
        (_, Some(text), _) | (Json::Null, None, Some(text)) => text.to_owned(),
        (Json::Null, None, None) => {
            argument["type"].as_str().filter(|kind| *kind == "undefined").unwrap_or("null").to_owned()
        }
        (value, ..) => value.to_string(),
    }
}
