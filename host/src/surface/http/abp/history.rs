//! The history of a client, read and deleted.

use super::{
    browser::{Abp, Ask, not_found},
    network::action_id,
};
use crate::{
    history::{ActionRow, EventRow, Part, SessionRow, Which},
    surface::http::face::{Answered, Failure, Fields},
};
use axum::{
    extract::{Path, State},
    http::header::CONTENT_TYPE,
    response::{IntoResponse as _, Response},
};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use codemode_spec::limits::{ABP_BODIES_BYTES_MAX, HISTORY_ACTIONS_MAX, HISTORY_SESSIONS_MAX};
use serde_json::{Value as Json, json};
use std::sync::Arc;

type OfOne = (State<Arc<Abp>>, Path<String>, Ask);

/// How many items an answer has, where nothing is said, and at most.
struct Sizes(usize, usize);

const SESSIONS: Sizes = Sizes(20, HISTORY_SESSIONS_MAX);
const ACTIONS: Sizes = Sizes(50, 500);
const EVENTS: Sizes = Sizes(100, 1_000);

fn succeeded(data: Json) -> Answered {
    Ok(json!({"success": true, "data": data}).into())
}

/// The id of the execution that carries a client's requests out, if one goes on.
async fn current(abp: &Abp, ask: &Ask) -> Option<String> {
    let session = abp.sessions.find(&ask.client.caller, &ask.client.key).await?;
    Some(session.id().to_owned())
}

fn session_told(session: &SessionRow, current: Option<&str>) -> Json {
    let is_active = current == Some(&session.id);
    let end = (!is_active).then_some(session.last_ms);
    json!({"id": session.id, "start_time": session.started_ms, "end_time": end, "active": is_active})
}

fn action_told(action: &ActionRow) -> Json {
    let picture = |has: bool, name: &str| {
        has.then(|| format!("/history/actions/{}/screenshot?type={name}", action_id(action.id)))
    };
    let [before, after] = action.has_pictures;
    let mut told = json!({
        "id": action_id(action.id), "session_id": action.session, "tab_id": action.tab, "action_type": action.kind,
        "timestamp": action.at_ms, "duration_ms": action.duration_ms, "success": action.error.is_none(),
        "params": action.params, "result": action.result,
        "screenshot_before_path": picture(before, "before"), "screenshot_after_path": picture(after, "after"),
    });
    if let Some((code, words)) = &action.error {
        told["error_code"] = json!(code);
        told["error_message"] = json!(words);
    }
    told
}

fn event_told(EventRow { id, session, event }: &EventRow) -> Json {
    json!({
        "id": event_id(*id), "session_id": session, "tab_id": event.tab, "event_type": event.kind,
        "timestamp": event.at_ms, "data": event.data,
    })
}

fn event_id(number: i64) -> String {
    format!("evt_{number}")
}

/// The number in an id, with its prefix or alone.
fn number(id: &str, prefix: &str) -> Option<i64> {
    id.strip_prefix(prefix).unwrap_or(id).parse().ok()
}

/// Which part of a list is asked for: its newest items, or those on one side of a cursor.
fn part(asked: &Fields, sizes: &Sizes, prefix: &str) -> Result<Part, Failure> {
    let limit = asked.number("limit").map_or(sizes.0, |limit| (limit.max(1.0) as usize).min(sizes.1));
    let newer = match asked.text("direction").as_deref() {
        None | Some("forward") => true,
        Some("backward") => false,
        Some(_) => return Err(Failure::bad("direction must be forward or backward")),
    };
    let from = match asked.text("cursor") {
        None => None,
        Some(cursor) => {
            let number = number(&cursor, prefix);
            Some((
                number.ok_or_else(|| Failure::bad("cursor is none of this list").with_code("INVALID_CURSOR"))?,
                newer,
            ))
        }
    };
    Ok(Part { from, limit })
}

fn which(asked: &Fields, kind: &str) -> Which {
    let ms = |name: &str| asked.number(name).map(|ms| ms as i64);
    Which {
        id: None,
        session: asked.text("session_id"),
        tab: asked.text("tab_id"),
        kind: asked.text(kind),
        success: asked.truth("success"),
        from_ms: ms("start_time"),
        // "Before" leaves that moment itself out.
        to_ms: ms("before").map(|ms| ms - 1).into_iter().chain(ms("end_time")).min(),
    }
}

/// A part of a list, with where to go on in both directions. Of the rows there is one more than asked for, if there are more.
fn listed<T>(
    name: &str,
    mut rows: Vec<T>,
    part: Part,
    number: impl Fn(&T) -> i64,
    told: impl Fn(&T) -> Json,
) -> Answered {
    let more = rows.len() > part.limit;
    rows.truncate(part.limit);
    let going_on = |number: Option<i64>, is_there: bool| number.filter(|_| is_there).map(|number| number.to_string());
    let goes_newer = part.from.is_some_and(|(_, newer)| newer);
    let mut data = json!({
        "prev_cursor": going_on(rows.iter().map(&number).min(), goes_newer || more),
        "next_cursor": going_on(rows.iter().map(&number).max(), if goes_newer { more } else { part.from.is_some() }),
        "has_more": more,
    });
    data[name] = rows.iter().map(told).collect();
    succeeded(data)
}

/// One item more than asked for tells whether there are more.
const fn with_next(part: Part) -> Part {
    Part { limit: part.limit + 1, ..part }
}

const ONE: Part = Part { from: None, limit: 1 };

pub(super) async fn sessions(State(abp): State<Arc<Abp>>, ask: Ask) -> Answered {
    let (history, owner) = ask.history(&abp).await?;
    let part = part(&ask.body, &SESSIONS, "")?;
    let current = current(&abp, &ask).await;
    // No session has an empty id.
    let active = ask.body.truth("active").unwrap_or(false).then(|| current.clone().unwrap_or_default());
    let rows = history.sessions(&owner, active, with_next(part)).await?;
    listed("sessions", rows, part, |row| row.started_ms, |row| session_told(row, current.as_deref()))
}

pub(super) async fn current_session(State(abp): State<Arc<Abp>>, ask: Ask) -> Answered {
    let (history, owner) = ask.history(&abp).await?;
    let none = || not_found("SESSION_NOT_FOUND", "no session goes on, or nothing is noted of it yet".to_owned());
    let id = current(&abp, &ask).await.ok_or_else(none)?;
    let row = history.sessions(&owner, Some(id.clone()), ONE).await?.pop();
    succeeded(session_told(&row.ok_or_else(none)?, Some(&id)))
}

async fn found_session(abp: &Abp, ask: &Ask, id: &str) -> Result<Json, Failure> {
    let (history, owner) = ask.history(abp).await?;
    let row = history.sessions(&owner, Some(id.to_owned()), ONE).await?.pop();
    let row = row.ok_or_else(|| not_found("SESSION_NOT_FOUND", format!("Session {id} not found")))?;
    Ok(session_told(&row, current(abp, ask).await.as_deref()))
}

pub(super) async fn session((State(abp), Path(id), ask): OfOne) -> Answered {
    succeeded(found_session(&abp, &ask, &id).await?)
}

/// A session with all that was noted of it, in parts.
pub(super) async fn export((State(abp), Path(id), ask): OfOne) -> Answered {
    let session = found_session(&abp, &ask, &id).await?;
    let (history, owner) = ask.history(&abp).await?;
    let size = ask
        .body
        .number("chunk_size")
        .map_or(HISTORY_ACTIONS_MAX, |size| (size.max(1.0) as usize).min(HISTORY_ACTIONS_MAX));
    let from = |name: &str, prefix: &str| {
        let cursor = ask.body.text(name).map_or(Some(0), |cursor| number(&cursor, prefix));
        cursor.ok_or_else(|| Failure::bad(&format!("{name} is none of this session")).with_code("INVALID_CURSOR"))
    };
    let part = |from: i64| Part { from: Some((from, true)), limit: size + 1 };
    let which = Which { session: Some(id), ..Which::default() };
    let mut actions = history.actions(&owner, which.clone(), part(from("actions_cursor", "act_")?)).await?;
    let mut events = history.events(&owner, which, part(from("events_cursor", "evt_")?)).await?;
    let (more_actions, more_events) = (actions.len() > size, events.len() > size);
    actions.truncate(size);
    events.truncate(size);
    let mut told: Vec<Json> = actions.iter().map(action_told).collect();
    if ask.body.truth("include_screenshots").unwrap_or(false) {
        let mut room = ABP_BODIES_BYTES_MAX;
        for (action, told) in actions.iter().zip(&mut told) {
            for (after, name) in [(false, "screenshot_before"), (true, "screenshot_after")] {
                let Some(picture) = history.picture(&owner, action.id, after).await? else { continue };
                if picture.len() <= room {
                    room -= picture.len();
                    told[name] = json!(BASE64_STANDARD.encode(picture));
                }
            }
        }
    }
    let next = |more: bool, last: Option<i64>| last.filter(|_| more).map(|last| last.to_string());
    succeeded(json!({
        "session": session, "actions": told, "events": events.iter().map(event_told).collect::<Vec<_>>(),
        "next_actions_cursor": next(more_actions, actions.last().map(|action| action.id)),
        "next_events_cursor": next(more_events, events.last().map(|event| event.id)),
        "export_complete": !more_actions && !more_events,
    }))
}

pub(super) async fn actions(State(abp): State<Arc<Abp>>, ask: Ask) -> Answered {
    let (history, owner) = ask.history(&abp).await?;
    let part = part(&ask.body, &ACTIONS, "act_")?;
    let rows = history.actions(&owner, which(&ask.body, "action_type"), with_next(part)).await?;
    listed("actions", rows, part, |row| row.id, action_told)
}

pub(super) async fn action((State(abp), Path(id), ask): OfOne) -> Answered {
    let (history, owner) = ask.history(&abp).await?;
    let none = || not_found("ACTION_NOT_FOUND", format!("Action {id} not found"));
    let which = Which { id: Some(number(&id, "act_").ok_or_else(none)?), ..Which::default() };
    let row = history.actions(&owner, which, ONE).await?.pop();
    succeeded(action_told(&row.ok_or_else(none)?))
}

pub(super) async fn screenshot((State(abp), Path(id), ask): OfOne) -> Result<Response, Failure> {
    let (history, owner) = ask.history(&abp).await?;
    let after = match ask.body.text("type").as_deref() {
        None | Some("after") => true,
        Some("before") => false,
        Some(_) => return Err(Failure::bad("type must be before or after")),
    };
    let none = || not_found("SCREENSHOT_NOT_FOUND", format!("Action {id} has no such screenshot"));
    let number = number(&id, "act_").ok_or_else(none)?;
    let picture = history.picture(&owner, number, after).await?;
    Ok(([(CONTENT_TYPE, "image/webp")], picture.ok_or_else(none)?).into_response())
}

pub(super) async fn delete_actions(State(abp): State<Arc<Abp>>, ask: Ask) -> Answered {
    let (history, owner) = ask.history(&abp).await?;
    let deleted = history.delete_actions(&owner, which(&ask.body, "action_type")).await?;
    succeeded(json!({ "deleted_count": deleted }))
}

pub(super) async fn events(State(abp): State<Arc<Abp>>, ask: Ask) -> Answered {
    let (history, owner) = ask.history(&abp).await?;
    let part = part(&ask.body, &EVENTS, "evt_")?;
    let rows = history.events(&owner, which(&ask.body, "event_type"), with_next(part)).await?;
    listed("events", rows, part, |row| row.id, event_told)
}

pub(super) async fn event((State(abp), Path(id), ask): OfOne) -> Answered {
    let (history, owner) = ask.history(&abp).await?;
    let none = || not_found("EVENT_NOT_FOUND", format!("Event {id} not found"));
    let which = Which { id: Some(number(&id, "evt_").ok_or_else(none)?), ..Which::default() };
    let row = history.events(&owner, which, ONE).await?.pop();
    succeeded(event_told(&row.ok_or_else(none)?))
}

pub(super) async fn delete_events(State(abp): State<Arc<Abp>>, ask: Ask) -> Answered {
    let (history, owner) = ask.history(&abp).await?;
    let deleted = history.delete_events(&owner, which(&ask.body, "event_type")).await?;
    succeeded(json!({ "deleted_count": deleted }))
}

pub(super) async fn delete(State(abp): State<Arc<Abp>>, ask: Ask) -> Answered {
    let (history, owner) = ask.history(&abp).await?;
    let deleted = history.delete(&owner, ask.body.text("session_id")).await?;
    succeeded(json!({
        "deleted_sessions": deleted.sessions, "deleted_actions": deleted.actions, "deleted_events": deleted.events,
    }))
}
