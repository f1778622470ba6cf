//! Reads from a page: screenshot, snapshot, console, PDF.

use super::{
    act::target,
    browser::Vnext,
    request::{ClientRequest, PageHandle},
};
use crate::surface::http::contract::{Answered, Failure};
use axum::extract::State;
use codemode_spec::limits::{
    DIRECT_NAVIGATE_MS, VNEXT_ARIA_NODES, VNEXT_ARIA_NODES_MAX, VNEXT_CONSOLE_LINES_MAX, VNEXT_SCREENSHOT_BYTES_MAX,
    VNEXT_SCREENSHOT_SIDE_MAX, VNEXT_SNAPSHOT_CHARS,
};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// The JPEG qualities that are tried in turn until the file is small enough.
const QUALITIES: [u32; 4] = [85, 70, 50, 30];

/// Takes a screenshot within the contract's bounds on side length and file size.
pub(super) async fn screenshot(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    let full_page = request.body.truth("fullPage").unwrap_or(false);
    let (of, selector) = (request.body.text("ref"), request.body.text("element"));
    if full_page && (of.is_some() || selector.is_some()) {
        return Err(Failure::bad("fullPage is not supported for element screenshots"));
    }
    let is_jpeg = request.body.text("type").is_some_and(|kind| kind == "jpeg");
    let of = of
        .map(|of| target(&of))
        .or_else(|| selector.map(|value| json!({"steps": [{"by": "selector", "value": value}]})));
    let at = request.page(&vnext).await?;
    let mut argument = json!({"fullPage": full_page, "maxSide": VNEXT_SCREENSHOT_SIDE_MAX, "type": if is_jpeg { "jpeg" } else { "png" }});
    if let Some(of) = of {
        argument["target"] = of;
    }
    let mut picture = at.bytes("screenshot", argument.clone(), DIRECT_NAVIGATE_MS).await?;
    let mut kind = if is_jpeg { "jpeg" } else { "png" };
    for quality in QUALITIES {
        if picture.len() <= VNEXT_SCREENSHOT_BYTES_MAX {
            break;
        }
        kind = "jpeg";
        argument["type"] = json!(kind);
        argument["quality"] = json!(quality);
        picture = at.bytes("screenshot", argument.clone(), DIRECT_NAVIGATE_MS).await?;
    }
    store_file(&at, if kind == "png" { "screenshot.png" } else { "screenshot.jpg" }, picture).await
}

/// Prints the page.
pub(super) async fn pdf(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    let at = request.page(&vnext).await?;
    let printed = at.bytes("pdf", json!({}), DIRECT_NAVIGATE_MS).await?;
    store_file(&at, "page.pdf", printed).await
}

async fn store_file(at: &PageHandle, name: &'static str, content: Vec<u8>) -> Answered {
    let file = at.session.keep(name, content).await?;
    Ok(json!({
        "ok": true, "path": file.file, "targetId": at.page, "url": at.url, "contentType": file.mime_type, "bytes": file.bytes,
    })
    .into())
}

/// A snapshot of the page, as text with refs (`ai`) or as a list of nodes (`aria`).
pub(super) async fn snapshot(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    let format = request.body.text("format").unwrap_or_else(|| "ai".to_owned());
    if !["ai", "aria"].contains(&format.as_str()) {
        return Err(Failure::bad("format must be ai|aria"));
    }
    let limit = request.body.number("limit");
    let at = request.page(&vnext).await?;
    let reply = at.call("snapshot", json!({"limit": VNEXT_SNAPSHOT_CHARS}), DIRECT_NAVIGATE_MS).await?;
    let text = reply["text"].as_str().unwrap_or_default();
    let mut answer = json!({"ok": true, "format": format, "targetId": at.page, "url": at.url});
    if format == "ai" {
        answer["snapshot"] = json!(text);
        answer["truncated"] = reply["truncated"].clone();
    } else {
        let limit = limit.map_or(VNEXT_ARIA_NODES, |limit| (limit.max(0.0) as usize).clamp(1, VNEXT_ARIA_NODES_MAX));
        answer["nodes"] = nodes(text).take(limit).collect();
    }
    Ok(answer.into())
}

/// Parses the lines of a snapshot into nodes: `- role "name" …`, indented by two spaces per level.
fn nodes(text: &str) -> impl Iterator<Item = Json> + '_ {
    let lines = text.lines().filter_map(|line| {
        let rest = line.trim_start_matches(' ');
        let words = rest.strip_prefix("- ")?;
        (!words.starts_with('/')).then_some((line.len() - rest.len(), words))
    });
    lines.enumerate().map(|(number, (indent, words))| {
        let role = words.split([' ', ':']).next().unwrap_or_default();
        let after = words[role.len()..].trim_start();
        let mut names = serde_json::Deserializer::from_str(after).into_iter::<String>();
        let name = after.starts_with('"').then(|| names.next()?.ok()).flatten();
        let value = name.is_none().then(|| after.strip_prefix(':').map(str::trim)).flatten();
        let name = name.or_else(|| value.filter(|_| role == "text").map(str::to_owned)).unwrap_or_default();
        json!({"ref": format!("ax{}", number + 1), "role": role, "name": name, "depth": indent / 2})
    })
}

/// The console messages of the page, of the requested level and more severe ones.
pub(super) async fn console(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    let level = request.body.text("level").map(|level| weight(&level));
    let at = request.page(&vnext).await?;
    let reply = at.call("console", json!({"limit": VNEXT_CONSOLE_LINES_MAX}), DIRECT_NAVIGATE_MS).await?;
    let lines = reply.as_array().into_iter().flatten();
    let lines =
        lines.filter(|line| level.is_none_or(|level| weight(line["level"].as_str().unwrap_or_default()) >= level));
    let messages: Vec<Json> =
        lines.map(|line| json!({"type": line["level"], "text": line["text"], "location": line["location"]})).collect();
    Ok(json!({"ok": true, "messages": messages, "targetId": at.page}).into())
}

/// The severity of a console level.
fn weight(level: &str) -> u8 {
    match level {
        "error" | "assert" => 3,
        "warning" | "warn" => 2,
        "debug" | "verbose" => 0,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_snapshot_are_nodes() {
        let text = "- heading \"A \\\"b\\\": c\" [level=1]\n- list:\n  - link \"x\" [ref=e1]:\n    - /url: /x\n  - text: more\n";
        let nodes: Vec<Json> = nodes(text).collect();
        assert_eq!(
            Json::Array(nodes),
            json!([
                {"ref": "ax1", "role": "heading", "name": "A \"b\": c", "depth": 0},
                {"ref": "ax2", "role": "list", "name": "", "depth": 0},
                {"ref": "ax3", "role": "link", "name": "x", "depth": 1},
                {"ref": "ax4", "role": "text", "name": "more", "depth": 1},
            ])
        );
    }
}
