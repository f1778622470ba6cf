//! The routes to read and delete the history of a client.

use super::{
    browser::{Abp, ClientRequest, not_found},
    network::action_id,
};
use crate::{
    history::{ActionRow, EventRow, Part, SessionRow, Which},
    surface::http::contract::{Answered, Failure, Fields},
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

type OfOne = (State<Arc<Abp>>, Path<String>, ClientRequest);

/// The number of items in an answer: default and maximum.
struct Sizes(usize, usize);

const SESSIONS: Sizes = Sizes(20, HISTORY_SESSIONS_MAX);
const ACTIONS: Sizes = Sizes(50, 500);
const EVENTS: Sizes = Sizes(100, 1_000);

fn succeeded(data: Json) -> Answered {
    Ok(json!({"success": true, "data": data}).into())
}

/// The id of the execution that serves the client's requests, if one is running.
async fn current(abp: &Abp, request: &ClientRequest) -> Option<String> {
    let session = abp.sessions.find(&request.client.caller, &request.client.key).await?;
    Some(session.id().to_owned())
}

fn session_json(session: &SessionRow, current: Option<&str>) -> Json {
    let is_active = current == Some(&session.id);
    let end = (!is_active).then_some(session.last_ms);
    json!({"id": session.id, "start_time": session.started_ms, "end_time": end, "active": is_active})
}

fn action_json(action: &ActionRow) -> Json {
    let picture = |has: bool, name: &str| {
        has.then(|| format!("/history/actions/{}/screenshot?type={name}", action_id(action.id)))
    };
    let [before, after] = action.has_pictures;
    let mut json = json!({
        "id": action_id(action.id), "session_id": action.session, "tab_id": action.tab, "action_type": action.kind,
        "timestamp": action.at_ms, "duration_ms": action.duration_ms, "success": action.error.is_none(),
        "params": action.params, "result": action.result,
        "screenshot_before_path": picture(before, "before"), "screenshot_after_path": picture(after, "after"),
    });
    if let Some((code, words)) = &action.error {
        json["error_code"] = json!(code);
        json["error_message"] = json!(words);
    }
    json
}

fn event_json(EventRow { id, session, event }: &EventRow) -> Json {
    json!({
        "id": event_id(*id), "session_id": session, "tab_id": event.tab, "event_type": event.kind,
        "timestamp": event.at_ms, "data": event.data,
    })
}

fn event_id(number: i64) -> String {
    format!("evt_{number}")
}

/// The number in an id, which may have its prefix or not.
fn number(id: &str, prefix: &str) -> Option<i64> {
    id.strip_prefix(prefix).unwrap_or(id).parse().ok()
}

/// The requested page of a list: its newest items, or those on one side of a cursor.
fn part(fields: &Fields, sizes: &Sizes, prefix: &str) -> Result<Part, Failure> {
    let limit = fields.number("limit").map_or(sizes.0, |limit| (limit.max(1.0) as usize).min(sizes.1));
    let newer = match fields.text("direction").as_deref() {
        None | Some("forward") => true,
        Some("backward") => false,
        Some(_) => return Err(Failure::bad("direction must be forward or backward")),
    };
    let from = match fields.text("cursor") {
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

fn which(fields: &Fields, kind: &str) -> Which {
    let ms = |name: &str| fields.number(name).map(|ms| ms as i64);
    Which {
        id: None,
        session: fields.text("session_id"),
        tab: fields.text("tab_id"),
        kind: fields.text(kind),
        success: fields.truth("success"),
        from_ms: ms("start_time"),
        // `before` is exclusive, `end_time` inclusive.
        to_ms: ms("before").map(|ms| ms - 1).into_iter().chain(ms("end_time")).min(),
    }
}

/// A page of a list, with cursors for both directions. `rows` has one row more than requested if there are more.
fn listed<T>(
    name: &str,
    mut rows: Vec<T>,
    part: Part,
    number: impl Fn(&T) -> i64,
    to_json: impl Fn(&T) -> Json,
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
    data[name] = rows.iter().map(to_json).collect();
    succeeded(data)
}

/// Requests one item more, which shows whether there are more.
const fn with_next(part: Part) -> Part {
    Part { limit: part.limit + 1, ..part }
}

const ONE: Part = Part { from: None, limit: 1 };

pub(super) async fn sessions(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    let (history, owner) = request.history(&abp).await?;
    let part = part(&request.body, &SESSIONS, "")?;
    let current = current(&abp, &request).await;
    // No session has an empty id.
    let active = request.body.truth("active").unwrap_or(false).then(|| current.clone().unwrap_or_default());
    let rows = history.sessions(&owner, active, with_next(part)).await?;
    listed("sessions", rows, part, |row| row.number, |row| session_json(row, current.as_deref()))
}

pub(super) async fn current_session(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    let (history, owner) = request.history(&abp).await?;
    let none = || not_found("SESSION_NOT_FOUND", "no session goes on, or nothing is noted of it yet".to_owned());
    let id = current(&abp, &request).await.ok_or_else(none)?;
    let row = history.sessions(&owner, Some(id.clone()), ONE).await?.pop();
    succeeded(session_json(&row.ok_or_else(none)?, Some(&id)))
}

async fn found_session(abp: &Abp, request: &ClientRequest, id: &str) -> Result<Json, Failure> {
    let (history, owner) = request.history(abp).await?;
    let row = history.sessions(&owner, Some(id.to_owned()), ONE).await?.pop();
    let row = row.ok_or_else(|| not_found("SESSION_NOT_FOUND", format!("Session {id} not found")))?;
    Ok(session_json(&row, current(abp, request).await.as_deref()))
}

pub(super) async fn session((State(abp), Path(id), request): OfOne) -> Answered {
    succeeded(found_session(&abp, &request, &id).await?)
}

/// Exports a session with its actions and events, in chunks.
pub(super) async fn export((State(abp), Path(id), request): OfOne) -> Answered {
    let session = found_session(&abp, &request, &id).await?;
    let (history, owner) = request.history(&abp).await?;
    let size = request
        .body
        .number("chunk_size")
        .map_or(HISTORY_ACTIONS_MAX, |size| (size.max(1.0) as usize).min(HISTORY_ACTIONS_MAX));
    let from = |name: &str, prefix: &str| {
        let cursor = request.body.text(name).map_or(Some(0), |cursor| number(&cursor, prefix));
        cursor.ok_or_else(|| Failure::bad(&format!("{name} is none of this session")).with_code("INVALID_CURSOR"))
    };
    let part = |from: i64| Part { from: Some((from, true)), limit: size + 1 };
    let which = Which { session: Some(id), ..Which::default() };
    let mut actions = history.actions(&owner, which.clone(), part(from("actions_cursor", "act_")?)).await?;
    let mut events = history.events(&owner, which, part(from("events_cursor", "evt_")?)).await?;
    let (more_actions, more_events) = (actions.len() > size, events.len() > size);
    actions.truncate(size);
    events.truncate(size);
    let mut json: Vec<Json> = actions.iter().map(action_json).collect();
    if request.body.truth("include_screenshots").unwrap_or(false) {
        let mut room = ABP_BODIES_BYTES_MAX;
        for (action, json) in actions.iter().zip(&mut json) {
            for (after, name) in [(false, "screenshot_before"), (true, "screenshot_after")] {
                let Some(picture) = history.picture(&owner, action.id, after).await? else { continue };
                if picture.len() <= room {
                    room -= picture.len();
                    json[name] = json!(BASE64_STANDARD.encode(picture));
                }
            }
        }
    }
    let next = |more: bool, last: Option<i64>| last.filter(|_| more).map(|last| last.to_string());
    succeeded(json!({
        "session": session, "actions": json, "events": events.iter().map(event_json).collect::<Vec<_>>(),
        "next_actions_cursor": next(more_actions, actions.last().map(|action| action.id)),
        "next_events_cursor": next(more_events, events.last().map(|event| event.id)),
        "export_complete": !more_actions && !more_events,
    }))
}

pub(super) async fn actions(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    let (history, owner) = request.history(&abp).await?;
    let part = part(&request.body, &ACTIONS, "act_")?;
    let rows = history.actions(&owner, which(&request.body, "action_type"), with_next(part)).await?;
    listed("actions", rows, part, |row| row.id, action_json)
}

pub(super) async fn action((State(abp), Path(id), request): OfOne) -> Answered {
    let (history, owner) = request.history(&abp).await?;
    let none = || not_found("ACTION_NOT_FOUND", format!("Action {id} not found"));
    let which = Which { id: Some(number(&id, "act_").ok_or_else(none)?), ..Which::default() };
    let row = history.actions(&owner, which, ONE).await?.pop();
    succeeded(action_json(&row.ok_or_else(none)?))
}

pub(super) async fn screenshot((State(abp), Path(id), request): OfOne) -> Result<Response, Failure> {
    let (history, owner) = request.history(&abp).await?;
    let after = match request.body.text("type").as_deref() {
        None | Some("after") => true,
        Some("before") => false,
        Some(_) => return Err(Failure::bad("type must be before or after")),
    };
    let none = || not_found("SCREENSHOT_NOT_FOUND", format!("Action {id} has no such screenshot"));
    let number = number(&id, "act_").ok_or_else(none)?;
    let picture = history.picture(&owner, number, after).await?;
    Ok(([(CONTENT_TYPE, "image/webp")], picture.ok_or_else(none)?).into_response())
}

pub(super) async fn delete_actions(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    let (history, owner) = request.history(&abp).await?;
    let deleted = history.delete_actions(&owner, which(&request.body, "action_type")).await?;
    succeeded(json!({ "deleted_count": deleted }))
}

pub(super) async fn events(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    let (history, owner) = request.history(&abp).await?;
    let part = part(&request.body, &EVENTS, "evt_")?;
    let rows = history.events(&owner, which(&request.body, "event_type"), with_next(part)).await?;
    listed("events", rows, part, |row| row.id, event_json)
}

pub(super) async fn event((State(abp), Path(id), request): OfOne) -> Answered {
    let (history, owner) = request.history(&abp).await?;
    let none = || not_found("EVENT_NOT_FOUND", format!("Event {id} not found"));
    let which = Which { id: Some(number(&id, "evt_").ok_or_else(none)?), ..Which::default() };
    let row = history.events(&owner, which, ONE).await?.pop();
    succeeded(event_json(&row.ok_or_else(none)?))
}

pub(super) async fn delete_events(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    let (history, owner) = request.history(&abp).await?;
    let deleted = history.delete_events(&owner, which(&request.body, "event_type")).await?;
    succeeded(json!({ "deleted_count": deleted }))
}

pub(super) async fn delete(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    let (history, owner) = request.history(&abp).await?;
    let deleted = history.delete(&owner, request.body.text("session_id")).await?;
    succeeded(json!({
        "deleted_sessions": deleted.sessions, "deleted_actions": deleted.actions, "deleted_events": deleted.events,
    }))
}
