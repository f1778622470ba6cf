//! Checks the names of events, tells which session an event comes from, and reads buffered events.

use crate::{
    arguments::{EventsOptions, check_length, time_for},
    state::Cdp,
};
use codemode_page::{Attached, ConnectedBrowser, Dialogs, Event, Protocol, is_of_a_page, short};
use codemode_spec::{ErrorCode, ErrorReport, limits::EVENTS_BYTES_MAX};
use serde_json::{Map, Value as Json, json};
use tokio::time::Instant;

/// The default number of events in one answer.
const EVENTS_DEFAULT: usize = 100;
/// The maximum number of events in one answer.
pub(crate) const EVENTS_MAX: usize = 1_000;
/// Domains whose events come from the browser itself; requests for a page's events include them.
const BROWSER_DOMAINS: &[&str] = &["Browser", "Target", "Storage"];

/// Reads buffered events.
pub(crate) async fn events(cdp: &Cdp, options: EventsOptions, deadline: Instant) -> Result<Json, ErrorReport> {
    let connected = cdp.browser.connected(deadline).await?;
    let timeout = time_for(None, deadline);
    connected.catch_up();
    for name in &options.names {
        // Without a session, events of all sessions are read.
        check(&connected, name, true)?;
    }
    let session = match &options.session_id {
        Some(session) => Some(cdp.browser.page_session(&connected, session, timeout).await?),
        None => None,
    };
    if let Some(session) = &session {
        for name in &options.names {
            tokio::select! {
                biased;
                result = connected.subscribe(name, Some(session), timeout) => result?,
                // Buffered events can be read all the same.
                _ = connected.obstructed(&session.raw, "Page.enable", Dialogs::Report) => {}
            }
        }
    }
    let matches = |event: &Event| {
        (session.is_none() || is_from(event, session.as_ref()))
            && (options.names.is_empty() || options.names.contains(&event.method))
    };
    let limit = options.limit.unwrap_or(EVENTS_DEFAULT);
    let batch = connected.events().since_within(options.since, limit, EVENTS_BYTES_MAX, &matches);
    connected.catch_up();
    let readable = batch.events.iter().filter(|event| connected.targets.may_be_read(event));
    let events: Vec<_> = readable.map(|event| event_json(&connected, event)).collect();
    Ok(json!({"events": events, "next": batch.next, "dropped": batch.dropped}))
}

/// Refuses a name that is not an event's, and a page's event without a session.
pub(crate) fn check(connected: &ConnectedBrowser, name: &str, has_session: bool) -> Result<(), ErrorReport> {
    check_length(name)?;
    if let Some(protocol) = connected.protocol()
        && protocol.event(name).is_none()
    {
        return Err(unknown(protocol, name));
    }
    if !has_session && is_of_a_page(name) {
        let message = format!("{name} is an event of a page and needs a sessionId");
        return Err(ErrorReport::new(ErrorCode::InvalidArgument, message).with_hint(format!(
            "const {{sessionId}} = await cdp.attachToTarget(); await cdp.waitForEvent(\"{name}\", {{sessionId}})."
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

/// Whether an event comes from a session, or, if there is none, from the browser itself.
pub(crate) fn is_from(event: &Event, session: Option<&Attached>) -> bool {
    match (session, &event.session) {
        (None, from) => from.is_none(),
        (Some(session), Some(from)) => session.raw == *from,
        (Some(_), None) => event.method.split('.').next().is_some_and(|domain| BROWSER_DOMAINS.contains(&domain)),
    }
}

/// An event in the form that scripts get.
pub(crate) fn event_json(connected: &ConnectedBrowser, event: &Event) -> Json {
    let mut json = Map::new();
    json.insert("method".into(), event.method.clone().into());
    json.insert("params".into(), event.params.clone());
    if let Some(session) = &event.session {
        json.insert("sessionId".into(), connected.name_of(session).into());
    }
    json.insert("seq".into(), event.seq.into());
    Json::Object(json)
}
