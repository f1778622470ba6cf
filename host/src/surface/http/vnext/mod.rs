//! The HTTP contract "browser control vNext", translated into the verbs of the namespace `browser`.
//!
//! `browser` holds the state of a client's browser, `ask` parses requests, `act` has the eleven kinds of actions,
//! `page` reads from pages, `hooks` arms answers to dialogs and file choosers. A client uses the browser of a session
//! key through an execution without a script, so that lease, policy, audit and bounds apply as to scripts. Defaults,
//! clamps and statuses are those of the contract.

mod act;
mod browser;
mod hooks;
mod page;
mod request;

pub(super) use browser::{Options, Vnext};

use super::contract::{Answered, Failure, call, pages};
use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{delete, get, post},
};
use browser::{chosen, tab_json};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{DIRECT_NAVIGATE_MS, VNEXT_PAGES_MAX},
};
use request::ClientRequest;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// The routes.
pub(super) fn router(vnext: &Arc<Vnext>) -> Router {
    Router::new()
        .route("/", get(status))
        .route("/start", post(start))
        .route("/stop", post(stop))
        .route("/tabs", get(tabs))
        .route("/tabs/open", post(open))
        .route("/tabs/focus", post(focus))
        .route("/tabs/{target}", delete(close))
        .route("/navigate", post(navigate))
        .route("/act", post(act::act))
        .route("/screenshot", post(page::screenshot))
        .route("/snapshot", get(page::snapshot))
        .route("/console", get(page::console))
        .route("/pdf", post(page::pdf))
        .route("/hooks/file-chooser", post(hooks::file_chooser))
        .route("/hooks/dialog", post(hooks::dialog))
        .with_state(Arc::clone(vnext))
        .fallback(async || Failure::new(StatusCode::NOT_FOUND, "there is nothing at this path"))
        .method_not_allowed_fallback(async || {
            Failure::new(StatusCode::METHOD_NOT_ALLOWED, "this path is not for this method")
        })
}

async fn status(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    vnext.service.may_use(&request.caller, &request.key)?;
    let running = vnext.service.has_browser(&request.key).await?;
    let in_use = vnext.sessions.find(&request.caller, &request.key).await.is_some();
    Ok(json!({"enabled": true, "running": running, "session": request.key, "inUse": in_use}).into())
}

async fn start(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    pages(&*request.session(&vnext).await?).await?;
    Ok(json!({"ok": true, "session": request.key}).into())
}

async fn stop(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    vnext.service.may_use(&request.caller, &request.key)?;
    if let Some(session) = vnext.sessions.find(&request.caller, &request.key).await {
        session.end().await;
    }
    Ok(json!({"ok": true, "stopped": vnext.service.stop_browser(&request.key).await?}).into())
}

async fn tabs(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    let Some(session) = request.running(&vnext).await? else {
        return Ok(json!({"running": false, "tabs": []}).into());
    };
    let tabs: Vec<Json> = pages(&session).await?.into_iter().map(tab_json).collect();
    Ok(json!({"running": true, "tabs": tabs}).into())
}

async fn open(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    let url = request.body.text("url").ok_or_else(|| Failure::bad("url is required"))?;
    let session = request.session(&vnext).await?;
    if pages(&session).await?.len() >= VNEXT_PAGES_MAX {
        let message = format!("the browser has {VNEXT_PAGES_MAX} tabs open");
        return Err(ErrorReport::new(ErrorCode::CapacityExceeded, message).with_hint("Close some of them.").into());
    }
    let opened = call(&session, "open", json!({"url": url}), DIRECT_NAVIGATE_MS).await?;
    let page = opened["page"].as_str().unwrap_or_default().to_owned();
    session.state.set_last_page(&page);
    let title = pages(&session).await?.into_iter().find(|of| of.id == page).map(|of| of.title);
    Ok(json!({"targetId": page, "title": title, "url": opened["url"], "type": "page"}).into())
}

async fn focus(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    let target = request.body.text("targetId").ok_or_else(|| Failure::bad("targetId is required"))?;
    let session = request.running(&vnext).await?.ok_or_else(not_running)?;
    let page = chosen(pages(&session).await?, &target)?;
    call(&session, "bringToFront", json!({"page": page.id}), DIRECT_NAVIGATE_MS).await?;
    session.state.set_last_page(&page.id);
    Ok(json!({"ok": true, "targetId": page.id}).into())
}

async fn close(State(vnext): State<Arc<Vnext>>, Path(target): Path<String>, request: ClientRequest) -> Answered {
    let session = request.running(&vnext).await?.ok_or_else(not_running)?;
    let page = chosen(pages(&session).await?, &target)?;
    call(&session, "closePage", json!({"page": page.id}), DIRECT_NAVIGATE_MS).await?;
    Ok(json!({"ok": true, "targetId": page.id}).into())
}

async fn navigate(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    let url = request.body.text("url").ok_or_else(|| Failure::bad("url is required"))?;
    let at = request.page(&vnext).await?;
    let answer = at.call_answered("goto", json!({"url": url}), DIRECT_NAVIGATE_MS).await?;
    Ok(json!({"ok": true, "targetId": at.page, "url": answer["url"]}).into())
}

fn not_running() -> Failure {
    Failure::new(StatusCode::CONFLICT, "browser not running")
}
