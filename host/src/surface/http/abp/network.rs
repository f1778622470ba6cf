//! Network requests of pages: those of an action are counted and, under a tag, stored in the history, where clients
//! query and delete them.

use super::browser::{Abp, ClientRequest, TabHandle, owner};
use crate::{
    history::{Call, CallRow},
    surface::http::contract::{Answered, Client, Failure, Fields},
};
use axum::extract::State;
use chrono::DateTime;
use codemode_spec::limits::{
    ABP_BODIES_BYTES_MAX, ABP_BODY_BYTES_MAX, ABP_PARAMS_BYTES_MAX, ABP_PATTERN_BYTES_MAX, DIRECT_NAVIGATE_MS,
    PATTERN_BYTES_MAX,
};
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value as Json, json};
use std::{collections::HashSet, sync::Arc};
use url::Url;

/// The resource types of requests, as the contract spells them.
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
/// The fields by which stored requests can be filtered.
const FILTERS: [&str; 10] =
    ["tag", "tab_id", "url", "hostname", "path", "query", "method", "status", "type", "action_id"];

/// Headers whose values are not stored.
const CREDENTIALS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "set-cookie"];
const LEFT_OUT: &str = "[left out]";

/// The capture of network requests that an action asks for.
pub(super) struct Capture {
    /// The tag under which requests are stored; if it is empty, they are only counted.
    pub(super) tag: String,
    /// The resource types to capture; `None` means all.
    types: Option<Vec<&'static str>>,
}

impl Capture {
    pub(super) fn read(fields: &Fields) -> Result<Self, Failure> {
        let named = |name: &String| TYPES.into_iter().find(|kind| kind.eq_ignore_ascii_case(name));
        let names = fields.texts("types");
        let types: Option<Vec<_>> = names.iter().map(named).collect();
        let types = types.ok_or_else(|| Failure::bad(&format!("network.types may be {}", TYPES.join(", "))))?;
        let types = Some(types).filter(|types| !types.is_empty());
        Ok(Self { tag: fields.text("tag").unwrap_or_default(), types })
    }

    /// Whether requests of a resource type are captured.
    pub(super) fn means(&self, kind: &str) -> bool {
        self.types.as_ref().is_none_or(|types| types.iter().any(|of| of.eq_ignore_ascii_case(kind)))
    }
}

/// The requests of a tab, those with these ids or all, in the form of the history.
pub(super) async fn calls_of(
    at: &TabHandle,
    tag: &str,
    action: Option<i64>,
    ids: Option<&HashSet<String>>,
) -> Result<Vec<Call>, Failure> {
    let archive = at.call("har", json!({"bodies": true}), DIRECT_NAVIGATE_MS).await?;
    let entries = archive["value"]["log"]["entries"].as_array().into_iter().flatten();
    let is_meant =
        |entry: &&Json| ids.is_none_or(|ids| entry["_requestId"].as_str().is_some_and(|id| ids.contains(id)));
    Ok(entries.filter(is_meant).map(|entry| call_from_har(entry, tag, &at.page.id, action)).collect())
}

/// A request and its response, before truncation.
struct Exchange<'e> {
    url: Option<&'e str>,
    method: Option<&'e str>,
    status: &'e Json,
    kind: &'static str,
    request_headers: Map<String, Json>,
    response_headers: Map<String, Json>,
    request_body: Option<&'e str>,
    response_body: Option<&'e str>,
    is_base64: bool,
    took_ms: Option<i64>,
    /// In milliseconds since the Unix epoch.
    at_ms: i64,
}

impl Exchange<'_> {
    fn call(self, tag: &str, tab: &str, action: Option<i64>) -> Call {
        let mut bodies = Map::new();
        put_body(&mut bodies, "request_body", self.request_body);
        put_body(&mut bodies, "response_body", self.response_body);
        if self.is_base64 {
            bodies.insert("response_body_encoding".to_owned(), json!("base64"));
        }
        let fields = json!({
            "url": self.url.map(cut), "method": self.method.map(cut), "status": self.status, "type": self.kind,
            "request_headers": self.request_headers, "response_headers": self.response_headers,
            "timing_ms": self.took_ms, "timestamp_ms": self.at_ms,
        });
        let (tag, tab) = (tag.to_owned(), tab.to_owned());
        Call { tag, tab, action, at_ms: self.at_ms, fields, bodies: Json::Object(bodies) }
    }
}

/// Headers up to the history's size bound, without the values of [`CREDENTIALS`].
fn headers<'h>(headers: impl Iterator<Item = (&'h str, &'h str)>) -> Map<String, Json> {
    let mut room = ABP_PARAMS_BYTES_MAX;
    let bounded = headers.map_while(|(name, value)| {
        room = room.checked_sub(name.len() + value.len())?;
        let name = name.to_ascii_lowercase();
        let value = if CREDENTIALS.contains(&name.as_str()) { LEFT_OUT } else { value };
        Some((name, json!(value)))
    });
    bounded.collect()
}

/// Converts an entry of an HTTP archive.
fn call_from_har(entry: &Json, tag: &str, tab: &str, action: Option<i64>) -> Call {
    let (request, response) = (&entry["request"], &entry["response"]);
    let kind = entry["_resourceType"].as_str().unwrap_or_default();
    let began = entry["startedDateTime"].as_str().and_then(|date| DateTime::parse_from_rfc3339(date).ok());
    let headers_of = |of: &Json| {
        let all = of["headers"].as_array().into_iter().flatten();
        headers(all.filter_map(|header| Some((header["name"].as_str()?, header["value"].as_str()?))))
    };
    let exchange = Exchange {
        url: request["url"].as_str(),
        method: request["method"].as_str(),
        status: &response["status"],
        kind: TYPES.into_iter().find(|known| known.eq_ignore_ascii_case(kind)).unwrap_or("Other"),
        request_headers: headers_of(request),
        response_headers: headers_of(response),
        request_body: request["postData"]["text"].as_str(),
        response_body: response["content"]["text"].as_str(),
        is_base64: response["content"]["encoding"] == "base64",
        took_ms: entry["time"].as_f64().map(|ms| ms.round() as i64),
        at_ms: began.map_or(0, |began| began.timestamp_millis()),
    };
    exchange.call(tag, tab, action)
}

/// Truncates a text to the history's size bound.
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

/// Converts a request that the host sent with a tab's cookies; the time is in milliseconds since the Unix epoch.
pub(super) fn curl_call(at: &TabHandle, tag: &str, fields: &Fields, answer: &Json, at_ms: u64) -> Call {
    let all = answer["headers"].as_object().into_iter().flatten();
    let method = fields.text("method");
    let exchange = Exchange {
        url: answer["url"].as_str(),
        method: method.as_deref().or(Some("GET")),
        status: &answer["status"],
        kind: "Fetch",
        request_headers: Map::new(),
        response_headers: headers(all.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))),
        request_body: fields.0.get("body").and_then(Json::as_str),
        response_body: answer["body"].as_str(),
        is_base64: answer["body_encoding"] == "base64",
        took_ms: None,
        at_ms: i64::try_from(at_ms).unwrap_or_default(),
    };
    exchange.call(tag, &at.page.id, None)
}

/// Stores requests and returns their number. A failure is logged and does not make the action fail.
pub(super) async fn keep(abp: &Abp, client: &Client, at: &TabHandle, calls: Vec<Call>) -> usize {
    let Ok(history) = abp.history().await else { return 0 };
    let kept = history.keep_calls(&owner(client), at.session.id(), calls).await;
    kept.inspect_err(|error| tracing::warn!(%error, "requests are not in the history")).unwrap_or(0)
}

pub(super) async fn query(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    let (history, owner) = request.history(&abp).await?;
    let filters = filters(&request.body)?;
    let bodies_bytes = if request.body.truth("include_body").unwrap_or(false) { ABP_BODIES_BYTES_MAX } else { 0 };
    let is_wanted = move |row: &CallRow| filters.iter().all(|(name, regex)| regex.is_match(&field(&row.call, name)));
    let (calls, total) = history.calls(&owner, bodies_bytes, is_wanted).await?;
    let calls: Vec<Json> = calls.into_iter().map(call_json).collect();
    Ok(json!({"calls": calls, "total": total}).into())
}

fn filters(fields: &Fields) -> Result<Vec<(&'static str, Regex)>, Failure> {
    let mut filters = Vec::new();
    for name in FILTERS {
        let Some(pattern) = fields.text(name) else { continue };
        let regex = Some(&pattern)
            .filter(|pattern| pattern.len() <= ABP_PATTERN_BYTES_MAX)
            .and_then(|pattern| RegexBuilder::new(pattern).size_limit(PATTERN_BYTES_MAX).build().ok());
        let regex = regex.ok_or_else(|| Failure::bad(&format!("{name} is no regular expression, or too long")))?;
        filters.push((name, regex));
    }
    Ok(filters)
}

/// The value of a filter field of a request.
fn field(call: &Call, name: &str) -> String {
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

fn call_json(CallRow { id, call }: CallRow) -> Json {
    let mut json = json!({
        "id": format!("net_{id}"), "tag": call.tag, "tab_id": call.tab, "action_id": call.action.map(action_id),
    });
    for (name, value) in [call.fields, call.bodies]
        .into_iter()
        .filter_map(|of| match of {
            Json::Object(fields) => Some(fields),
            _ => None,
        })
        .flatten()
    {
        json[name] = value;
    }
    json
}

/// The id of an action, as clients see it.
pub(super) fn action_id(number: i64) -> String {
    format!("act_{number}")
}

pub(super) async fn save(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    let tag = request.body.text("tag").ok_or_else(|| Failure::bad("tag is required"))?;
    // Fails early if there is no history.
    abp.history().await?;
    let at = match request.body.text("tab_id") {
        Some(tab) => request.tab(&abp, &tab).await?,
        None => request.active_tab(&abp).await?,
    };
    let calls = calls_of(&at, &tag, None, None).await?;
    let saved = keep(&abp, &request.client, &at, calls).await;
    Ok(json!({"saved": saved, "tag": tag}).into())
}

pub(super) async fn clear(State(abp): State<Arc<Abp>>, request: ClientRequest) -> Answered {
    let (history, owner) = request.history(&abp).await?;
    let deleted = history.delete_calls(&owner, request.body.text("tag")).await?;
    Ok(json!({ "deleted": deleted }).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_by_parts_of_their_address() {
        let call = Call {
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
        let json = call_json(CallRow { id: 7, call });
        assert_eq!(
            (&json["id"], &json["action_id"], &json["response_body"]),
            (&json!("net_7"), &json!("act_3"), &json!("x"))
        );
        let Json::Object(wrong) = json!({"url": "("}) else { unreachable!() };
        assert!(filters(&Fields(wrong)).unwrap_err().error.message.contains("url is no regular expression"));
    }

    #[test]
    fn credentials_are_in_no_history_and_headers_are_bounded() {
        let long = "x".repeat(ABP_PARAMS_BYTES_MAX);
        let bounded =
            headers([("Set-Cookie", "a=secret"), ("X-One", "1"), ("X-Long", &long), ("X-Two", "2")].into_iter());
        assert_eq!(Json::Object(bounded), json!({"set-cookie": LEFT_OUT, "x-one": "1"}));
    }

    #[test]
    fn long_bodies_are_cut_between_letters() {
        let mut bodies = Map::new();
        put_body(&mut bodies, "request_body", Some(&"é".repeat(ABP_BODY_BYTES_MAX)));
        assert_eq!(bodies["request_body"].as_str().unwrap().len(), ABP_BODY_BYTES_MAX);
        assert_eq!(bodies["request_body_truncated"], true);
    }
}
