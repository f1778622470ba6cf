//! Browser control vNext: the second of the HTTP contracts, as a translation into the verbs of `browser`.
//!
//! `browser` is what a client works on, `ask` a request, `act` has the eleven kinds of actions, `page` what is read of a page, `hooks`
//! what is armed. A client's browser is that of a session key, used by an execution without a script: lease, policy, audit and
//! bounds are those of scripts. Defaults, clamps and statuses are those of the contract.

mod act;
mod ask;
mod browser;
mod hooks;
mod page;

pub(super) use browser::{Options, Vnext};

use super::face::{Answered, Failure, call, pages};
use ask::Ask;
use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{delete, get, post},
};
use browser::{chosen, told};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{DIRECT_NAVIGATE_MS, VNEXT_PAGES_MAX},
};
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

async fn status(State(vnext): State<Arc<Vnext>>, ask: Ask) -> Answered {
    vnext.service.may_use(&ask.caller, &ask.key)?;
    let running = vnext.service.has_browser(&ask.key).await?;
    let in_use = vnext.sessions.find(&ask.caller, &ask.key).await.is_some();
    Ok(json!({"enabled": true, "running": running, "session": ask.key, "inUse": in_use}).into())
}

async fn start(State(vnext): State<Arc<Vnext>>, ask: Ask) -> Answered {
    pages(&*ask.session(&vnext).await?).await?;
    Ok(json!({"ok": true, "session": ask.key}).into())
}

async fn stop(State(vnext): State<Arc<Vnext>>, ask: Ask) -> Answered {
    vnext.service.may_use(&ask.caller, &ask.key)?;
    if let Some(session) = vnext.sessions.find(&ask.caller, &ask.key).await {
        session.end().await;
    }
    Ok(json!({"ok": true, "stopped": vnext.service.stop_browser(&ask.key).await?}).into())
}

async fn tabs(State(vnext): State<Arc<Vnext>>, ask: Ask) -> Answered {
    let Some(session) = ask.running(&vnext).await? else {
        return Ok(json!({"running": false, "tabs": []}).into());
    };
    let tabs: Vec<Json> = pages(&session).await?.into_iter().map(told).collect();
    Ok(json!({"running": true, "tabs": tabs}).into())
}

async fn open(State(vnext): State<Arc<Vnext>>, ask: Ask) -> Answered {
    let url = ask.body.text("url").ok_or_else(|| Failure::bad("url is required"))?;
    let session = ask.session(&vnext).await?;
    if pages(&session).await?.len() >= VNEXT_PAGES_MAX {
        let message = format!("the browser has {VNEXT_PAGES_MAX} tabs open");
        return Err(ErrorReport::new(ErrorCode::CapacityExceeded, message).with_hint("Close some of them.").into());
    }
    let opened = call(&session, "open", json!({"url": url}), DIRECT_NAVIGATE_MS).await?;
    let page = opened["page"].as_str().unwrap_or_default().to_owned();
    session.state.mean(&page);
    let title = pages(&session).await?.into_iter().find(|of| of.id == page).map(|of| of.title);
    Ok(json!({"targetId": page, "title": title, "url": opened["url"], "type": "page"}).into())
}

async fn focus(State(vnext): State<Arc<Vnext>>, ask: Ask) -> Answered {
    let target = ask.body.text("targetId").ok_or_else(|| Failure::bad("targetId is required"))?;
    let session = ask.running(&vnext).await?.ok_or_else(not_running)?;
    let page = chosen(pages(&session).await?, &target)?;
    call(&session, "bringToFront", json!({"page": page.id}), DIRECT_NAVIGATE_MS).await?;
    session.state.mean(&page.id);
    Ok(json!({"ok": true, "targetId": page.id}).into())
}

async fn close(State(vnext): State<Arc<Vnext>>, Path(target): Path<String>, ask: Ask) -> Answered {
    let session = ask.running(&vnext).await?.ok_or_else(not_running)?;
    let page = chosen(pages(&session).await?, &target)?;
    call(&session, "closePage", json!({"page": page.id}), DIRECT_NAVIGATE_MS).await?;
    Ok(json!({"ok": true, "targetId": page.id}).into())
}

async fn navigate(State(vnext): State<Arc<Vnext>>, ask: Ask) -> Answered {
    let url = ask.body.text("url").ok_or_else(|| Failure::bad("url is required"))?;
    let at = ask.page(&vnext).await?;
    let answer = at.call_answered("goto", json!({"url": url}), DIRECT_NAVIGATE_MS).await?;
    Ok(json!({"ok": true, "targetId": at.page, "url": answer["url"]}).into())
}

fn not_running() -> Failure {
    Failure::new(StatusCode::CONFLICT, "browser not running")
}
