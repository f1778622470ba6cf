//! What is armed: the answer to the next dialog, the files for the next file chooser. The last arm of a page wins, for at
//! most two minutes. A hook holds what it waits for before the request that arms it is answered, so that nothing is missed.

use super::{
    act::target,
    ask::{Ask, At},
    browser::{Hook, Session, Vnext},
};
use crate::surface::http::{
    face::{Answered, Failure, call, give},
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
pub(super) async fn dialog(State(vnext): State<Arc<Vnext>>, ask: Ask) -> Answered {
    let accept = ask.body.truth("accept").ok_or_else(|| Failure::bad("accept is required"))?;
    let text = ask.body.text("promptText");
    let time = armed_for(&ask);
    let at = ask.page(&vnext).await?;
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
                    told(call(&session, "dialog", answer, DIRECT_NAVIGATE_MS).await);
                    told(
                        call(&session, "dialogs", json!({"page": page, "policy": "dismiss"}), DIRECT_NAVIGATE_MS).await,
                    );
                }
                None => {
                    told(
                        call(&session, "dialogs", json!({"page": page, "policy": "dismiss"}), DIRECT_NAVIGATE_MS).await,
                    );
                    // One that opened just then is no longer meant.
                    let _ = call(&session, "dialog", json!({"page": page, "accept": false}), DIRECT_NAVIGATE_MS).await;
                }
            }
        },
        time,
    );
    Ok(json!({"ok": true}).into())
}

/// Arms the files for the next file chooser of a page, and clicks what opens it, if that is named; or gives them to an input.
pub(super) async fn file_chooser(State(vnext): State<Arc<Vnext>>, ask: Ask) -> Answered {
    let paths = ask.body.texts("paths");
    if paths.is_empty() {
        return Err(Failure::bad("paths are required"));
    }
    let trigger = ask.body.text("ref");
    let input = ask.body.text("inputRef").map(|of| target(&of));
    let element = ask.body.text("element").map(|value| json!({"steps": [{"by": "selector", "value": value}]}));
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
    let time = armed_for(&ask);
    let at = ask.page(&vnext).await?;
    if let Some(input) = input {
        give(&at.session, "upload", json!({"page": at.page, "target": input}), files).await?;
        return Ok(json!({"ok": true}).into());
    }
    let since = begin(&at, Hook::FileChooser).await?;
    arm(
        &at,
        Hook::FileChooser,
        async move |session: Session, page: String, deadline: Instant| {
            if let Some(chooser) = next(&session, &page, Hook::FileChooser, since, deadline).await {
                told(give(&session, "chooser", json!({"page": page, "chooser": chooser["chooser"]}), files).await);
            }
        },
        time,
    );
    if let Some(trigger) = trigger {
        at.call("click", json!({"target": target(&trigger)}), VNEXT_ACT_MS).await?;
    }
    Ok(json!({"ok": true}).into())
}

/// What a hook could not do: nobody waits for it.
fn told<T>(done: Result<T, ErrorReport>) {
    if let Err(error) = done {
        tracing::warn!(error = %error.message, "a hook failed");
    }
}

fn armed_for(ask: &Ask) -> Duration {
    Duration::from_millis(ask.body.time_ms("timeoutMs", VNEXT_HOOK_MS, VNEXT_HOOK_MS_MIN, VNEXT_HOOK_MS))
}

/// Has the page tell of what a hook waits for; from where on to read.
async fn begin(at: &At, hook: Hook) -> Result<u64, Failure> {
    // Of the hook before nothing may answer any more.
    lock(at).remove(&(at.page.clone(), hook));
    let argument = json!({"page": at.page, "types": [hook.news()]});
    let told = call(&at.session, "watch", argument, DIRECT_NAVIGATE_MS).await?;
    Ok(told["next"].as_u64().unwrap_or_default())
}

/// Keeps a hook until it has done what it is for, its time is over, or another one takes its place.
fn arm<F: Future<Output = ()> + Send + 'static>(
    at: &At,
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

fn lock(at: &At) -> std::sync::MutexGuard<'_, std::collections::HashMap<(String, Hook), AbortOnDropHandle<()>>> {
    at.session.state.armed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next news of a hook's kind.
async fn next(session: &Session, page: &str, hook: Hook, since: u64, deadline: Instant) -> Option<Json> {
    let left_ms = deadline.saturating_duration_since(Instant::now()).as_millis() as u64;
    let query = json!({"page": page, "since": since, "types": [hook.news()], "timeoutMs": left_ms});
    let news = call(session, "events", query, left_ms + DIRECT_NAVIGATE_MS).await.ok()?;
    news["events"].as_array()?.first().cloned()
}
