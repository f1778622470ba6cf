//! The routes of actions on a tab: navigation, mouse, keyboard, scripts, screenshots, text, dialogs.

use super::{
    browser::{Abp, ClientRequest, TabHandle, not_found},
    envelope::{ActionTrace, Envelope, Kind, as_bad_request, markup, picture},
    events::{Activity, whole},
    network::{action_id, calls_of, keep},
    record::as_action,
};
use crate::surface::http::contract::{Answered, Failure, Fields};
use axum::{
    extract::{Path, State},
    http::header::CONTENT_TYPE,
    response::{IntoResponse as _, Response},
};
use codemode_spec::{
    ErrorCode, Value,
    limits::{ABP_PAUSE_MS_MAX, DIRECT_NAVIGATE_MS},
};
use serde_json::{Value as Json, json};
use std::{sync::Arc, time::Duration};

/// The delay between the keys of a typed text, in milliseconds.
const KEY_MS: u64 = 2;
/// Expressions that tell whether the tab's history has an entry to go back or forward to.
const CAN_GO: [&str; 2] = ["navigation.canGoBack", "navigation.canGoForward"];

type OfTab = (State<Arc<Abp>>, Path<String>, ClientRequest);

const fn kind(name: &'static str) -> Kind {
    Kind { name, navigation: "", scroll: "script" }
}

/// The kind of a keyboard action: keys may submit forms, and scroll.
const fn by_keys(name: &'static str) -> Kind {
    Kind { name, navigation: "form_submit", scroll: "keyboard" }
}

/// Executes an action in its envelope and records it in the history.
async fn act(
    (State(abp), Path(id), request): OfTab,
    kind: Kind,
    action: impl AsyncFnOnce(&TabHandle, &Fields) -> Result<Json, Failure>,
) -> Answered {
    let envelope = Envelope::read(&request.body)?;
    // The contract allows the fields of an action next to those of the envelope, or within `action_params`.
    let params = request.body.0.get("action_params").and_then(Json::as_object).cloned().map(Fields);
    let params = params.as_ref().unwrap_or(&request.body);
    let (mut trace, mut tab) = (ActionTrace::default(), None);
    let outcome = abp.modes.run_agent_action(&request.client, async {
        let at = tab.insert(request.tab(&abp, &id).await?);
        at.with_tab_lock(envelope.around(at, &kind, &mut trace, async |at| action(at, params).await)).await
    });
    let outcome = outcome.await;
    let Some(at) = tab else { return outcome.map(Into::into) };
    let noted = as_action(kind.name, &id, params, &trace, &outcome);
    let number = abp.note_action(&request.client, &at.session, noted).await;
    let mut reply = outcome?;
    reply["action_id"] = json!(number.map(action_id));
    if let Some(capture) = envelope.capture.as_ref().filter(|capture| !capture.tag.is_empty()) {
        let (requests, _) = trace.activity.requests(capture);
        let calls = calls_of(&at, &capture.tag, number, Some(&requests)).await?;
        keep(&abp, &request.client, &at, calls).await;
    }
    Ok(reply.into())
}

pub(super) async fn navigate(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    act((abp, id, request), kind("navigate"), async |at, params| {
        let url = params.text("url").ok_or_else(|| Failure::bad("url is required"))?;
        let argument = json!({"url": url, "referer": params.text("referrer"), "waitUntil": "commit"});
        at.act("goto", argument, DIRECT_NAVIGATE_MS).await?;
        Ok(json!({"status": "navigated", "url": null}))
    })
    .await
}

pub(super) async fn back(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    history(abp, id, request, -1).await
}

pub(super) async fn forward(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    history(abp, id, request, 1).await
}

async fn history(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest, delta: i32) -> Answered {
    let name = if delta > 0 { "forward" } else { "back" };
    act((abp, id, request), Kind { navigation: "back_forward", ..kind(name) }, async |at, _| {
        let can_go = CAN_GO[usize::from(delta > 0)];
        if evaluated(at, can_go).await?["value"] != true {
            let direction = if delta > 0 { "forward" } else { "back" };
            return Err(Failure::bad(&format!("there is no {direction} history")));
        }
        at.act("history", json!({"delta": delta, "waitUntil": "commit"}), DIRECT_NAVIGATE_MS).await?;
        Ok(json!({"status": "navigated", "url": null}))
    })
    .await
}

pub(super) async fn reload(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    act((abp, id, request), Kind { navigation: "reload", ..kind("reload") }, async |at, _| {
        at.act("history", json!({"delta": 0, "waitUntil": "commit"}), DIRECT_NAVIGATE_MS).await?;
        Ok(json!({"status": "reloaded", "url": null}))
    })
    .await
}

pub(super) async fn stop(State(abp): State<Arc<Abp>>, Path(id): Path<String>, request: ClientRequest) -> Answered {
    let at = request.tab(&abp, &id).await?;
    at.with_scripts_running(evaluated(&at, "window.stop()")).await?;
    Ok(json!({"status": "stopped", "tab_id": id}).into())
}

pub(super) async fn click(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    act((abp, id, request), kind("click"), async |at, params| {
        let (x, y) = point(params)?;
        let button = params.text("button").unwrap_or_else(|| "left".to_owned());
        if !["left", "right", "middle"].contains(&button.as_str()) {
            return Err(Failure::bad("button must be left, right or middle"));
        }
        let count = params.number("click_count").unwrap_or(1.0).clamp(1.0, 3.0) as u32;
        let click = json!({"op": "click", "x": x, "y": y, "button": button, "clickCount": count, "modifiers": modifiers(params)?});
        at.session.state.known().tab(&at.page.id).cursor = Some((x, y));
        at.input("mouse", click).await?;
        Ok(json!({"status": "clicked", "x": whole(x), "y": whole(y)}))
    })
    .await
}

async fn move_mouse(at: &TabHandle, x: f64, y: f64) -> Result<(), Failure> {
    at.session.state.known().tab(&at.page.id).cursor = Some((x, y));
    at.input("mouse", json!({"op": "move", "x": x, "y": y})).await
}

pub(super) async fn mouse_move(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    act((abp, id, request), kind("mouse_move"), async |at, params| {
        let (x, y) = point(params)?;
        move_mouse(at, x, y).await?;
        Ok(json!({"status": "moved", "x": whole(x), "y": whole(y)}))
    })
    .await
}

pub(super) async fn scroll(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    act((abp, id, request), Kind { scroll: "wheel", ..kind("scroll") }, async |at, params| {
        let (x, y) = point(params)?;
        let delta = |name: &str| params.number(name).unwrap_or(0.0);
        let (dx, dy) = (delta("delta_x"), delta("delta_y"));
        if dx == 0.0 && dy == 0.0 {
            return Err(Failure::bad("delta_x or delta_y must be non-zero"));
        }
        move_mouse(at, x, y).await?;
        at.input("mouse", json!({"op": "wheel", "dx": dx, "dy": dy})).await?;
        Ok(json!({"status": "scrolled", "delta_x": whole(dx), "delta_y": whole(dy)}))
    })
    .await
}

pub(super) async fn type_text(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    act((abp, id, request), by_keys("type"), async |at, params| {
        let Some(Json::String(text)) = params.0.get("text") else { return Err(Failure::bad("text is required")) };
        let time_ms = DIRECT_NAVIGATE_MS.saturating_add(4 * KEY_MS * text.chars().count() as u64);
        at.act("keyboard", json!({"op": "type", "text": text, "delay": KEY_MS}), time_ms).await?;
        Ok(json!({"status": "typed", "text": text}))
    })
    .await
}

pub(super) async fn press(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    act((abp, id, request), by_keys("keyboard_press"), async |at, params| {
        let key = key(params)?;
        let keys: Vec<&str> = modifiers(params)?.into_iter().chain([key.as_str()]).collect();
        at.input("keyboard", json!({"op": "press", "key": keys.join("+")})).await?;
        Ok(json!({"status": "pressed", "key": key}))
    })
    .await
}

pub(super) async fn key_down(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    act((abp, id, request), by_keys("keyboard_down"), async |at, params| {
        let key = key(params)?;
        at.input("keyboard", json!({"op": "down", "key": key, "modifiers": modifiers(params)?})).await?;
        Ok(json!({"status": "down", "key": key}))
    })
    .await
}

pub(super) async fn key_up(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    act((abp, id, request), by_keys("keyboard_up"), async |at, params| {
        let key = key(params)?;
        at.input("keyboard", json!({"op": "up", "key": key})).await?;
        Ok(json!({"status": "up", "key": key}))
    })
    .await
}

pub(super) async fn execute(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    act((abp, id, request), kind("execute"), async |at, params| {
        let script = params.text("script").ok_or_else(|| Failure::bad("script is required"))?;
        evaluated(at, &script).await.map_err(as_bad_request)
    })
    .await
}

pub(super) async fn wait(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    act((abp, id, request), kind("wait"), async |_, params| {
        let ms = params.number("ms").filter(|ms| (0.0..=ABP_PAUSE_MS_MAX as f64).contains(ms));
        let ms = ms.ok_or_else(|| Failure::bad(&format!("ms is required, from 0 to {ABP_PAUSE_MS_MAX}")))? as u64;
        tokio::time::sleep(Duration::from_millis(ms)).await;
        Ok(json!({"status": "waited", "ms": ms}))
    })
    .await
}

pub(super) async fn screenshot(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    act((abp, id, request), kind("screenshot"), async |_, _| Ok(json!({"status": "captured"}))).await
}

/// A screenshot as an image file, without an envelope.
pub(super) async fn screenshot_file(
    State(abp): State<Arc<Abp>>,
    Path(id): Path<String>,
    request: ClientRequest,
) -> Result<Response, Failure> {
    let disabled = request.body.text("disable_markup").unwrap_or_default();
    let disabled: Vec<String> =
        disabled.split(',').filter(|tag| !tag.is_empty()).map(|tag| tag.trim().to_owned()).collect();
    let markup = markup(&disabled)?;
    let at = request.tab(&abp, &id).await?;
    let bytes = picture(&at, &markup, request.body.truth("cursor").unwrap_or(true)).await?;
    Ok(([(CONTENT_TYPE, "image/webp")], bytes).into_response())
}

pub(super) async fn text(State(abp): State<Arc<Abp>>, Path(id): Path<String>, request: ClientRequest) -> Answered {
    let at = request.tab(&abp, &id).await?;
    let function = "(selector) => { const found = selector ? document.querySelector(selector) : document.body; \
                    return found === null ? null : found.innerText; }";
    let argument = json!({"function": function, "isFunction": true, "arg": request.body.text("selector")});
    let answer =
        at.with_scripts_running(at.call("evaluate", argument, DIRECT_NAVIGATE_MS)).await.map_err(as_bad_request)?;
    Ok(json!({"text": answer["value"]}).into())
}

pub(super) async fn dialog(State(abp): State<Arc<Abp>>, Path(id): Path<String>, request: ClientRequest) -> Answered {
    let at = request.tab(&abp, &id).await?;
    at.watch().await?;
    Activity::default().read(&at, Duration::ZERO).await?;
    let dialog = at.dialog();
    let mut reply = dialog.map_or_else(|| json!({}), Arc::unwrap_or_clone);
    reply["present"] = json!(reply.get("dialog_type").is_some());
    Ok(reply.into())
}

pub(super) async fn accept(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    answer(abp, id, request, true).await
}

pub(super) async fn dismiss(abp: State<Arc<Abp>>, id: Path<String>, request: ClientRequest) -> Answered {
    answer(abp, id, request, false).await
}

async fn answer(State(abp): State<Arc<Abp>>, Path(id): Path<String>, request: ClientRequest, accept: bool) -> Answered {
    abp.modes.run_agent_action(&request.client, answered(&abp, &id, &request, accept)).await
}

async fn answered(abp: &Abp, id: &str, request: &ClientRequest, accept: bool) -> Answered {
    let at = request.tab(abp, id).await?;
    at.watch().await?;
    Activity::default().read(&at, Duration::ZERO).await?;
    let dialog = at.dialog();
    let dialog = dialog.ok_or_else(|| not_found("DIALOG_NOT_PRESENT", format!("Tab {id} shows no dialog")))?;
    let argument = json!({"accept": accept, "text": request.body.text("prompt_text")});
    let done = at.with_scripts_running(at.call("dialog", argument, DIRECT_NAVIGATE_MS)).await;
    // A dialog that could not be answered stays open, unless the page shows none any more.
    if done.as_ref().err().is_none_or(|failure| failure.error.code == ErrorCode::InvalidArgument) {
        at.forget_dialog(&dialog);
    }
    done?;
    Ok(json!({"success": true}).into())
}

/// Evaluates an expression in the page; returns its value and type.
async fn evaluated(at: &TabHandle, expression: &str) -> Result<Json, Failure> {
    let argument = json!({"function": expression, "isFunction": false});
    let value = at.act("evaluate", argument, DIRECT_NAVIGATE_MS).await?.unwrap_or(Value::Undefined);
    let kind = match &value {
        Value::Undefined => "undefined",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::BigInt(_) => "bigint",
        Value::String(_) => "string",
        _ => "object",
    };
    Ok(json!({"value": value.to_plain_json(), "type": kind}))
}

fn point(params: &Fields) -> Result<(f64, f64), Failure> {
    match (params.number("x"), params.number("y")) {
        (Some(x), Some(y)) => Ok((x, y)),
        _ => Err(Failure::bad("x and y are required")),
    }
}

fn key(params: &Fields) -> Result<String, Failure> {
    // Not trimmed: a space is a key too.
    match params.0.get("key") {
        Some(Json::String(key)) if !key.is_empty() => Ok(key.clone()),
        _ => Err(Failure::bad("key is required")),
    }
}

/// The modifiers by the verbs' names, which do not distinguish left and right.
fn modifiers(params: &Fields) -> Result<Vec<&'static str>, Failure> {
    let known = ["Shift", "Control", "Alt", "Meta"];
    let named = |name: &String| {
        let plain = name.strip_suffix("Left").or_else(|| name.strip_suffix("Right")).unwrap_or(name);
        known.into_iter().find(|known| *known == plain)
    };
    let found: Option<Vec<_>> = params.texts("modifiers").iter().map(named).collect();
    found.ok_or_else(|| Failure::bad("modifiers must be Shift, Control, Alt or Meta"))
}
