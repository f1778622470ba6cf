//! What a page wrote to its console, and the errors that its scripts did not catch.

use crate::reports::exception;
use codemode_page::{Event, EventLog};
use serde_json::{Value as Json, json};
use std::collections::{HashMap, HashSet};

/// The event of a line of the console.
pub(crate) const LINE: &str = "Runtime.consoleAPICalled";
/// The event of an error that nothing has caught.
pub(crate) const THROWN: &str = "Runtime.exceptionThrown";
/// The scripts of a session's document are gone.
const CLEARED: &str = "Runtime.executionContextsCleared";

/// The numbers of the events that tell again what was told before: a document that comes back out of the cache of the
/// history tells its whole console anew.
pub(crate) fn told_again(log: &EventLog) -> HashSet<u64> {
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
        // The time is as exact as a microsecond; within one document the same is said twice.
        let time = event.params["timestamp"].as_f64().unwrap_or_default().to_bits();
        if *told.entry((session, event.method.as_str(), time)).or_insert(*document) < *document {
            again.insert(event.seq);
        }
    }
    again
}

/// A line of the page's console.
pub(crate) fn line(params: &Json) -> Json {
    let arguments: Vec<String> = params["args"].as_array().into_iter().flatten().map(spoken).collect();
    let at = params.pointer("/stackTrace/callFrames/0");
    json!({
        "level": params["type"], "text": arguments.join(" "),
        "location": at.map(place),
    })
}

/// An error of the page's scripts that nothing has caught.
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

/// Where something was said, counted from 0 as the protocol and Playwright do.
fn place(at: &Json) -> Json {
    json!({"url": at["url"], "lineNumber": at["lineNumber"], "columnNumber": at["columnNumber"]})
}

/// An argument of the page's console, as the console shows it.
fn spoken(argument: &Json) -> String {
    match (&argument["value"], argument["unserializableValue"].as_str(), argument["description"].as_str()) {
        (Json::String(text), ..) => text.clone(),
        (_, Some(text), _) | (Json::Null, None, Some(text)) => text.to_owned(),
        (Json::Null, None, None) => {
            argument["type"].as_str().filter(|kind| *kind == "undefined").unwrap_or("null").to_owned()
        }
        (value, ..) => value.to_string(),
    }
}
