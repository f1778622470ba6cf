//! Hooks: a client arms the answer to the next dialog, or the files for the next file chooser, of a page. A newer hook
//! of the same kind replaces an older one; a hook expires after at most two minutes. Watching starts before the arming
//! request is answered, so that no event is missed.

use super::{
    act::target,
    browser::{Hook, Session, Vnext},
    request::{ClientRequest, PageHandle},
};
use crate::surface::http::{
    contract::{Answered, Failure, call, call_with_files},
    uploads::read,
};
use axum::{extract::State, http::StatusCode};
use codemode_spec::{
    ErrorReport,
    limits::{DIRECT_NAVIGATE_MS, VNEXT_ACT_MS, VNEXT_HOOK_MS, VNEXT_HOOK_MS_MIN},
};
use serde_json::{Value as Json, json};
use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Arms the answer to the next dialog of a page.
pub(super) async fn dialog(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    let accept = request.body.truth("accept").ok_or_else(|| Failure::bad("accept is required"))?;
    let text = request.body.text("promptText");
    let time = armed_for(&request);
    let at = request.page(&vnext).await?;
    let answer = json!({"page": at.page, "accept": accept, "text": text});
    let since = begin(&at, Hook::Dialog).await?;
    at.call("dialogs", json!({"policy": "hold"}), DIRECT_NAVIGATE_MS).await?;
    arm(
        &at,
        Hook::Dialog,
        async move |session: Session, page: String, deadline: Instant| {
            let came = next(&session, &page, Hook::Dialog, since, deadline).await;
            match came {
                Some(_) => {
                    log_failure(call(&session, "dialog", answer, DIRECT_NAVIGATE_MS).await);
                    log_failure(
                        call(&session, "dialogs", json!({"page": page, "policy": "dismiss"}), DIRECT_NAVIGATE_MS).await,
                    );
                }
                None => {
                    log_failure(
                        call(&session, "dialogs", json!({"page": page, "policy": "dismiss"}), DIRECT_NAVIGATE_MS).await,
                    );
                    // Dismiss a dialog that opened just as the hook expired.
                    let _ = call(&session, "dialog", json!({"page": page, "accept": false}), DIRECT_NAVIGATE_MS).await;
                }
            }
        },
        time,
    );
    Ok(json!({"ok": true}).into())
}

/// Arms the files for the next file chooser of a page, and clicks the element that opens it if one is named; or sets
/// the files of an input element directly.
pub(super) async fn file_chooser(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    let paths = request.body.texts("paths");
    if paths.is_empty() {
        return Err(Failure::bad("paths are required"));
    }
    let trigger = request.body.text("ref");
    let input = request.body.text("inputRef").map(|of| target(&of));
    let element = request.body.text("element").map(|value| json!({"steps": [{"by": "selector", "value": value}]}));
    let input = input.or(element);
    if input.is_some() && trigger.is_some() {
        return Err(Failure::bad("ref cannot be combined with inputRef/element"));
    }
    let Some(folder) = vnext.options.uploads.clone() else {
        return Err(Failure::new(StatusCode::FORBIDDEN, "clients of this host may give no files to pages")
            .with_hint("The operator names the folder whose files they may give: codemode serve --uploads FOLDER."));
    };
    let files = tokio::task::spawn_blocking(move || read(&folder, &paths)).await;
    let files = files.map_err(|_| Failure::bad("the files could not be read"))?.map_err(Failure::from)?;
    let time = armed_for(&request);
    let at = request.page(&vnext).await?;
    if let Some(input) = input {
        call_with_files(&at.session, "upload", json!({"page": at.page, "target": input}), files).await?;
        return Ok(json!({"ok": true}).into());
    }
    let since = begin(&at, Hook::FileChooser).await?;
    arm(
        &at,
        Hook::FileChooser,
        async move |session: Session, page: String, deadline: Instant| {
            if let Some(chooser) = next(&session, &page, Hook::FileChooser, since, deadline).await {
                log_failure(
                    call_with_files(&session, "chooser", json!({"page": page, "chooser": chooser["chooser"]}), files)
                        .await,
                );
            }
        },
        time,
    );
    if let Some(trigger) = trigger {
        at.call("click", json!({"target": target(&trigger)}), VNEXT_ACT_MS).await?;
    }
    Ok(json!({"ok": true}).into())
}

/// Logs the failure of a hook; no client waits for its result.
fn log_failure<T>(done: Result<T, ErrorReport>) {
    if let Err(error) = done {
        tracing::warn!(error = %error.message, "a hook failed");
    }
}

fn armed_for(request: &ClientRequest) -> Duration {
    Duration::from_millis(request.body.time_ms("timeoutMs", VNEXT_HOOK_MS, VNEXT_HOOK_MS_MIN, VNEXT_HOOK_MS))
}

/// Starts watching the page for the hook's event; returns the position from which to read events.
async fn begin(at: &PageHandle, hook: Hook) -> Result<u64, Failure> {
    // Cancel the previous hook first, so that it cannot answer the event.
    lock(at).remove(&(at.page.clone(), hook));
    let argument = json!({"page": at.page, "types": [hook.event_type()]});
    let reply = call(&at.session, "watch", argument, DIRECT_NAVIGATE_MS).await?;
    Ok(reply["next"].as_u64().unwrap_or_default())
}

/// Runs a hook in the background until it has answered, has expired, or is replaced by another one.
fn arm<F: Future<Output = ()> + Send + 'static>(
    at: &PageHandle,
    hook: Hook,
    answer: impl FnOnce(Session, String, Instant) -> F,
    time: Duration,
) {
    let task = answer(Arc::clone(&at.session), at.page.clone(), Instant::now() + time);
    let task = AbortOnDropHandle::new(tokio::spawn(task));
    let mut armed = lock(at);
    armed.retain(|_, task| !task.is_finished());
    armed.insert((at.page.clone(), hook), task);
}

fn lock(
    at: &PageHandle,
) -> std::sync::MutexGuard<'_, std::collections::HashMap<(String, Hook), AbortOnDropHandle<()>>> {
    at.session.state.armed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the next event of a hook's kind.
async fn next(session: &Session, page: &str, hook: Hook, since: u64, deadline: Instant) -> Option<Json> {
    let left_ms = deadline.saturating_duration_since(Instant::now()).as_millis() as u64;
    let query = json!({"page": page, "since": since, "types": [hook.event_type()], "timeoutMs": left_ms});
    let reply = call(session, "events", query, left_ms + DIRECT_NAVIGATE_MS).await.ok()?;
    reply["events"].as_array()?.first().cloned()
}
