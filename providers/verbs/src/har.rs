//! Export of a page's requests as an HTTP archive (HAR 1.2), which other tools can read.
//!
//! Cookies and other credentials are left out, since an archive is meant to be shared.

use crate::{
    tab::Tab,
    traffic::{Exchange, TrafficFilter},
};
use codemode_spec::{
    ErrorReport,
    limits::{HAR_BODIES_BYTES_MAX, HAR_BODY_BYTES_MAX, HAR_ENTRIES_MAX},
};
use serde_json::{Value as Json, json};
use url::Url;

const VERSION: &str = "1.2";
/// The id of the archive's only page.
const PAGE: &str = "page_1";
/// Headers whose values are left out.
const SECRET: &[&str] = &["authorization", "cookie", "proxy-authorization", "set-cookie"];

impl Tab<'_> {
    /// The page's requests that match a filter, as far as their events are still in the log. `with_bodies` includes the
    /// response bodies that are not too large.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the filter is invalid.
    pub async fn har(&self, filter: Option<&TrafficFilter>, with_bodies: bool) -> Result<Json, ErrorReport> {
        let mut exchanges = self.exchanges(filter).await?;
        self.acquire_large_permit().await?;
        exchanges.drain(..exchanges.len().saturating_sub(HAR_ENTRIES_MAX));
        let mut room = HAR_BODIES_BYTES_MAX;
        let mut entries = Vec::new();
        for exchange in &exchanges {
            let content = if with_bodies { self.content(exchange, &mut room).await } else { json!({}) };
            entries.push(entry(exchange, content));
        }
        let begun = exchanges.first().map_or(0.0, |exchange| number(&exchange.sent.params["wallTime"]));
        let title = self.browser.targets.target(&self.id).map(|page| page.title).unwrap_or_default();
        let (name, version) = self.browser.product.split_once('/').unwrap_or((&self.browser.product, ""));
        Ok(json!({"log": {
            "version": VERSION,
            "creator": {"name": "codemode", "version": env!("CARGO_PKG_VERSION")},
            "browser": {"name": name, "version": version},
            "pages": [{
                "id": PAGE, "title": title, "startedDateTime": date(begun),
                "pageTimings": {"onContentLoad": -1, "onLoad": -1},
            }],
            "entries": entries,
        }}))
    }

    /// The body of a response, in the archive's fields.
    async fn content(&self, exchange: &Exchange, room: &mut usize) -> Json {
        let bytes = exchange.received as usize;
        let is_there = exchange.ended.is_some() && !exchange.has_failed();
        let answers = exchange.answered.as_ref().is_some_and(|answered| !answered.redirects);
        if !is_there || !answers || bytes == 0 {
            return json!({});
        }
        if bytes > HAR_BODY_BYTES_MAX || bytes > *room {
            return json!({"comment": format!("a body of {bytes} bytes is left out")});
        }
        let target = exchange.sent.session.as_deref().and_then(|session| self.browser.targets.target_of(session));
        let target = target.unwrap_or_else(|| self.id.clone());
        let answer = self.send_to(&target, "Network.getResponseBody", json!({"requestId": exchange.id()})).await;
        // The browser evicts bodies after some time.
        let Ok(answer) = answer else { return json!({"comment": "the body is not kept any more"}) };
        let text = answer["body"].as_str().unwrap_or_default();
        *room = room.saturating_sub(text.len());
        if answer["base64Encoded"] == true {
            return json!({"text": text, "encoding": "base64"});
        }
        json!({ "text": text })
    }
}

fn entry(exchange: &Exchange, content: Json) -> Json {
    let sent = &exchange.sent.params;
    let nothing = Json::Null;
    let said = exchange.answered.as_ref().map_or(&nothing, |answered| answered.response());
    let timings = timings(exchange, said);
    let spent: f64 = ["blocked", "dns", "connect", "send", "wait", "receive"]
        .iter()
        .map(|phase| number(&timings[*phase]).max(0.0))
        .sum();
    let mut entry = json!({
        "pageref": PAGE,
        "startedDateTime": date(number(&sent["wallTime"])),
        "time": spent,
        "request": request(exchange.request(), protocol(said)),
        "response": response(exchange, said, content),
        "cache": {},
        "timings": timings,
        "_resourceType": sent["type"].as_str().unwrap_or_default().to_lowercase(),
        "_requestId": exchange.id(),
    });
    if let Some(address) = said["remoteIPAddress"].as_str().filter(|address| !address.is_empty()) {
        entry["serverIPAddress"] = address.trim_matches(['[', ']']).into();
    }
    if let Some(connection) = said["connectionId"].as_u64().filter(|connection| *connection > 0) {
        entry["connection"] = connection.to_string().into();
    }
    entry
}

fn request(request: &Json, protocol: &str) -> Json {
    let url = request["url"].as_str().unwrap_or_default();
    let parsed = Url::parse(url).ok();
    let pairs = parsed.iter().flat_map(|url| url.query_pairs());
    let query: Vec<Json> = pairs.map(|(name, value)| json!({"name": name, "value": value})).collect();
    let mut told = json!({
        "method": request["method"], "url": url, "httpVersion": protocol, "cookies": [],
        "headers": headers(&request["headers"]), "queryString": query, "headersSize": -1, "bodySize": 0,
    });
    if let Some(text) = request["postData"].as_str() {
        let kind = header(&request["headers"], "content-type").unwrap_or_default();
        told["postData"] = json!({"mimeType": kind, "params": [], "text": text});
        told["bodySize"] = text.len().into();
    }
    told
}

fn response(exchange: &Exchange, said: &Json, mut content: Json) -> Json {
    content["size"] = exchange.received.into();
    content["mimeType"] = said["mimeType"].as_str().unwrap_or("x-unknown").into();
    let redirects = exchange.answered.as_ref().is_some_and(|answered| answered.redirects);
    let to = header(&said["headers"], "location").filter(|_| redirects).unwrap_or_default();
    let bytes = exchange.ended.as_ref().and_then(|ended| ended.params["encodedDataLength"].as_i64());
    let mut told = json!({
        "status": said["status"].as_u64().unwrap_or_default(),
        "statusText": said["statusText"].as_str().unwrap_or_default(), "httpVersion": protocol(said), "cookies": [],
        "headers": headers(&said["headers"]), "content": content, "redirectURL": to, "headersSize": -1,
        "bodySize": bytes.unwrap_or(-1),
    });
    if let Some(failure) = &exchange.failure {
        told["_error"] = failure.as_str().into();
    }
    told
}

fn headers(headers: &Json) -> Json {
    let shown = |name: &String, value: &Json| {
        let is_secret = SECRET.contains(&name.to_lowercase().as_str());
        if is_secret { "[left out]".to_owned() } else { value.as_str().unwrap_or_default().to_owned() }
    };
    let headers = headers.as_object().into_iter().flatten();
    headers.map(|(name, value)| json!({"name": name, "value": shown(name, value)})).collect()
}

fn header<'h>(headers: &'h Json, wanted: &str) -> Option<&'h str> {
    let mut headers = headers.as_object()?.iter();
    headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).and_then(|(_, value)| value.as_str())
}

fn protocol(said: &Json) -> &str {
    match said["protocol"].as_str().unwrap_or_default() {
        "http/1.0" => "HTTP/1.0",
        "h2" => "HTTP/2.0",
        "h3" => "HTTP/3.0",
        "" | "http/1.1" => "HTTP/1.1",
        other => other,
    }
}

/// The duration of each phase in milliseconds; −1 if it did not occur.
fn timings(exchange: &Exchange, said: &Json) -> Json {
    let ended = exchange.ended.as_ref().map(|ended| number(&ended.params["timestamp"]) * 1_000.0);
    let timing = &said["timing"];
    if !timing.is_object() {
        let began = number(&exchange.sent.params["timestamp"]) * 1_000.0;
        let wait = ended.map_or(0.0, |ended| (ended - began).max(0.0));
        return json!({
            "blocked": -1, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": rounded(wait), "receive": 0,
        });
    }
    let at = |field: &str| timing[field].as_f64().filter(|ms| *ms >= 0.0);
    let phase = |from: &str, to: &str| at(from).zip(at(to)).map_or(-1.0, |(from, to)| rounded((to - from).max(0.0)));
    let first = ["dnsStart", "connectStart", "sendStart"].iter().find_map(|field| at(field));
    let answered = at("receiveHeadersEnd").unwrap_or_default();
    let received = ended.map_or(0.0, |ended| (ended - number(&timing["requestTime"]) * 1_000.0 - answered).max(0.0));
    json!({
        "blocked": first.map_or(-1.0, rounded),
        "dns": phase("dnsStart", "dnsEnd"),
        "connect": phase("connectStart", "connectEnd"),
        "ssl": phase("sslStart", "sslEnd"),
        "send": phase("sendStart", "sendEnd").max(0.0),
        "wait": phase("sendEnd", "receiveHeadersEnd").max(0.0),
        "receive": rounded(received),
    })
}

fn number(value: &Json) -> f64 {
    value.as_f64().unwrap_or_default()
}

/// Rounds to a microsecond.
fn rounded(ms: f64) -> f64 {
    (ms * 1_000.0).round() / 1_000.0
}

/// Formats seconds since 1970 as ISO 8601.
fn date(seconds: f64) -> String {
    let ms = (seconds * 1_000.0).clamp(0.0, 253_402_300_799_999.0) as u64;
    let (days, of_day) = (ms / 86_400_000, ms % 86_400_000);
    // The calendar repeats every 400 years. Counting years from 1 March puts leap days at their end.
    let since_march = days + 719_468;
    let (era, of_era) = (since_march / 146_097, since_march % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hours, minutes, seconds, ms) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1_000 % 60, of_day % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{ms:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_iso_8601() {
        let rows = [
            (0.0, "1970-01-01T00:00:00.000Z"),
            (951_782_400.5, "2000-02-29T00:00:00.500Z"),
            (1_795_393_905.536, "2026-11-23T00:31:45.536Z"),
            (4_107_542_399.999, "2100-02-28T23:59:59.999Z"),
            (f64::NAN, "1970-01-01T00:00:00.000Z"),
        ];
        for (seconds, expected) in rows {
            assert_eq!(date(seconds), expected);
        }
    }

    #[test]
    fn what_proves_who_somebody_is_is_left_out() {
        let told = headers(&json!({"Authorization": "Basic c2VjcmV0", "cookie": "c2VjcmV0", "Accept": "*/*"}));
        assert!(!told.to_string().contains("c2VjcmV0"), "{told}");
        assert!(told.to_string().contains("*/*"), "{told}");
    }
}
