//! Requests of pages: those of an action counted, kept under a tag, asked for and deleted.

use super::browser::{Abp, Ask, At, owner};
use crate::{
    history::{CallRow, NewCall},
    surface::http::face::{Answered, Client, Failure, Fields, call},
};
use axum::extract::State;
use chrono::DateTime;
use codemode_spec::limits::{
    ABP_BODIES_BYTES_MAX, ABP_BODY_BYTES_MAX, ABP_PARAMS_BYTES_MAX, ABP_PATTERN_BYTES_MAX, DIRECT_NAVIGATE_MS,
    PATTERN_BYTES_MAX,
};
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value as Json, json};
use std::{
    collections::HashSet,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use url::Url;

/// The kinds of requests, as the document writes them.
pub(super) const TYPES: [&str; 17] = [
    "XHR",
    "Fetch",
    "Document",
    "Stylesheet",
    "Image",
    "Media",
    "Font",
    "Script",
    "TextTrack",
    "EventSource",
    "WebSocket",
    "Manifest",
    "SignedExchange",
    "Ping",
    "CSPViolationReport",
    "Preflight",
    "Other",
];
/// The fields by which requests are looked for.
const FILTERS: [&str; 10] =
    ["tag", "tab_id", "url", "hostname", "path", "query", "method", "status", "type", "action_id"];

/// What an action asks for of its requests.
pub(super) struct Capture {
    /// Under which they are kept; empty: they are only counted.
    pub(super) tag: String,
    /// Of which kinds; `None`: all.
    types: Option<Vec<&'static str>>,
}

impl Capture {
    pub(super) fn read(asked: &Fields) -> Result<Self, Failure> {
        let named = |name: &String| TYPES.into_iter().find(|kind| kind.eq_ignore_ascii_case(name));
        let names = asked.texts("types");
        let types: Option<Vec<_>> = names.iter().map(named).collect();
        let types = types.ok_or_else(|| Failure::bad(&format!("network.types may be {}", TYPES.join(", "))))?;
        let types = Some(types).filter(|types| !types.is_empty());
        Ok(Self { tag: asked.text("tag").unwrap_or_default(), types })
    }

    /// Whether it means requests of a kind.
    pub(super) fn means(&self, kind: &str) -> bool {
        self.types.as_ref().is_none_or(|types| types.iter().any(|of| of.eq_ignore_ascii_case(kind)))
    }
}

/// The requests of a tab, those with these ids or all, as history keeps them.
pub(super) async fn calls_of(
    at: &At,
    tag: &str,
    action: Option<i64>,
    ids: Option<&HashSet<String>>,
) -> Result<Vec<NewCall>, Failure> {
    let archive = call(
        &at.session,
        "har",
        json!({"page": at.page.id, "bodies": true, "timeoutMs": DIRECT_NAVIGATE_MS}),
        DIRECT_NAVIGATE_MS + 2_000,
    );
    let archive = archive.await?;
    // A verb's value stands in `value` beside what it tells of the page.
    let entries = archive["value"]["log"]["entries"].as_array().or_else(|| archive["log"]["entries"].as_array());
    let entries = entries.into_iter().flatten();
    let is_meant =
        |entry: &&Json| ids.is_none_or(|ids| entry["_requestId"].as_str().is_some_and(|id| ids.contains(id)));
    Ok(entries.filter(is_meant).map(|entry| kept(entry, tag, &at.page.id, action)).collect())
}

fn kept(entry: &Json, tag: &str, tab: &str, action: Option<i64>) -> NewCall {
    let (request, response) = (&entry["request"], &entry["response"]);
    let kind = entry["_resourceType"].as_str().unwrap_or_default();
    let kind = TYPES.into_iter().find(|known| known.eq_ignore_ascii_case(kind)).unwrap_or("Other");
    let began = entry["startedDateTime"].as_str().and_then(|date| DateTime::parse_from_rfc3339(date).ok());
    let at_ms = began.map_or(0, |began| began.timestamp_millis());
    let headers = |of: &Json| -> Map<String, Json> {
        let headers = of["headers"].as_array().into_iter().flatten();
        let mut room = ABP_PARAMS_BYTES_MAX;
        headers
            .take_while(|header| {
                let bytes = ["name", "value"].iter().filter_map(|part| header[*part].as_str()).map(str::len).sum();
                let has_room = bytes <= room;
                room = room.saturating_sub(bytes);
                has_room
            })
            .filter_map(|header| Some((header["name"].as_str()?.to_ascii_lowercase(), header["value"].clone())))
            .collect()
    };
    let mut bodies = Map::new();
    put_body(&mut bodies, "request_body", request["postData"]["text"].as_str());
    put_body(&mut bodies, "response_body", response["content"]["text"].as_str());
    if response["content"]["encoding"] == "base64" {
        bodies.insert("response_body_encoding".to_owned(), json!("base64"));
    }
    let fields = json!({
        "url": request["url"].as_str().map(cut), "method": request["method"].as_str().map(cut), "status": response["status"], "type": kind,
        "request_headers": headers(request), "response_headers": headers(response),
        "timing_ms": entry["time"].as_f64().map(f64::round).map(|ms| ms as i64), "timestamp_ms": at_ms,
    });
    NewCall { tag: tag.to_owned(), tab: tab.to_owned(), action, at_ms, fields, bodies: Json::Object(bodies) }
}

/// As much of an address as history has.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(ABP_PARAMS_BYTES_MAX)]
}

fn put_body(bodies: &mut Map<String, Json>, name: &str, text: Option<&str>) {
    let Some(text) = text else { return };
    let kept = &text[..text.floor_char_boundary(ABP_BODY_BYTES_MAX)];
    bodies.insert(name.to_owned(), json!(kept));
    if kept.len() < text.len() {
        bodies.insert(format!("{name}_truncated"), json!(true));
    }
}

/// Keeps a request that the host made in a tab's session.
pub(super) async fn keep_curl(abp: &Abp, client: &Client, at: &At, tag: &str, asked: &Fields, answer: &Json) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64;
    let mut bodies = Map::new();
    put_body(&mut bodies, "request_body", asked.0.get("body").and_then(Json::as_str));
    put_body(&mut bodies, "response_body", answer["body"].as_str());
    if answer["body_encoding"] == "base64" {
        bodies.insert("response_body_encoding".to_owned(), json!("base64"));
    }
    let fields = json!({
        "url": answer["url"].as_str().map(cut), "method": asked.text("method").unwrap_or_else(|| "GET".to_owned()),
        "status": answer["status"], "type": "Fetch", "request_headers": {}, "response_headers": answer["headers"],
        "timing_ms": null, "timestamp_ms": now,
    });
    let tab = at.page.id.clone();
    let call = NewCall { tag: tag.to_owned(), tab, action: None, at_ms: now, fields, bodies: Json::Object(bodies) };
    keep(abp, client, at, vec![call]).await;
}

/// Keeps requests; how many. What cannot be kept does not make an action fail.
pub(super) async fn keep(abp: &Abp, client: &Client, at: &At, calls: Vec<NewCall>) -> usize {
    let Ok(history) = abp.history().await else { return 0 };
    let kept = history.keep_calls(&owner(client), at.session.id(), calls).await;
    kept.inspect_err(|error| tracing::warn!(%error, "requests are not in the history")).unwrap_or(0)
}

pub(super) async fn query(State(abp): State<Arc<Abp>>, ask: Ask) -> Answered {
    abp.service.may_use(&ask.client.caller, &ask.client.key)?;
    let filters = filters(&ask.body)?;
    let bodies_bytes = if ask.body.truth("include_body").unwrap_or(false) { ABP_BODIES_BYTES_MAX } else { 0 };
    let history = abp.history().await?;
    let is_wanted = move |call: &CallRow| filters.iter().all(|(name, regex)| regex.is_match(&field(call, name)));
    let (calls, total) = history.calls(&owner(&ask.client), bodies_bytes, is_wanted).await?;
    let calls: Vec<Json> = calls.into_iter().map(told).collect();
    Ok(json!({"calls": calls, "total": total}).into())
}

fn filters(asked: &Fields) -> Result<Vec<(&'static str, Regex)>, Failure> {
    let mut filters = Vec::new();
    for name in FILTERS {
        let Some(pattern) = asked.text(name) else { continue };
        let regex = Some(&pattern)
            .filter(|pattern| pattern.len() <= ABP_PATTERN_BYTES_MAX)
            .and_then(|pattern| RegexBuilder::new(pattern).size_limit(PATTERN_BYTES_MAX).build().ok());
        let regex = regex.ok_or_else(|| Failure::bad(&format!("{name} is no regular expression, or too long")))?;
        filters.push((name, regex));
    }
    Ok(filters)
}

/// A field of a request by which it may be looked for.
fn field(call: &CallRow, name: &str) -> String {
    let of_url = |part: fn(&Url) -> Option<&str>| {
        let url = Url::parse(call.fields["url"].as_str().unwrap_or_default()).ok();
        url.as_ref().and_then(part).unwrap_or_default().to_owned()
    };
    match name {
        "tag" => call.tag.clone(),
        "tab_id" => call.tab.clone(),
        "action_id" => call.action.map(action_id).unwrap_or_default(),
        "hostname" => of_url(Url::host_str),
        "path" => of_url(|url| Some(url.path())),
        "query" => of_url(Url::query),
        name => match &call.fields[name] {
            Json::String(text) => text.clone(),
            value => value.to_string(),
        },
    }
}

fn told(call: CallRow) -> Json {
    let mut told = json!({
        "id": format!("net_{}", call.id), "tag": call.tag, "tab_id": call.tab, "action_id": call.action.map(action_id),
    });
    for (name, value) in [call.fields, call.bodies]
        .into_iter()
        .filter_map(|of| match of {
            Json::Object(fields) => Some(fields),
            _ => None,
        })
        .flatten()
    {
        told[name] = value;
    }
    told
}

/// The number of an action, as clients see it.
pub(super) fn action_id(number: i64) -> String {
    format!("act_{number}")
}

pub(super) async fn save(State(abp): State<Arc<Abp>>, ask: Ask) -> Answered {
    let tag = ask.body.text("tag").ok_or_else(|| Failure::bad("tag is required"))?;
    // Before anything is read for it.
    abp.history().await?;
    let at = match ask.body.text("tab_id") {
        Some(tab) => ask.tab(&abp, &tab).await?,
        None => ask.active_tab(&abp).await?,
    };
    let calls = calls_of(&at, &tag, None, None).await?;
    let saved = keep(&abp, &ask.client, &at, calls).await;
    Ok(json!({"saved": saved, "tag": tag}).into())
}

pub(super) async fn clear(State(abp): State<Arc<Abp>>, ask: Ask) -> Answered {
    abp.service.may_use(&ask.client.caller, &ask.client.key)?;
    let deleted = abp.history().await?.delete_calls(&owner(&ask.client), ask.body.text("tag")).await?;
    Ok(json!({ "deleted": deleted }).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_by_parts_of_their_address() {
        let call = CallRow {
            id: 7,
            tag: "login".into(),
            tab: "T".into(),
            action: Some(3),
            at_ms: 0,
            fields: json!({"url": "https://api.example.com/login?next=%2F", "method": "POST", "status": 403, "type": "Fetch"}),
            bodies: json!({"response_body": "x"}),
        };
        for (name, pattern, is_found) in [
            ("hostname", "^api\\.", true),
            ("path", "login$", true),
            ("query", "next", true),
            ("status", "4\\d\\d", true),
            ("method", "^GET$", false),
            ("action_id", "act_3", true),
            ("tag", "log", true),
            ("url", "example.org", false),
        ] {
            assert_eq!(Regex::new(pattern).unwrap().is_match(&field(&call, name)), is_found, "{name} {pattern}");
        }
        let told = told(call);
        assert_eq!(
            (&told["id"], &told["action_id"], &told["response_body"]),
            (&json!("net_7"), &json!("act_3"), &json!("x"))
        );
        let Json::Object(wrong) = json!({"url": "("}) else { unreachable!() };
        assert!(filters(&Fields(wrong)).unwrap_err().error.message.contains("url is no regular expression"));
    }

    #[test]
    fn long_bodies_are_cut_between_letters() {
        let mut bodies = Map::new();
        put_body(&mut bodies, "request_body", Some(&"é".repeat(ABP_BODY_BYTES_MAX)));
        assert_eq!(bodies["request_body"].as_str().unwrap().len(), ABP_BODY_BYTES_MAX);
        assert_eq!(bodies["request_body_truncated"], true);
    }
}
