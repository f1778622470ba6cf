//! Waiting for an event.
//!
//! All events of the connection are buffered in one bounded ring from the moment it is opened. A wait starts in the
//! past: at the last `Page.navigate`, `Page.reload` or `Page.navigateToHistoryEntry` sent to the session, or else at
//! its attachment; and after the event that the last wait with the same name, session and `where` returned. So an event
//! that fires between a command and the wait for it is never lost, successive waits return successive events, waits for
//! different things do not consume each other's events, and events of the previous page are not mistaken for new ones.

use crate::{
    arguments::{WaitOptions, time_for},
    events::{check, event_json, is_from},
    state::Cdp,
};
use codemode_page::{Attached, ConnectedBrowser, Event, gone, is_enabled_by_scripts_only};
use codemode_spec::{ErrorCode, ErrorReport, limits::PATTERN_BYTES_MAX};
use serde_json::Value as Json;
use std::{
    collections::HashMap,
    fmt::Write as _,
    hash::{DefaultHasher, Hash, Hasher},
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;

/// The maximum number of events named in the hint of a wait that timed out.
const EVENTS_NAMED_MAX: usize = 12;

/// Waits for an event.
pub(crate) async fn wait_for_event(
    cdp: &Cdp,
    name: &str,
    options: &WaitOptions,
    deadline: Instant,
) -> Result<Json, ErrorReport> {
    let connected = cdp.browser.connected(deadline).await?;
    let timeout = time_for(options.timeout_ms, deadline);
    connected.catch_up();
    check(&connected, name, options.session_id.is_some())?;
    let pattern_bytes = options.pattern.as_ref().map_or(0, |pattern| pattern.to_string().len());
    if pattern_bytes > PATTERN_BYTES_MAX {
        let message = format!("where has {pattern_bytes} bytes, and may have {PATTERN_BYTES_MAX}");
        return Err(ErrorReport::new(ErrorCode::InvalidArgument, message)
            .with_hint("Name only what tells the event from others; * in a string stands for any text."));
    }
    let session = match &options.session_id {
        Some(session) => Some(cdp.browser.page_session(&connected, session, timeout).await?),
        None => None,
    };
    let matches = |event: &Event| {
        event.method == name
            && is_from(event, session.as_ref())
            && options.pattern.as_ref().is_none_or(|pattern| is_subset(pattern, &event.params))
    };
    let key = key(name, session.as_ref(), options.pattern.as_ref());
    let from = cdp.positions.of(&connected, key);
    let floor = session.as_ref().map_or(0, |session| connected.targets.floor(&session.raw));

    let event = {
        let mut event = pin!(next_event(&connected, from.max(floor), &matches));
        let mut enabled = pin!(connected.subscribe(name, session.as_ref(), timeout));
        let mut silent = pin!(connected.silent(session.as_ref(), name));
        let mut timeout_elapsed = pin!(tokio::time::sleep(timeout));
        let mut enabling = true;
        loop {
            tokio::select! {
                biased;
                event = &mut event => break event,
                result = &mut enabled, if enabling => {
                    enabling = false;
                    result?;
                }
                silence = &mut silent => return Err(silence),
                () = &mut timeout_elapsed => return Err(timed_out(&connected, name, session.as_ref(), timeout)),
            }
        }
    };
    let event = event.ok_or_else(|| gone(&format!("{name} can come no more")))?;
    cdp.positions.set(&connected, key, event.seq + 1);
    Ok(event_json(&connected, &event))
}

/// The key under which the position of a wait is stored.
fn key(name: &str, session: Option<&Attached>, pattern: Option<&Json>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (name, session.map(|session| &session.raw), pattern.map(Json::to_string)).hash(&mut hasher);
    hasher.finish()
}

/// Whether a value contains everything in the pattern: keys of objects may be missing from the pattern, arrays must
/// have the same length, and `*` in a string of the pattern matches any text.
fn is_subset(pattern: &Json, value: &Json) -> bool {
    match (pattern, value) {
        (Json::Object(pattern), Json::Object(value)) => {
            pattern.iter().all(|(key, pattern)| value.get(key).is_some_and(|value| is_subset(pattern, value)))
        }
        (Json::Array(pattern), Json::Array(value)) => {
            pattern.len() == value.len() && pattern.iter().zip(value).all(|(pattern, value)| is_subset(pattern, value))
        }
        // 200 and 200.0 are one number in JavaScript.
        (Json::Number(pattern), Json::Number(value)) => pattern.as_f64() == value.as_f64(),
        (Json::String(pattern), Json::String(value)) => is_like(pattern, value),
        (pattern, value) => pattern == value,
    }
}

fn is_like(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let (middle, end) = rest.rsplit_once('*').map_or((None, rest), |(middle, end)| (Some(middle), end));
    for part in middle.into_iter().flat_map(|middle| middle.split('*')) {
        // The first match is the best: it leaves the most text for the rest of the pattern.
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(end)
}

/// The next matching event that the script may read.
async fn next_event(
    connected: &ConnectedBrowser,
    from: u64,
    matches: &(dyn Fn(&Event) -> bool + Sync),
) -> Option<Arc<Event>> {
    let mut from = from;
    loop {
        let event = connected.events().wait(from, matches).await?;
        // Not checked while the log is locked: updating the state of targets reads the log.
        connected.catch_up();
        if connected.targets.may_be_read(&event) {
            return Some(event);
        }
        from = event.seq + 1;
    }
}

/// The report of a wait that timed out, with the events that came instead.
fn timed_out(connected: &ConnectedBrowser, name: &str, session: Option<&Attached>, timeout: Duration) -> ErrorReport {
    connected.catch_up();
    let report = match session.and_then(|session| connected.targets.obstacle(&session.raw, "Runtime.evaluate")) {
        Some(obstacle) => return obstacle,
        None => {
            ErrorReport::new(ErrorCode::CallTimeout, format!("{name} did not come within {} ms", timeout.as_millis()))
        }
    };
    let batch = connected.events().since(0, usize::MAX, &|event| is_from(event, session));
    let mut counts: HashMap<&str, (usize, u64)> = HashMap::new();
    for event in &batch.events {
        let entry = counts.entry(event.method.as_str()).or_default();
        *entry = (entry.0 + 1, event.seq);
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, (_, last))| std::cmp::Reverse(*last));
    let mut hint = String::new();
    if counts.is_empty() {
        hint.push_str("No event came from there at all.");
    } else {
        hint.push_str("The last events from there: ");
        for (at, (seen, (count, _))) in counts.iter().take(EVENTS_NAMED_MAX).enumerate() {
            let _ = write!(hint, "{}{seen} ×{count}", if at > 0 { ", " } else { "" });
        }
        hint.push('.');
    }
    let domain = name.split('.').next().unwrap_or_default();
    if is_enabled_by_scripts_only(domain) && !session.is_some_and(|s| connected.targets.is_enabled(&s.raw, domain)) {
        let _ = write!(hint, " {domain} events come only after cdp.send(\"{domain}.enable\", {{}}, {{sessionId}}).");
    } else if counts.iter().any(|(seen, _)| *seen == name) {
        hint.push_str(
            " Those of this name came before the last navigation, were returned already or do not match where.",
        );
    } else if name.starts_with("Page.") {
        hint.push_str(" A page that was loaded before it was attached says so only in document.readyState.");
    }
    report.with_hint(hint).with_detail("timeoutMs", timeout.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn subsets() {
        let value = json!({"a": {"b": 200, "c": "x"}, "list": [1, {"d": true}], "n": null});
        for pattern in [
            json!({}),
            json!({"a": {"b": 200}}),
            json!({"a": {"b": 200.0, "c": "x"}}),
            json!({"list": [1, {}]}),
            json!({"n": null}),
            json!({"a": {"c": "*"}}),
        ] {
            assert!(is_subset(&pattern, &value), "{pattern}");
        }
        for pattern in [
            json!({"a": {"b": "200"}}),
            json!({"a": {"b": 201}}),
            json!({"list": [1]}),
            json!({"list": {}}),
            json!({"missing": null}),
            json!({"a": {"c": "y*"}}),
        ] {
            assert!(!is_subset(&pattern, &value), "{pattern}");
        }
    }

    #[test]
    fn stars() {
        for (pattern, text) in [
            ("*", ""),
            ("*/api/*", "https://a.test/api/login"),
            ("https://*", "https://a"),
            ("*.js", "a.js.js"),
            ("a*b*c", "a-b-b-c"),
            ("a**c", "ac"),
            ("*ä*", "xäx"),
            ("plain", "plain"),
        ] {
            assert!(is_like(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a*a", "a"), ("*b*", "a"), ("a*", "ba"), ("*a", "ab"), ("a*bc*c", "abc"), ("x", "xx")]
        {
            assert!(!is_like(pattern, text), "{pattern} {text}");
        }
    }
}
