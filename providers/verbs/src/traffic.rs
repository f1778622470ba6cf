//! The requests of a page and the messages of its console, read from the event log.

use crate::{
    console, reports,
    state::{frames::page_of_target, routes::is_icon},
    tab::Tab,
};
use codemode_page::{ConnectedBrowser, Event};
use codemode_spec::{
    ErrorReport,
    limits::{EVENTS_READ_MAX, PATTERN_BYTES_MAX},
};
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::{collections::HashMap, sync::Arc};

/// The number of rows returned by default.
const ROWS_DEFAULT: usize = 100;

/// Which requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum TrafficFilter {
    /// Those whose address contains a text.
    Text(String),
    /// Those whose address an expression finds.
    Regex(Expression),
    /// Those whose fields contain these texts, are found by these expressions, or have these values: `method`, `status`,
    /// `resourceType`, `url`, `mimeType`, `failed`.
    Fields(Map<String, Json>),
}

/// A regular expression.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Expression {
    /// Its source.
    regex: String,
    /// Its flags, in the form of JavaScript.
    #[serde(default)]
    flags: String,
}

/// A request and its outcome, as the events that report them.
pub(crate) struct Exchange {
    pub(crate) sent: Arc<Event>,
    /// The server's response.
    pub(crate) answered: Option<Answered>,
    /// The event that ended it, successfully or not.
    pub(crate) ended: Option<Arc<Event>>,
    /// Why it failed, if it did.
    pub(crate) failure: Option<String>,
    /// The bytes of the body that the page has received, decoded.
    pub(crate) received: u64,
}

/// The server's response.
pub(crate) struct Answered {
    event: Arc<Event>,
    /// Whether it is a redirect: then `event` is that of the request to the new URL.
    pub(crate) redirects: bool,
}

impl Answered {
    pub(crate) fn response(&self) -> &Json {
        &self.event.params[if self.redirects { "redirectResponse" } else { "response" }]
    }
}

impl Exchange {
    fn of(sent: &Arc<Event>) -> Self {
        Self { sent: Arc::clone(sent), answered: None, ended: None, failure: None, received: 0 }
    }

    pub(crate) fn request(&self) -> &Json {
        &self.sent.params["request"]
    }

    pub(crate) fn id(&self) -> &str {
        self.sent.params["requestId"].as_str().unwrap_or_default()
    }

    pub(crate) const fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Records that it has failed.
    fn fail(&mut self, event: Arc<Event>, browser: &ConnectedBrowser) {
        let error = event.params["errorText"].as_str().unwrap_or_default();
        self.failure = Some(browser.net_error(url_of(&self.sent), error));
        self.ended = Some(event);
    }

    fn row(&self) -> Map<String, Json> {
        let params = &self.sent.params;
        let row = json!({
            "requestId": params["requestId"], "method": params["request"]["method"], "url": params["request"]["url"],
            "resourceType": params["type"].as_str().unwrap_or_default().to_lowercase(),
        });
        let Json::Object(mut row) = row else { return Map::new() };
        if let Some(answered) = &self.answered {
            row.insert("status".into(), answered.response()["status"].clone());
            row.insert("mimeType".into(), answered.response()["mimeType"].clone());
        }
        if let Some(failure) = &self.failure {
            row.insert("failed".into(), failure.as_str().into());
        } else if let Some(ended) = &self.ended {
            row.insert("bytes".into(), ended.params["encodedDataLength"].clone());
        }
        row
    }
}

const SENT: &str = "Network.requestWillBeSent";
const ANSWERED: &str = "Network.responseReceived";
const FINISHED: &str = "Network.loadingFinished";
const FAILED: &str = "Network.loadingFailed";
const RECEIVED: &str = "Network.dataReceived";

/// The URL of a request that was sent.
pub(crate) fn url_of(sent: &Event) -> &str {
    sent.params["request"]["url"].as_str().unwrap_or_default()
}

impl Tab<'_> {
    /// The page's requests, oldest first: `requestId`, `method`, `url`, `resourceType`, and once they have ended
    /// `status`, `mimeType`, `bytes` or `failed`. Only requests since the page was first used, as far as their events
    /// are still in the log.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the filter is invalid.
    pub async fn network(&self, filter: Option<&TrafficFilter>, limit: Option<usize>) -> Result<Json, ErrorReport> {
        let exchanges = self.exchanges(filter).await?;
        Ok(last(exchanges.iter().map(|exchange| exchange.row().into()).collect(), limit))
    }

    /// The page's requests that match a filter, oldest first.
    pub(crate) async fn exchanges(&self, filter: Option<&TrafficFilter>) -> Result<Vec<Exchange>, ErrorReport> {
        self.subscribe_with_frames(SENT, "Network.enable").await?;
        let matches = matcher(filter)?;
        let mut exchanges: Vec<Exchange> = Vec::new();
        // The newest request of each id: a redirect reuses the id of the request before it.
        let mut by_id: HashMap<String, usize> = HashMap::new();
        for event in self.kept("Network.").await? {
            let Some(id) = event.params["requestId"].as_str() else { continue };
            let known = by_id.get(id).copied();
            let exchange = known.and_then(|at| exchanges.get_mut(at));
            match (event.method.as_str(), exchange) {
                (SENT, _) if is_icon(url_of(&event), &event.params["type"]) => {}
                (SENT, before) => {
                    if let Some(before) = before.filter(|_| event.params["redirectResponse"].is_object()) {
                        before.answered = Some(Answered { event: Arc::clone(&event), redirects: true });
                    }
                    by_id.insert(id.to_owned(), exchanges.len());
                    exchanges.push(Exchange::of(&event));
                }
                (ANSWERED, Some(exchange)) => {
                    exchange.answered = Some(Answered { event, redirects: false });
                }
                (FINISHED, Some(exchange)) => exchange.ended = Some(event),
                (FAILED, Some(exchange)) => exchange.fail(event, &self.browser),
                (RECEIVED, Some(exchange)) => {
                    exchange.received += event.params["dataLength"].as_u64().unwrap_or_default();
                }
                _ => {}
            }
        }
        exchanges.retain(|exchange| matches(&exchange.row()));
        Ok(exchanges)
    }

    /// The page's console messages and uncaught errors, oldest first.
    ///
    /// # Errors
    /// When the page is closed.
    pub async fn console(&self, limit: Option<usize>) -> Result<Json, ErrorReport> {
        // On enabling, the page also reports its earlier messages.
        self.subscribe_with_frames(console::LINE, "Runtime.enable").await?;
        let events = self.kept("Runtime.").await?;
        let again = console::replayed_events(self.browser.events());
        let mut told: Vec<Json> = Vec::new();
        for event in events.iter().filter(|event| !again.contains(&event.seq)) {
            let row = match event.method.as_str() {
                console::LINE => console::line(&event.params),
                console::THROWN => {
                    let mut error = console::error(&event.params);
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

    /// The events of a domain in the log, from the page and its frames.
    async fn kept(&self, domain: &str) -> Result<Vec<Arc<Event>>, ErrorReport> {
        let session = self.session().await?;
        let mut of_page = HashMap::from([(session, true)]);
        let mut events = self.browser.events().since(0, usize::MAX, &|event| event.method.starts_with(domain)).events;
        events.retain(|event| {
            let Some(session) = &event.session else { return false };
            if let Some(of_page) = of_page.get(session) {
                return *of_page;
            }
            let target = self.browser.targets.target_of(session);
            let page = target.and_then(|target| page_of_target(&self.browser, &target));
            *of_page.entry(session.clone()).or_insert(page.as_deref() == Some(&self.id))
        });
        Ok(events)
    }
}

fn last(mut rows: Vec<Json>, limit: Option<usize>) -> Json {
    let limit = limit.unwrap_or(ROWS_DEFAULT).min(EVENTS_READ_MAX);
    rows.drain(..rows.len().saturating_sub(limit));
    Json::Array(rows)
}

type Matcher = Box<dyn Fn(&Map<String, Json>) -> bool + Send + Sync>;

fn matcher(filter: Option<&TrafficFilter>) -> Result<Matcher, ErrorReport> {
    Ok(match filter.cloned() {
        None => Box::new(|_| true),
        Some(TrafficFilter::Text(part)) => Box::new(move |row| text_of(row, "url").contains(&part)),
        Some(TrafficFilter::Regex(expression)) => {
            let built = expression.built()?;
            Box::new(move |row| built.is_match(&text_of(row, "url")))
        }
        Some(TrafficFilter::Fields(fields)) => {
            let fields: Result<Vec<_>, ErrorReport> =
                fields.into_iter().map(|(field, wanted)| Ok((field, Wanted::of(wanted)?))).collect();
            let fields = fields?;
            Box::new(move |row| fields.iter().all(|(field, wanted)| wanted.is_in(row, field)))
        }
    })
}

/// The condition on a field of a row.
enum Wanted {
    Part(String),
    Found(Regex),
    Same(Json),
}

impl Wanted {
    fn of(wanted: Json) -> Result<Self, ErrorReport> {
        Ok(match wanted {
            Json::String(part) => Self::Part(part),
            Json::Object(_) => {
                let expression: Result<Expression, _> = serde_json::from_value(wanted);
                let no_filter = |_| reports::invalid("a field of a filter is a text, an expression or a value");
                Self::Found(expression.map_err(no_filter)?.built()?)
            }
            wanted => Self::Same(wanted),
        })
    }

    fn is_in(&self, row: &Map<String, Json>, field: &str) -> bool {
        match self {
            Self::Part(part) => text_of(row, field).contains(part.as_str()),
            Self::Found(expression) => expression.is_match(&text_of(row, field)),
            // A boolean tests whether the field is present, so that `failed: true` works.
            Self::Same(Json::Bool(wanted)) => row.contains_key(field) == *wanted,
            Self::Same(wanted) => row.get(field) == Some(wanted),
        }
    }
}

impl Expression {
    fn built(&self) -> Result<Regex, ErrorReport> {
        if self.regex.len() > PATTERN_BYTES_MAX {
            return Err(reports::invalid(format!("a filter may have {PATTERN_BYTES_MAX} bytes")));
        }
        let built = RegexBuilder::new(&self.regex).case_insensitive(self.flags.contains('i')).build();
        built.map_err(|error| reports::invalid(format!("the filter is no expression: {error}")))
    }
}

fn text_of(row: &Map<String, Json>, field: &str) -> String {
    match row.get(field) {
        Some(Json::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}
