//! The answer of `sessionInfo`.

use crate::state::Cdp;
use codemode_page::{ConnectedBrowser, HANDLE, Target, short};
use codemode_provider::KeptBrowser;
use codemode_spec::ErrorReport;
use serde_json::{Value as Json, json};
use std::time::Duration;

/// The maximum number of targets listed.
const TARGETS_LISTED_MAX: usize = 100;

/// Describes the requested session, the browser and its targets. Starts nothing.
///
/// # Errors
/// When the host's records of sessions cannot be read.
pub(crate) async fn session_info(cdp: &Cdp) -> Result<Json, ErrorReport> {
    let mut info = of_request(cdp);
    let browser = match cdp.browser.current() {
        Some(connected) => of_connected(&connected).await,
        None => match cdp.browser.look().await? {
            Some(kept) => of_kept(&kept),
            None => json!({"state": "not-started", "targets": []}),
        },
    };
    if let (Some(info), Json::Object(browser)) = (info.as_object_mut(), browser) {
        info.extend(browser);
    }
    Ok(info)
}

fn of_request(cdp: &Cdp) -> Json {
    let request = cdp.browser.asked();
    let mut info = json!({"mode": request.mode, "external": cdp.browser.is_external()});
    if let Some(key) = &request.key {
        info["key"] = json!(key);
    }
    if let Some(facts) = cdp.browser.session_facts() {
        info["session"] = json!(facts.id);
        info["shared"] = json!(facts.shared);
    }
    info
}

/// The live browser of the key, which this execution has not used yet.
fn of_kept(kept: &KeptBrowser) -> Json {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let mut info = json!({
        "state": "kept",
        "session": kept.session,
        "shared": true,
        "ageMs": ms(kept.age),
        "pages": kept.pages.iter().map(|url| short(url)).collect::<Vec<_>>(),
        "targets": [],
    });
    for (name, time) in [("idleMs", kept.idle), ("endsInMs", kept.ends_in)] {
        if let Some(time) = time {
            info[name] = json!(ms(time));
        }
    }
    if let Some(holder) = &kept.holder {
        info["holder"] = json!(holder);
    }
    info
}

async fn of_connected(connected: &ConnectedBrowser) -> Json {
    connected.refresh().await;
    connected.catch_up();
    let visible = connected.targets.visible();
    let targets: Vec<_> = visible.iter().take(TARGETS_LISTED_MAX).map(|target| of_target(connected, target)).collect();
    json!({
        "state": if connected.is_closed() { "gone" } else { "running" },
        "browser": connected.product,
        "targets": targets,
        "targetsTotal": visible.len(),
    })
}

fn of_target(connected: &ConnectedBrowser, target: &Target) -> Json {
    let mut entry = json!({
        "targetId": target.id,
        "sessionId": format!("{HANDLE}{}", target.id),
        "type": target.kind,
        "url": short(&target.url),
        "title": short(&target.title),
        "attached": connected.is_attached(&target.id),
    });
    if let Some(dialog) = &target.dialog {
        entry["dialog"] = json!({"type": dialog.kind, "message": dialog.message});
    }
    if target.crashed {
        entry["crashed"] = json!(true);
    }
    entry
}
