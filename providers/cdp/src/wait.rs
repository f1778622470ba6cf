//! Events: waiting for one, and reading those that are buffered.
//!
//! All events of the connection are buffered from the moment it is made, in one bounded ring. A wait begins in the past:
//! at the last `Page.navigate`, `Page.reload` or `Page.navigateToHistoryEntry` that was sent to the session, or else at
//! its attachment; and after the event that the last wait with the same name, session and `where` returned. So an event
//! that fires between a command and the wait for it is never lost, successive waits return successive events, waits for
//! different things do not take each other's events, and what the page before had to say is not mistaken for news.

use crate::{
    browser::gone,
    command::{check_length, time_for},
    live::Live,
    manifest::EVENTS_DEFAULT,
    policy::is_of_a_page,
    runtime::CdpRuntime,
    session::Attached,
    targets::short,
};
use codemode_chromium::{CdpError, Command, Event, Protocol};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{EVENTS_BYTES_MAX, PATTERN_BYTES_MAX},
};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::{
    collections::HashMap,
    fmt::Write as _,
    hash::{DefaultHasher, Hash, Hasher},
    pin::pin,
    sync::{Arc, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Domains that are not enabled for whoever waits for their events: enabling them stops or changes what the page does.
const INTERVENING_DOMAINS: &[&str] = &[
    "Autofill",
    "Cast",
    "Debugger",
    "DeviceAccess",
    "FedCm",
    "Fetch",
    "HeadlessExperimental",
    "Overlay",
    "SmartCardEmulation",
    "WebAuthn",
];
/// Domains whose events the browser itself sends, also to those who ask for a page's.
const BROWSER_DOMAINS: &[&str] = &["Browser", "Target", "Storage"];
/// Events named in the hint of a wait that was in vain.
const EVENTS_NAMED_MAX: usize = 12;

/// How a script waits.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct WaitOptions {
    session_id: Option<String>,
    #[serde(rename = "where")]
    pattern: Option<Json>,
    timeout_ms: Option<u64>,
}

/// What a script reads.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct EventsOptions {
    since: u64,
    session_id: Option<String>,
    names: Vec<String>,
    limit: Option<usize>,
}

impl CdpRuntime {
    /// Waits for an event.
    pub(crate) async fn wait_for_event(
        &self,
        name: &str,
        options: &WaitOptions,
        deadline: Instant,
    ) -> Result<Json, ErrorReport> {
        let live = self.slot.live(deadline).await?;
        let timeout = time_for(options.timeout_ms, deadline);
        live.catch_up();
        check(&live, name, options.session_id.is_some())?;
        let pattern_bytes = options.pattern.as_ref().map_or(0, |pattern| pattern.to_string().len());
        if pattern_bytes > PATTERN_BYTES_MAX {
            let message = format!("where has {pattern_bytes} bytes, and may have {PATTERN_BYTES_MAX}");
            return Err(ErrorReport::new(ErrorCode::InvalidArgument, message)
                .with_hint("Name only what tells the event from others; * in a string stands for any text."));
        }
        let session = match &options.session_id {
            Some(session) => Some(self.session(&live, session, timeout).await?),
            None => None,
        };
        let matches = |event: &Event| {
            event.method == name
                && is_from(event, session.as_ref())
                && options.pattern.as_ref().is_none_or(|pattern| is_subset(pattern, &event.params))
        };
        let key = key(name, session.as_ref(), options.pattern.as_ref());
        let from = live.cursors.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied().unwrap_or_default();
        let floor = session.as_ref().map_or(0, |session| live.targets.floor(&session.raw));

        let event = {
            let mut event = pin!(live.next_event(from.max(floor), &matches));
            let mut enabled = pin!(live.enable(name, session.as_ref(), timeout));
            let mut silent = pin!(live.silent(session.as_ref(), name));
            let mut late = pin!(tokio::time::sleep(timeout));
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
                    () = &mut late => return Err(live.in_vain(name, session.as_ref(), timeout)),
                }
            }
        };
        let event = event.ok_or_else(|| gone(&format!("{name} can come no more")))?;
        live.cursors.lock().unwrap_or_else(PoisonError::into_inner).insert(key, event.seq + 1);
        Ok(live.event_json(&event))
    }

    /// Reads buffered events.
    pub(crate) async fn events(&self, options: EventsOptions, deadline: Instant) -> Result<Json, ErrorReport> {
        let live = self.slot.live(deadline).await?;
        let timeout = time_for(None, deadline);
        live.catch_up();
        for name in &options.names {
            // Without a session, those of all sessions are read.
            check(&live, name, true)?;
        }
        let session = match &options.session_id {
            Some(session) => Some(self.session(&live, session, timeout).await?),
            None => None,
        };
        if let Some(session) = &session {
            for name in &options.names {
                tokio::select! {
                    biased;
                    result = live.enable(name, Some(session), timeout) => result?,
                    // What is buffered can be read all the same.
                    _ = live.obstructed(&session.raw, "Page.enable") => {}
                }
            }
        }
        let matches = |event: &Event| {
            (session.is_none() || is_from(event, session.as_ref()))
                && (options.names.is_empty() || options.names.contains(&event.method))
        };
        let limit = options.limit.unwrap_or(EVENTS_DEFAULT);
        let batch = live.connection.events().since_within(options.since, limit, EVENTS_BYTES_MAX, &matches);
        live.catch_up();
        let readable = batch.events.iter().filter(|event| live.targets.may_be_read(event));
        let events: Vec<_> = readable.map(|event| live.event_json(event)).collect();
        Ok(json!({"events": events, "next": batch.next, "dropped": batch.dropped}))
    }
}

fn check(live: &Live, name: &str, has_session: bool) -> Result<(), ErrorReport> {
    check_length(name)?;
    if let Some(protocol) = live.protocol()
        && protocol.event(name).is_none()
    {
        return Err(unknown(protocol, name));
    }
    if !has_session && is_of_a_page(name) {
        let message = format!("{name} is an event of a page and needs a sessionId");
        return Err(ErrorReport::new(ErrorCode::InvalidArgument, message).with_hint(format!(
            "const sessionId = await cdp.attachToTarget(); await cdp.waitForEvent(\"{name}\", {{sessionId}})."
        )));
    }
    Ok(())
}

fn unknown(protocol: &Protocol, name: &str) -> ErrorReport {
    let shown = short(name);
    if protocol.command(name).is_some() {
        return ErrorReport::new(ErrorCode::UnknownMethod, format!("{shown} is a command, not an event"))
            .with_hint(format!("Send it: await cdp.send(\"{shown}\", params, {{sessionId}})."));
    }
    let domain = shown.split('.').next().unwrap_or_default();
    let hint = match protocol.nearest_event(name) {
        Some(near) => format!("Did you mean {near}? cdp.spec(\"{domain}\") lists the events of a domain."),
        None => "cdp.spec() lists all events.".to_owned(),
    };
    ErrorReport::new(ErrorCode::UnknownMethod, format!("the browser has no event {shown}")).with_hint(hint)
}

fn is_from(event: &Event, session: Option<&Attached>) -> bool {
    match (session, &event.session) {
        (None, from) => from.is_none(),
        (Some(session), Some(from)) => session.raw == *from,
        (Some(_), None) => event.method.split('.').next().is_some_and(|domain| BROWSER_DOMAINS.contains(&domain)),
    }
}

/// What the position of a wait is remembered by.
fn key(name: &str, session: Option<&Attached>, pattern: Option<&Json>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (name, session.map(|session| &session.raw), pattern.map(Json::to_string)).hash(&mut hasher);
    hasher.finish()
}

/// Whether everything in the pattern is in the value: keys of objects may be missing from the pattern, arrays are as
/// long, and `*` in a pattern's string stands for any text.
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
        // The first place is the best: it leaves the most for what follows.
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(end)
}

impl Live {
    /// The next event that matches, of those that a script may read.
    async fn next_event(&self, from: u64, matches: &(dyn Fn(&Event) -> bool + Sync)) -> Option<Arc<Event>> {
        let mut from = from;
        loop {
            let event = self.connection.events().wait(from, matches).await?;
            // Not asked while the log is locked: what is known of targets is read from it.
            self.catch_up();
            if self.targets.may_be_read(&event) {
                return Some(event);
            }
            from = event.seq + 1;
        }
    }

    /// Asks a session for the events of a domain, if it was not asked before and asking changes nothing else.
    async fn enable(&self, event: &str, session: Option<&Attached>, timeout: Duration) -> Result<(), ErrorReport> {
        let Some(Attached { raw, target }) = session else { return Ok(()) };
        let domain = event.split('.').next().unwrap_or_default();
        let mut commands: Vec<(String, Json)> = Vec::new();
        let method = format!("{domain}.enable");
        let can_be_asked = self.protocol().and_then(|protocol| protocol.command(&method)).is_some_and(|command| {
            command.parameters.iter().all(|parameter| parameter.optional) && !INTERVENING_DOMAINS.contains(&domain)
        });
        if can_be_asked && !self.targets.is_enabled(raw, domain) {
            commands.push((method, Json::Null));
        }
        // Enabled apart from its domain.
        if event == "Page.lifecycleEvent" && !self.targets.is_enabled(raw, event) {
            commands.push(("Page.setLifecycleEventsEnabled".to_owned(), json!({"enabled": true})));
        }
        // The host itself asks each page for these; for others it must be known what is asked.
        if !commands.is_empty() && !matches!(domain, "Page" | "Inspector") {
            self.enter(&format!("{domain}.enable"), Some(raw), None, timeout).await?;
        }
        for (method, params) in commands {
            // Noted before the answer: a wait that is served earlier drops this.
            let asked = if method.ends_with(".enable") { domain } else { event };
            self.targets.set_enabled(raw, asked, true);
            let answer = self.connection.call(Command { method: &method, params, session: Some(raw), timeout }).await;
            match answer {
                Ok(_) => {}
                // Whoever waits has a timeout and a watch on the page of its own.
                Err(CdpError::Timeout { .. } | CdpError::Detached { .. }) => {}
                Err(error) => {
                    self.targets.set_enabled(raw, asked, false);
                    return Err(self.explain(error, &method, Some(raw), target.as_deref()));
                }
            }
        }
        Ok(())
    }

    /// Waits until no event can come from a session any more: its page closed or crashed.
    async fn silent(&self, session: Option<&Attached>, event: &str) -> ErrorReport {
        if let Some(Attached { raw, .. }) = session {
            let mut changes = self.targets.changes();
            loop {
                self.catch_up();
                if let Some(silence) = self.targets.silence(raw, event) {
                    return silence;
                }
                if changes.changed().await.is_err() {
                    break;
                }
            }
        }
        std::future::pending().await
    }

    /// The report of a wait that was in vain: it says what came instead.
    fn in_vain(&self, name: &str, session: Option<&Attached>, timeout: Duration) -> ErrorReport {
        self.catch_up();
        let report = match session.and_then(|session| self.targets.obstacle(&session.raw, "Runtime.evaluate")) {
            Some(obstacle) => return obstacle,
            None => ErrorReport::new(
                ErrorCode::CallTimeout,
                format!("{name} did not come within {} ms", timeout.as_millis()),
            ),
        };
        let batch = self.connection.events().since(0, usize::MAX, &|event| is_from(event, session));
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
        if INTERVENING_DOMAINS.contains(&domain) && !session.is_some_and(|s| self.targets.is_enabled(&s.raw, domain)) {
            let _ =
                write!(hint, " {domain} events come only after cdp.send(\"{domain}.enable\", {{}}, {{sessionId}}).");
        } else if counts.iter().any(|(seen, _)| *seen == name) {
            hint.push_str(
                " Those of this name came before the last navigation, were returned already or do not match where.",
            );
        } else if name.starts_with("Page.") {
            hint.push_str(" A page that was loaded before it was attached says so only in document.readyState.");
        }
        report.with_hint(hint).with_detail("timeoutMs", timeout.as_millis() as u64)
    }

    fn event_json(&self, event: &Event) -> Json {
        let mut json = Map::new();
        json.insert("method".into(), event.method.clone().into());
        json.insert("params".into(), event.params.clone());
        if let Some(session) = &event.session {
            json.insert("sessionId".into(), self.name_of(session).into());
        }
        json.insert("seq".into(), event.seq.into());
        Json::Object(json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
