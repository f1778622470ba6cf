//! The routes of the browser and its tabs.

use super::browser::{Abp, ClientRequest, PREFIX, TabHandle, tabs};
use crate::surface::http::contract::{Answered, Failure, call, pages};
use axum::{
    extract::{Path, State},
    http::StatusCode,
};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{DIRECT_NAVIGATE_MS, VNEXT_PAGES_MAX},
};
use serde_json::{Value as Json, json};
use std::sync::Arc;

const AGENT: &str = "agent";
const HUMAN: &str = "human";

pub(super) async fn status(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    abp.service.may_use(&request.client.caller, &request.client.key)?;
    let readiness = abp.service.readiness().await;
    let mut data = json!({
        "ready": readiness.ready, "state": if readiness.ready { "ready" } else { "initializing" },
        "components": {"http_server": true, "browser_window": readiness.ready, "devtools": readiness.ready},
    });
    if let Some(reason) = readiness.reasons.first() {
        data["message"] = json!(reason);
    }
    Ok(json!({"success": true, "data": data}).into())
}

/// Ends the browser of the client; the profile of its key is retained.
pub(super) async fn shutdown(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    abp.service.may_use(&request.client.caller, &request.client.key)?;
    if let Some(session) = abp.sessions.find(&request.client.caller, &request.client.key).await {
        session.end().await;
    }
    let stopped = abp.service.stop_browser(&request.client.key).await?;
    Ok(json!({"success": true, "stopped": stopped}).into())
}

pub(super) async fn input_mode(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    abp.service.may_use(&request.client.caller, &request.client.key)?;
    let mode = if abp.modes.is_human(&request.client) { HUMAN } else { AGENT };
    Ok(json!({ "input_mode": mode }).into())
}

pub(super) async fn set_input_mode(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    abp.service.may_use(&request.client.caller, &request.client.key)?;
    let mode = request.body.text("input_mode");
    let is_human = match mode.as_deref() {
        Some(AGENT) => false,
        Some(HUMAN) => true,
        _ => return Err(Failure::bad("input_mode must be agent or human")),
    };
    abp.modes.set(&request.client, is_human)?;
    hand_over(&abp, &request, is_human).await?;
    Ok(json!({ "input_mode": mode }).into())
}

/// Whether a tab's scripts are paused.
pub(super) async fn execution(State(abp): State<Arc<Abp>>, Path(id): Path<String>, request: ClientRequest) -> Answered {
    let at = request.tab(&abp, &id).await?;
    let clock = at.call("clock", json!({"op": "get"}), DIRECT_NAVIGATE_MS).await?;
    Ok(clock_json(&clock["value"]).into())
}

/// Pauses a tab's scripts between actions, or resumes them.
pub(super) async fn set_execution(
    State(abp): State<Arc<Abp>>,
    Path(id): Path<String>,
    request: ClientRequest,
) -> Answered {
    let paused = request.body.truth("paused").ok_or_else(|| Failure::bad("paused is required"))?;
    let initial_ms = request.body.number("initial_virtual_time").map(|seconds| seconds * 1_000.0);
    abp.modes
        .run_agent_action(&request.client, async {
            let at = request.tab(&abp, &id).await?;
            let clock = at.set_paused_between_actions(paused, initial_ms).await?;
            Ok(clock_json(&clock).into())
        })
        .await
}

fn clock_json(clock: &Json) -> Json {
    json!({"enabled": clock["enabled"], "paused": clock["paused"], "virtual_time_base_ms": clock["baseMs"]})
}

/// Hands the tabs over: resumes those that are paused between actions, and cancels the calls that dialogs hold up, when
/// a person takes control; pauses the tabs again afterwards.
async fn hand_over(abp: &Abp, request: &ClientRequest, is_human: bool) -> Result<(), Failure> {
    let Some(session) = abp.sessions.find(&request.client.caller, &request.client.key).await else { return Ok(()) };
    for page in tabs(&session).await? {
        let at = TabHandle { session: Arc::clone(&session), page };
        if is_human {
            at.cancel_held_up();
        }
        if is_human || at.is_paused() {
            // An agent's change of the pause may still be under way.
            let _lock = at.session.state.lock_tab(&at.page.id).await;
            if at.is_paused() {
                at.set_paused(!is_human, None).await?;
            }
        }
    }
    Ok(())
}

/// The contract's description of the history's files. Paths on the host are not disclosed: clients may be on other
/// machines.
pub(super) async fn session_data(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    abp.service.may_use(&request.client.caller, &request.client.key)?;
    let data = json!({
        "session_dir": null, "database_path": null, "screenshots_dir": null, "screenshots_enabled": abp.keeps_history,
    });
    Ok(json!({"success": true, "data": data}).into())
}

pub(super) async fn list(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    let session = request.session(&abp).await?;
    let pages = tabs(&session).await?;
    let active = session.state.known().active.clone();
    let has_active = pages.iter().any(|page| Some(&page.id) == active.as_ref());
    let tabs = pages.into_iter().enumerate().map(|(number, page)| {
        let is_active = if has_active { Some(&page.id) == active.as_ref() } else { number == 0 };
        json!({"id": page.id, "url": page.url, "title": page.title, "active": is_active})
    });
    Ok(tabs.collect::<Json>().into())
}

pub(super) async fn show(State(abp): State<Arc<Abp>>, Path(id): Path<String>, request: ClientRequest) -> Answered {
    let at = request.tab(&abp, &id).await?;
    let has_dialog = at.has_dialog();
    let state = json!({"function": "document.readyState", "isFunction": false});
    let state = if has_dialog {
        Json::Null
    } else {
        at.with_scripts_running(at.call("evaluate", state, DIRECT_NAVIGATE_MS)).await?["value"].take()
    };
    let loading = state != "complete";
    Ok(json!({"id": id, "url": at.page.url, "title": at.page.title, "loading": loading}).into())
}

pub(super) async fn open(
    State(abp): State<Arc<Abp>>,
    request: ClientRequest,
) -> Result<(StatusCode, crate::surface::http::contract::Success), Failure> {
    let session = request.session(&abp).await?;
    if pages(&session).await?.len() >= VNEXT_PAGES_MAX {
        let message = format!("the browser has {VNEXT_PAGES_MAX} tabs open");
        return Err(ErrorReport::new(ErrorCode::CapacityExceeded, message).with_hint("Close some of them.").into());
    }
    let url = request.body.text("url").filter(|url| url != "about:blank");
    let opened = call(&session, "open", json!({ "url": url }), DIRECT_NAVIGATE_MS).await?;
    let id = opened["page"].as_str().unwrap_or_default().to_owned();
    if request.body.truth("active").unwrap_or(true) {
        session.state.known().active = Some(id.clone());
    }
    Ok((StatusCode::CREATED, json!({"id": id, "url": opened["url"]}).into()))
}

pub(super) async fn close(State(abp): State<Arc<Abp>>, Path(id): Path<String>, request: ClientRequest) -> Answered {
    let at = request.tab(&abp, &id).await?;
    at.call("closePage", json!({}), DIRECT_NAVIGATE_MS).await?;
    at.session.state.known().tabs.remove(&id);
    Ok(json!({}).into())
}

pub(super) async fn activate(State(abp): State<Arc<Abp>>, Path(id): Path<String>, request: ClientRequest) -> Answered {
    let at = request.tab(&abp, &id).await?;
    at.call("bringToFront", json!({}), DIRECT_NAVIGATE_MS).await?;
    let index = pages(&at.session).await?.iter().position(|page| page.id == id);
    at.session.state.known().active = Some(id.clone());
    Ok(json!({"status": "activated", "tab_id": id, "index": index}).into())
}

/// The answer of routes that this host does not implement.
pub(super) async fn planned(method: axum::http::Method, uri: axum::http::Uri) -> Failure {
    let message = format!("{method} {PREFIX}{} is not implemented by this host", uri.path());
    Failure::new(StatusCode::NOT_IMPLEMENTED, &message)
}
