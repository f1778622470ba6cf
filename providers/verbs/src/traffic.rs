//! What a page has asked of servers, and what it wrote to its console: read from the events that are kept.

use crate::{observe, reports, tab::Tab};
use codemode_page::Event;
use codemode_spec::{
    ErrorReport,
    limits::{EVENTS_READ_MAX, PATTERN_BYTES_MAX},
};
use regex::RegexBuilder;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

/// Rows in an answer, unless the script says otherwise.
const ROWS_DEFAULT: usize = 100;

/// Which requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TrafficFilter {
    /// Those whose address contains a text.
    Text(String),
    /// Those whose address an expression finds.
    Regex {
        /// Its source.
        regex: String,
        /// Its flags.
        #[serde(default)]
        flags: String,
    },
    /// Those whose fields contain these texts: `method`, `status`, `resourceType`, `url`, `mimeType`, `failed`.
    Fields(Map<String, Json>),
}

impl Tab<'_> {
    /// The page's requests, oldest first: `requestId`, `method`, `url`, `resourceType`, and `status`, `mimeType`, `bytes` or
    /// `failed` when they have ended so. Only those since the page was first used, as far as their events are kept.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the filter is none.
    pub async fn network(&self, filter: Option<&TrafficFilter>, limit: Option<usize>) -> Result<Json, ErrorReport> {
        self.subscribe("Network.requestWillBeSent").await?;
        let matches = matcher(filter)?;
        let mut rows: Vec<Map<String, Json>> = Vec::new();
        for event in self.kept("Network.").await? {
            let id = &event.params["requestId"];
            if event.method == "Network.requestWillBeSent" {
                rows.push(request(&event.params));
                continue;
            }
            // A redirect has the id of the request before it.
            let Some(row) = rows.iter_mut().rev().find(|row| row["requestId"] == *id) else { continue };
            match event.method.as_str() {
                "Network.responseReceived" => {
                    row.insert("status".into(), event.params["response"]["status"].clone());
                    row.insert("mimeType".into(), event.params["response"]["mimeType"].clone());
                }
                "Network.loadingFinished" => {
                    row.insert("bytes".into(), event.params["encodedDataLength"].clone());
                }
                "Network.loadingFailed" => {
                    row.insert("failed".into(), event.params["errorText"].clone());
                }
                _ => {}
            }
        }
        rows.retain(|row| matches(row));
        Ok(last(rows.into_iter().map(Json::Object).collect(), limit))
    }

    /// What the page wrote to its console, and its uncaught errors, oldest first.
    ///
    /// # Errors
    /// When the page is gone.
    pub async fn console(&self, limit: Option<usize>) -> Result<Json, ErrorReport> {
        // The page tells what it had said before it was asked.
        self.subscribe("Runtime.consoleAPICalled").await?;
        let rows = self.kept("Runtime.").await?;
        let mut told: Vec<Json> = Vec::new();
        for event in rows {
            let row = match event.method.as_str() {
                "Runtime.consoleAPICalled" => observe::console_line(&event.params),
                "Runtime.exceptionThrown" => {
                    let mut error = observe::page_error(&event.params);
                    error["level"] = "error".into();
                    error["text"] = error["stack"].take();
                    error
                }
                _ => continue,
            };
            told.push(row);
        }
        Ok(last(told, limit))
    }

    /// The kept events of a domain from the page.
    async fn kept(&self, domain: &str) -> Result<Vec<std::sync::Arc<Event>>, ErrorReport> {
        let session = self.session().await?;
        let is_meant =
            |event: &Event| event.session.as_deref() == Some(session.as_str()) && event.method.starts_with(domain);
        Ok(self.browser.events().since(0, usize::MAX, &is_meant).events)
    }
}

fn request(params: &Json) -> Map<String, Json> {
    let row = json!({
        "requestId": params["requestId"], "method": params["request"]["method"], "url": params["request"]["url"],
        "resourceType": params["type"].as_str().unwrap_or_default().to_lowercase(),
    });
    match row {
        Json::Object(row) => row,
        _ => Map::new(),
    }
}

fn last(mut rows: Vec<Json>, limit: Option<usize>) -> Json {
    let limit = limit.unwrap_or(ROWS_DEFAULT).min(EVENTS_READ_MAX);
    rows.drain(..rows.len().saturating_sub(limit));
    Json::Array(rows)
}

type Matcher = Box<dyn Fn(&Map<String, Json>) -> bool + Send + Sync>;

fn matcher(filter: Option<&TrafficFilter>) -> Result<Matcher, ErrorReport> {
    let text_of = |row: &Map<String, Json>, field: &str| match row.get(field) {
        Some(Json::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    };
    Ok(match filter.cloned() {
        None => Box::new(|_| true),
        Some(TrafficFilter::Text(part)) => Box::new(move |row| text_of(row, "url").contains(&part)),
        Some(TrafficFilter::Regex { regex, flags }) => {
            if regex.len() > PATTERN_BYTES_MAX {
                return Err(reports::invalid(format!("a filter may have {PATTERN_BYTES_MAX} bytes")));
            }
            let built = RegexBuilder::new(&regex).case_insensitive(flags.contains('i')).build();
            let built = built.map_err(|error| reports::invalid(format!("the filter is no expression: {error}")))?;
            Box::new(move |row| built.is_match(&text_of(row, "url")))
        }
        Some(TrafficFilter::Fields(fields)) => Box::new(move |row| {
            fields.iter().all(|(field, wanted)| match wanted {
                Json::String(part) => text_of(row, field).contains(part.as_str()),
                wanted => row.get(field) == Some(wanted),
            })
        }),
    })
}
