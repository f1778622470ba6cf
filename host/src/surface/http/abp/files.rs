//! The routes of downloads, file choosers, `<select>` popups, and requests sent with a tab's cookies.

use super::{
    browser::{Abp, ClientRequest, ClientState, Download, Session, TabHandle, not_found, tabs},
    events::{Activity, event, mime_type, now_ms, whole},
    network::{curl_call, keep},
};
use crate::{
    service::DirectSession,
    surface::http::{
        contract::{Answered, Failure, GRACE_MS, call, call_whole, call_with_files, value_of},
        uploads::read,
    },
};
use axum::{
    extract::{Path, State},
    http::StatusCode,
};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use codemode_spec::{ErrorCode, ErrorReport, Value, limits::DIRECT_NAVIGATE_MS};
use serde_json::{Map, Value as Json, json};
use std::{sync::Arc, time::Duration};

/// Reads the pending events of all watched tabs first, so that all started downloads are listed.
async fn known_downloads(session: &Session) -> Result<Vec<Download>, Failure> {
    for page in tabs(session).await? {
        let is_watched = session.state.known().tabs.get(&page.id).is_some_and(|tab| tab.since.is_some());
        if is_watched {
            let at = TabHandle { session: Arc::clone(session), page };
            Activity::default().read(&at, Duration::ZERO).await?;
        }
    }
    Ok(session.state.known().downloads.iter().cloned().collect())
}

/// A download as JSON of the contract, with its progress.
async fn download_json(session: &DirectSession<ClientState>, download: &Download) -> Result<Json, Failure> {
    let argument = json!({"download": download.id, "op": "progress"});
    let progress = call(session, "download", argument, DIRECT_NAVIGATE_MS).await?["value"].take();
    let state = match progress["state"].as_str() {
        Some("completed") => "completed",
        Some("canceled") => "cancelled",
        _ => "in_progress",
    };
    let (received, total) = (progress["receivedBytes"].as_f64(), progress["totalBytes"].as_f64());
    let percent = match (received, total) {
        _ if state == "completed" => 100,
        (Some(received), Some(total)) if total > 0.0 => (received / total * 100.0) as u64,
        _ => 0,
    };
    Ok(json!({
        "id": download.id, "url": download.url, "filename": download.filename, "state": state,
        "bytes_received": received.map(whole), "total_bytes": total.map(whole), "percent_complete": percent, "start_time": download.start_ms,
        "mime_type": mime_type(&download.filename),
    }))
}

pub(super) async fn downloads(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    let session = request.session(&abp).await?;
    let wanted = request.body.text("state");
    if wanted
        .as_ref()
        .is_some_and(|state| !["in_progress", "completed", "cancelled", "failed"].contains(&state.as_str()))
    {
        return Err(Failure::bad("state must be in_progress, completed, cancelled or failed"));
    }
    let limit = request.body.number("limit").map_or(usize::MAX, |limit| limit.max(0.0) as usize);
    let mut list = Vec::new();
    for download in known_downloads(&session).await?.iter().rev() {
        if list.len() >= limit {
            break;
        }
        let reply = download_json(&session, download).await?;
        if wanted.as_ref().is_none_or(|state| reply["state"] == state.as_str()) {
            list.push(reply);
        }
    }
    Ok(json!({ "downloads": list }).into())
}

pub(super) async fn download(State(abp): State<Arc<Abp>>, Path(id): Path<String>, request: ClientRequest) -> Answered {
    let session = request.session(&abp).await?;
    let download = find(&session, &id).await?;
    Ok(download_json(&session, &download).await?.into())
}

pub(super) async fn cancel_download(
    State(abp): State<Arc<Abp>>,
    Path(id): Path<String>,
    request: ClientRequest,
) -> Answered {
    let session = request.session(&abp).await?;
    let download = find(&session, &id).await?;
    call(&session, "download", json!({"download": download.id, "op": "cancel"}), DIRECT_NAVIGATE_MS).await?;
    Ok(json!({"success": true, "message": "Download cancelled"}).into())
}

async fn find(session: &Session, id: &str) -> Result<Download, Failure> {
    let found = known_downloads(session).await?.into_iter().find(|download| download.id == id);
    found.ok_or_else(|| not_found("DOWNLOAD_NOT_FOUND", format!("Download {id} not found")))
}

/// Answers an open file chooser with files, or dismisses it.
pub(super) async fn file_chooser(
    State(abp): State<Arc<Abp>>,
    Path(id): Path<String>,
    request: ClientRequest,
) -> Answered {
    let cancel = request.body.truth("cancel").unwrap_or(false);
    let paths = request.body.texts("files");
    if !cancel && paths.is_empty() {
        return Err(Failure::bad("files are required, or cancel"));
    }
    let files = match (&abp.uploads, cancel) {
        (_, true) => Vec::new(),
        (Some(folder), false) => {
            let folder = folder.clone();
            let files = tokio::task::spawn_blocking(move || read(&folder, &paths)).await;
            files.map_err(|_| Failure::bad("the files could not be read"))??
        }
        (None, false) => {
            return Err(Failure::new(StatusCode::FORBIDDEN, "clients of this host may give no files to pages")
                .with_hint(
                    "The operator names the folder whose files they may give: codemode serve --uploads FOLDER.",
                ));
        }
    };
    abp.modes.run_agent_action(&request.client, choose(&abp, &id, &request, files)).await
}

async fn choose(abp: &Abp, id: &str, request: &ClientRequest, files: Vec<Value>) -> Answered {
    let session = request.session(abp).await?;
    let chooser = session.state.known().choosers.find(id);
    let message = format!("File chooser {id} not found or already closed");
    let (tab, chooser) = chooser.ok_or_else(|| not_found("FILE_CHOOSER_NOT_PRESENT", message))?;
    let cancel = files.is_empty();
    let given = call_with_files(&session, "chooser", json!({"page": tab, "chooser": chooser}), files).await;
    // Refused files leave the chooser open.
    let is_gone = |error: &ErrorReport| matches!(error.code, ErrorCode::ElementNotFound | ErrorCode::CdpTargetClosed);
    if given.as_ref().err().is_none_or(is_gone) {
        session.state.known().choosers.take(id);
    }
    given?;
    let kind = if cancel { "file_chooser_cancelled" } else { "file_selected" };
    let mut reply = json!({"id": id, "tab_id": tab, "chooser_type": "open"});
    if !cancel {
        reply["files"] = json!(request.body.texts("files"));
    }
    abp.note_event(&request.client, &session, &event(kind, reply)).await;
    Ok(if cancel { json!({"success": true, "cancelled": true}) } else { json!({"success": true}) }.into())
}

/// Chooses options in an open `<select>` popup, or closes it.
pub(super) async fn select(State(abp): State<Arc<Abp>>, Path(id): Path<String>, request: ClientRequest) -> Answered {
    let mut answer = json!({});
    match (request.body.truth("cancel"), request.body.0.get("indices")) {
        (Some(true), _) => answer["cancel"] = json!(true),
        (_, Some(indices)) if indices.as_array().is_some_and(|list| list.iter().all(Json::is_u64)) => {
            answer["indices"] = indices.clone();
        }
        _ => return Err(Failure::bad("indices are required, as [1], or cancel")),
    }
    abp.modes.run_agent_action(&request.client, answer_popup(&abp, &id, &request, answer)).await
}

async fn answer_popup(abp: &Abp, id: &str, request: &ClientRequest, mut answer: Json) -> Answered {
    let session = request.session(abp).await?;
    let gone = || not_found("ELEMENT_NOT_FOUND", format!("Select popup {id} not found or already closed"));
    let popup = session.state.known().popups.find(id);
    let (tab, popup) = popup.ok_or_else(gone)?;
    answer["popup"] = json!(popup);
    let at = request.tab(abp, &tab).await.map_err(|_| gone())?;
    at.with_scripts_running(async {
        let chosen = at.act("selectPopup", answer, DIRECT_NAVIGATE_MS).await;
        // A refused choice leaves the popup open.
        if chosen.as_ref().err().is_none_or(|failure| failure.error.code == ErrorCode::ElementNotFound) {
            session.state.known().popups.take(id);
        }
        chosen.map_err(|failure| if failure.error.code == ErrorCode::ElementNotFound { gone() } else { failure })
    })
    .await?;
    Ok(json!({"success": true}).into())
}

/// Adds events for the downloads of a tab that have completed.
pub(super) async fn add_finished_downloads(at: &TabHandle, activity: &mut Activity) -> Result<(), Failure> {
    let is_awaited = |download: &&Download| download.tab == at.page.id && !download.is_over;
    let awaited: Vec<Download> = at.session.state.known().downloads.iter().filter(is_awaited).cloned().collect();
    for download in awaited {
        let mut reply = download_json(&at.session, &download).await?;
        if reply["state"] == "in_progress" {
            continue;
        }
        let mut known = at.session.state.known();
        known.downloads.iter_mut().filter(|known| known.id == download.id).for_each(|known| known.is_over = true);
        if reply["state"] == "completed" {
            activity.add(
                "download_completed",
                json!({
                    "download_id": download.id, "filename": download.filename, "mime_type": reply["mime_type"].take(),
                    "bytes_received": reply["bytes_received"].take(),
                }),
            );
        }
    }
    Ok(())
}

/// Sends a request with the cookies and network settings of the tab's browser.
pub(super) async fn curl(State(abp): State<Arc<Abp>>, Path(id): Path<String>, request: ClientRequest) -> Answered {
    let url = request.body.text("url").ok_or_else(|| Failure::bad("url is required"))?;
    let at = request.tab(&abp, &id).await?;
    let headers = request.body.0.get("headers").cloned().filter(Json::is_object).unwrap_or_else(|| json!({}));
    let mut argument = json!({
        "page": id, "timeoutMs": DIRECT_NAVIGATE_MS, "url": url, "headers": headers,
        "method": request.body.text("method").unwrap_or_else(|| "GET".to_owned()),
    });
    if let Some(body) = request.body.text("body") {
        argument["body"] = json!(body);
    }
    let answer = value_of(call_whole(&at.session, "fetch", argument, DIRECT_NAVIGATE_MS + GRACE_MS).await?);
    let Value::Object(fields) = answer else { return Err(Failure::bad("the request has no answer")) };
    let field = |wanted: &str| fields.iter().find(|(name, _)| name.to_string_lossy() == wanted).map(|(_, value)| value);
    let reply = field("answer").and_then(Value::to_plain_json).unwrap_or_default();
    let bytes: &[u8] = if let Some(Value::Bytes(_, bytes)) = field("body") { bytes } else { &[] };
    let (body, encoding) = match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), "text"),
        Err(_) => (BASE64_STANDARD.encode(bytes), "base64"),
    };
    let headers: Map<String, Json> = reply["headers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|header| Some((header[0].as_str()?.to_ascii_lowercase(), header[1].clone())))
        .collect();
    let redirected = reply["url"] != url.as_str();
    let reply = json!({
        "status": reply["status"], "headers": headers, "body": body, "body_encoding": encoding, "url": reply["url"],
        "redirected": redirected,
    });
    if let Some(tag) = request.body.text("tag") {
        keep(&abp, &request.client, &at, vec![curl_call(&at, &tag, &request.body, &reply, now_ms())]).await;
    }
    Ok(reply.into())
}
