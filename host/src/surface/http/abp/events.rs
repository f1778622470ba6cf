//! Tracks what happens in a tab during an action: translates the verbs' events into events of ABP, counts requests in
//! flight, and waits until the tab is idle.

use super::{
    browser::{Download, KINDS, TabHandle},
    network::Capture,
};
use crate::surface::http::contract::{Failure, call};
use codemode_spec::limits::{DIRECT_NAVIGATE_MS, EVENTS_READ_MAX};
use serde_json::{Value as Json, json};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::time::Instant;

/// The number of requests in flight up to which a tab counts as idle.
const REQUESTS_AT_REST: usize = 2;
/// How long no request may start or end for a tab to be idle.
const QUIET: Duration = Duration::from_millis(500);
/// The shorter wait if nothing has happened since the action.
const IDLE: Duration = Duration::from_millis(100);

/// The activity of a tab since an action started, of each kind at most [`EVENTS_READ_MAX`]; further ones are not
/// tracked.
#[derive(Default)]
pub(super) struct Activity {
    pub(super) events: Vec<Json>,
    under_way: HashSet<String>,
    /// The requests that were sent, with their resource type and whether they have a response.
    requests: HashMap<String, (String, bool)>,
    /// Whether a new document is still loading.
    loads: bool,
    last: Option<Instant>,
    /// The cause to report for a navigation.
    navigation: &'static str,
}

impl Activity {
    /// No activity yet; a navigation will be reported with this cause.
    pub(super) fn by(navigation: &'static str) -> Self {
        Self { navigation, ..Self::default() }
    }

    /// The ids of the captured requests, and how many of them have a response.
    pub(super) fn requests(&self, capture: &Capture) -> (HashSet<String>, usize) {
        let meant = || self.requests.iter().filter(|(_, (kind, _))| capture.means(kind));
        (meant().map(|(id, _)| id.clone()).collect(), meant().filter(|(_, (_, is_answered))| *is_answered).count())
    }

    /// Adds a scroll event if the position changed.
    pub(super) fn scrolled(&mut self, tab: &str, before: &Json, after: &Json, source: &'static str) {
        let moved = |name: &str| after[name].as_f64().unwrap_or_default() - before[name].as_f64().unwrap_or_default();
        let (x, y) = (moved("horizontal_px"), moved("vertical_px"));
        // The positions of two documents cannot be compared.
        let is_other = self.events.iter().any(|event| event["type"] == "navigation");
        if (x == 0.0 && y == 0.0) || !before.is_object() || !after.is_object() || is_other {
            return;
        }
        let direction = match (x.abs() > y.abs(), x > 0.0, y > 0.0) {
            (true, true, _) => "right",
            (true, false, _) => "left",
            (false, _, true) => "down",
            (false, _, false) => "up",
        };
        let position = ["horizontal_percent", "vertical_percent", "horizontal_px", "vertical_px"];
        let position: Json = position.into_iter().map(|name| (name, after[name].clone())).collect();
        self.add(
            "scroll",
            json!({
                "tab_id": tab, "delta": {"x": whole(x), "y": whole(y), "direction": direction}, "position": position,
                "source": source,
            }),
        );
    }

    /// Adds an event.
    pub(super) fn add(&mut self, kind: &str, data: Json) {
        if self.events.len() < EVENTS_READ_MAX {
            self.events.push(event(kind, data));
        }
    }

    fn request_began(&mut self, id: String, kind: String) {
        if self.requests.len() < EVENTS_READ_MAX {
            self.requests.insert(id.clone(), (kind, false));
        }
        if self.under_way.len() < EVENTS_READ_MAX {
            self.under_way.insert(id);
        }
        self.last = Some(Instant::now());
    }

    /// How much longer the tab must stay quiet to be idle; `None` while it is loading or has too many requests in
    /// flight.
    fn until_rest(&self, began: Instant) -> Option<Duration> {
        if self.loads || self.under_way.len() > REQUESTS_AT_REST {
            return None;
        }
        let (last, quiet) = self.last.map_or((began, IDLE), |last| (last, QUIET));
        Some(quiet.saturating_sub(last.elapsed()))
    }

    /// Reads new events; waits up to `wait` for the first one.
    pub(super) async fn read(&mut self, at: &TabHandle, wait: Duration) -> Result<(), Failure> {
        let tab = &at.page.id;
        let since = at.session.state.known().tabs.get(tab).and_then(|tab| tab.since);
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let query = json!({"page": tab, "since": since, "types": KINDS, "timeoutMs": wait_ms});
        let news = call(&at.session, "events", query, wait_ms.saturating_add(DIRECT_NAVIGATE_MS)).await?;
        if let Some(tab) = at.session.state.known().tabs.get_mut(tab) {
            tab.since = news["next"].as_u64();
        }
        for event in news["events"].as_array().into_iter().flatten() {
            self.take(at, event);
        }
        Ok(())
    }

    fn take(&mut self, at: &TabHandle, event: &Json) {
        let tab = &at.page.id;
        let id = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
        let mut known = at.session.state.known();
        let data = match event["type"].as_str().unwrap_or_default() {
            "request" => {
                self.request_began(id("requestId"), id("resourceType"));
                return;
            }
            "response" => {
                if let Some((_, is_answered)) = self.requests.get_mut(&id("requestId")) {
                    *is_answered = true;
                }
                return;
            }
            "requestfinished" | "requestfailed" => {
                self.under_way.remove(&id("requestId"));
                self.last = Some(Instant::now());
                return;
            }
            "load" => {
                self.loads = false;
                self.last = Some(Instant::now());
                return;
            }
            "framenavigated" if event["frame"] == tab.as_str() => {
                // A same-document navigation has no frame name, and loads nothing.
                self.loads |= event.get("name").is_some();
                self.last = Some(Instant::now());
                let navigation = if self.navigation.is_empty() { "link_click" } else { self.navigation };
                ("navigation", json!({"tab_id": tab, "url": event["url"], "navigation_type": navigation}))
            }
            "dialog" => {
                let dialog = json!({
                    "dialog_type": event["kind"], "message": event["message"],
                    "default_prompt": event["defaultValue"].as_str().unwrap_or_default(),
                });
                let mut data = dialog.clone();
                data["tab_id"] = json!(tab);
                data["pending"] = json!(true);
                known.tab(tab).dialog = Some(Arc::new(dialog));
                ("dialog", data)
            }
            "filechooser" => {
                let multiple = event["multiple"] == true;
                let chooser = known.add_chooser(tab, &id("chooser"));
                let kind = if multiple { "open_multiple" } else { "open" };
                let data =
                    json!({"id": chooser, "tab_id": tab, "chooser_type": kind, "multiple": multiple, "pending": true});
                ("file_chooser", data)
            }
            "select" => {
                let popup = known.add_popup(tab, &id("id"));
                let data = json!({
                    "id": popup, "tab_id": tab, "multiple": event["multiple"], "options": event["options"], "pending": true,
                });
                ("select_open", data)
            }
            "popup" => (
                "popup",
                json!({"source_tab_id": tab, "new_tab_id": event["popup"], "url": event["url"], "popup_type": "tab"}),
            ),
            "close" => {
                known.tabs.remove(tab);
                ("tab_closed", json!({"tab_id": tab, "reason": "script"}))
            }
            "download" => {
                let download = Download {
                    id: id("download"),
                    tab: tab.clone(),
                    url: id("url"),
                    filename: id("suggestedFilename"),
                    start_ms: now_ms(),
                    is_over: false,
                };
                let data = json!({
                    "download_id": download.id, "url": download.url, "filename": download.filename,
                    "mime_type": mime_type(&download.filename),
                });
                known.add_download(download);
                ("download_started", data)
            }
            _ => return,
        };
        self.add(data.0, data.1);
    }

    /// Waits until the tab is idle: its document is loaded and few requests are in flight. A dialog ends the wait.
    pub(super) async fn rest(&mut self, at: &TabHandle, time: Duration) -> Result<(), Failure> {
        self.read(at, Duration::ZERO).await?;
        if !at.has_dialog() {
            // A barrier: the page answers after it has handled the input, so what that started is among the events by
            // then.
            let barrier = json!({"function": "0", "isFunction": false});
            let _ = at.act("evaluate", barrier, DIRECT_NAVIGATE_MS).await;
        }
        let began = Instant::now();
        loop {
            self.read(at, Duration::ZERO).await?;
            let left = time.saturating_sub(began.elapsed());
            let stands_still = at.session.state.known().tabs.get(&at.page.id).is_none_or(|tab| tab.dialog.is_some());
            if self.loads && self.until_rest(began).is_none() && self.under_way.len() <= REQUESTS_AT_REST {
                // A document restored from the back/forward cache fires no load event.
                let state = json!({"function": "document.readyState", "isFunction": false});
                self.loads = at.call("evaluate", state, DIRECT_NAVIGATE_MS).await?["value"] != "complete";
            }
            let wait = self.until_rest(began).unwrap_or(QUIET);
            if left.is_zero() || stands_still || wait.is_zero() {
                return Ok(());
            }
            self.read(at, wait.min(left)).await?;
        }
    }
}

/// An event as JSON of the contract.
pub(super) fn event(kind: &str, data: Json) -> Json {
    json!({"type": kind, "virtual_time_ms": now_ms(), "data": data})
}

/// The MIME type of a file, by its name.
pub(super) fn mime_type(filename: &str) -> String {
    mime_guess::from_path(filename).first_or_octet_stream().to_string()
}

/// A number as JSON, without a fraction if it is whole.
pub(super) fn whole(number: f64) -> Json {
    if number.fract() == 0.0 && number.abs() < 1e15 { json!(number as i64) } else { json!(number) }
}

/// The wall-clock time, in milliseconds since the Unix epoch.
pub(super) fn now_ms() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_activity_of_a_page_that_never_stops_is_bounded() {
        let mut activity = Activity::default();
        for number in 0..=EVENTS_READ_MAX {
            activity.add("navigation", json!({ "number": number }));
            activity.request_began(number.to_string(), "Fetch".to_owned());
        }
        let lengths = [activity.events.len(), activity.requests.len(), activity.under_way.len()];
        assert_eq!(lengths, [EVENTS_READ_MAX; 3]);
    }
}
