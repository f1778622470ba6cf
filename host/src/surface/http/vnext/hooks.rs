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
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

/// Arms the answer to the next dialog of a page.
pub(super) async fn dialog(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    let accept = request.body.truth("accept").ok_or_else(|| Failure::bad("accept is required"))?;
    let text = request.body.text("promptText");
    let time = armed_for(&request);
    let at = request.page(&vnext).await?;
    arm(&at, Hook::Dialog, async move |page: HookedPage, armed: Armed| {
        let begun = async {
            let since = page.watch().await?;
            page.call("dialogs", json!({"policy": "hold"})).await?;
            Ok(since)
        };
        if let Some(since) = tell(armed, begun.await)
            && page.next(since, time).await.is_some()
        {
            log_failure(page.call("dialog", json!({"accept": accept, "text": text})).await);
        }
        log_failure(page.call("dialogs", json!({"policy": "dismiss"})).await);
        // Dismiss a dialog that opened while dialogs were still held: the second of two that a script opens, or one
        // that came just as the hook expired.
        let _ = page.call("dialog", json!({"accept": false})).await;
    })
    .await?;
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
    arm(&at, Hook::FileChooser, async move |page: HookedPage, armed: Armed| {
        if let Some(since) = tell(armed, page.watch().await)
            && let Some(chooser) = page.next(since, time).await
        {
            let argument = json!({"page": page.id, "chooser": chooser["chooser"]});
            log_failure(call_with_files(&page.session, "chooser", argument, files).await);
        }
    })
    .await?;
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

/// Arms a hook and runs it in the background until it has answered, has expired, or is replaced by another one.
///
/// # Cancellation
/// If dropped, the hook stays armed for its time. It is never half armed: the hook itself undoes what it began.
async fn arm<F: Future<Output = ()> + Send + 'static>(
    at: &PageHandle,
    hook: Hook,
    run: impl FnOnce(HookedPage, Armed) -> F,
) -> Result<(), Failure> {
    let page = HookedPage { session: Arc::clone(&at.session), id: at.page.clone(), hook };
    let (armed, is_armed) = oneshot::channel();
    let run = run(page, armed);
    {
        let mut hooks = at.session.state.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        hooks.retain(|_, task| !task.is_finished());
        let replaced = hooks.remove(&(at.page.clone(), hook));
        let task = tokio::spawn(async move {
            if let Some(replaced) = replaced {
                replaced.abort();
                // Until it has ended, it could still answer the event or change the policy.
                let _ = replaced.await;
            }
            run.await;
        });
        hooks.insert((at.page.clone(), hook), AbortOnDropHandle::new(task));
    }
    // There is no answer if a newer hook has replaced this one already.
    Ok(is_armed.await.unwrap_or(Ok(()))?)
}

/// Receives whether a hook is armed.
type Armed = oneshot::Sender<Result<(), ErrorReport>>;

/// Reports whether a hook is armed; returns the position from which it reads events if so.
fn tell(armed: Armed, begun: Result<u64, ErrorReport>) -> Option<u64> {
    let (since, report) = match begun {
        Ok(since) => (Some(since), Ok(())),
        Err(error) => (None, Err(error)),
    };
    // The client may have disconnected.
    let _ = armed.send(report);
    since
}

/// The page of a hook.
struct HookedPage {
    session: Session,
    id: String,
    hook: Hook,
}

impl HookedPage {
    /// Calls a verb on the page.
    async fn call(&self, verb: &str, mut argument: Json) -> Result<Json, ErrorReport> {
        argument["page"] = json!(self.id);
        call(&self.session, verb, argument, DIRECT_NAVIGATE_MS).await
    }

    /// Starts watching the page for the hook's event; returns the position from which to read events.
    async fn watch(&self) -> Result<u64, ErrorReport> {
        let reply = self.call("watch", json!({"types": [self.hook.event_type()]})).await?;
        Ok(reply["next"].as_u64().unwrap_or_default())
    }

    /// Waits for the next event of the hook's kind.
    async fn next(&self, since: u64, time: Duration) -> Option<Json> {
        let time_ms = time.as_millis() as u64;
        let query = json!({"page": self.id, "since": since, "types": [self.hook.event_type()], "timeoutMs": time_ms});
        let reply = call(&self.session, "events", query, time_ms + DIRECT_NAVIGATE_MS).await.ok()?;
        reply["events"].as_array()?.first().cloned()
    }
}
