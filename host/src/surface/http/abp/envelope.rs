//! The envelope of an action: a screenshot before, the action, waiting for its effects, a screenshot after, and the
//! scroll position, events and timing in the answer.

use super::{
    browser::TabHandle,
    events::{Activity, now_ms, whole},
    files::add_finished_downloads,
    network::Capture,
};
use crate::surface::http::contract::{Failure, Fields, call_whole, pages, value_of};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use codemode_spec::{
    ErrorCode, Value,
    limits::{ABP_WAIT_MS, ABP_WAIT_MS_MAX, DIRECT_NAVIGATE_MS},
};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// The overlays of a screenshot; all are on by default.
const MARKUP: [&str; 5] = ["clickable", "typeable", "scrollable", "grid", "selected"];
/// The WebP quality of screenshots.
const QUALITY: u32 = 80;
/// A function that reads the page's scroll position and sizes.
const SCROLLED: &str = "() => { const e = document.scrollingElement ?? document.documentElement; \
    return [scrollX, scrollY, e.scrollWidth, e.scrollHeight, innerWidth, innerHeight]; }";

/// The name of an action, and the causes to report for its effects.
pub(super) struct Kind {
    /// Its name in the history.
    pub(super) name: &'static str,
    /// The cause to report for a navigation.
    pub(super) navigation: &'static str,
    /// The cause to report for scrolling.
    pub(super) scroll: &'static str,
}

/// The options of the envelope that a request specifies.
pub(super) struct Envelope {
    markup: Option<Vec<&'static str>>,
    has_cursor: bool,
    wait: Wait,
    pub(super) capture: Option<Capture>,
}

enum Wait {
    Rest(Duration),
    Time(Duration),
    None,
}

/// The course of an action, including one that failed.
#[derive(Default)]
pub(super) struct ActionTrace {
    /// Start and end, in milliseconds since the Unix epoch.
    pub(super) started: u64,
    pub(super) ended: u64,
    pub(super) activity: Activity,
    /// The screenshots before and after.
    pub(super) pictures: [Option<Vec<u8>>; 2],
}

impl Envelope {
    pub(super) fn read(body: &Fields) -> Result<Self, Failure> {
        let part = |name: &str| body.0.get(name).and_then(Json::as_object).cloned().map(Fields);
        let wait = part("wait_until").unwrap_or_default();
        let time = Duration::from_millis(wait.time_ms("timeout_ms", ABP_WAIT_MS, 0, ABP_WAIT_MS_MAX));
        let wait = match wait.text("type").as_deref() {
            None | Some("action_complete") => Wait::Rest(time),
            Some("immediate") => Wait::None,
            Some("time") => {
                let ms =
                    wait.number("duration_ms").ok_or_else(|| Failure::bad("wait_until.duration_ms is required"))?;
                Wait::Time(Duration::from_millis((ms.max(0.0) as u64).min(ABP_WAIT_MS_MAX)))
            }
            Some(_) => return Err(Failure::bad("wait_until.type must be action_complete, immediate or time")),
        };
        let screenshot = part("screenshot").unwrap_or_default();
        let markup = match screenshot.text("area").as_deref() {
            Some("none") => None,
            None | Some("viewport") => Some(markup(&screenshot.texts("disable_markup"))?),
            Some(_) => return Err(Failure::bad("screenshot.area must be viewport or none")),
        };
        let capture = part("network").map(|network| Capture::read(&network)).transpose()?;
        Ok(Self { markup, has_cursor: screenshot.truth("cursor").unwrap_or(true), wait, capture })
    }

    /// Executes an action; the caller holds the tab's lock.
    pub(super) async fn around(
        &self,
        at: &TabHandle,
        kind: &Kind,
        trace: &mut ActionTrace,
        action: impl AsyncFnOnce(&TabHandle) -> Result<Json, Failure>,
    ) -> Result<Json, Failure> {
        (trace.started, trace.ended) = (now_ms(), now_ms());
        at.watch().await?;
        // Discard events from before the action.
        Activity::default().read(at, Duration::ZERO).await?;
        let (before, from) = (self.picture(at).await, scrolled(at).await);
        trace.pictures[0] = before.as_ref().and_then(|picture| picture.taken.clone());
        trace.activity = Activity::by(kind.navigation);
        let activity = &mut trace.activity;
        trace.started = now_ms();
        let done = action(at).await;
        let completed = now_ms();
        trace.ended = completed;
        let mut result = done?;
        match self.wait {
            Wait::Rest(time) => activity.rest(at, time).await?,
            Wait::Time(time) => {
                tokio::time::sleep(time).await;
                activity.read(at, Duration::ZERO).await?;
            }
            Wait::None => activity.read(at, Duration::ZERO).await?,
        }
        trace.ended = now_ms();
        if result.get("url").is_some_and(Json::is_null) {
            // The action leaves the URL to be filled in after the wait.
            let page = pages(&at.session).await?.into_iter().find(|page| page.id == at.page.id);
            result["url"] = json!(page.map(|page| page.url));
        }
        let (after, scroll) = (self.picture(at).await, scrolled(at).await);
        trace.pictures[1] = after.as_ref().and_then(|picture| picture.taken.clone());
        activity.scrolled(&at.page.id, &from, &scroll, kind.scroll);
        add_finished_downloads(at, activity).await?;
        let mut reply = json!({
            "result": result, "scroll": scroll, "events": activity.events,
            "timing": {
                "action_started_ms": trace.started, "action_completed_ms": completed, "wait_completed_ms": trace.ended,
                "duration_ms": trace.ended.saturating_sub(trace.started),
            },
        });
        if self.markup.is_some() {
            reply["screenshot_before"] = before.map(|picture| picture.json).unwrap_or_default();
            reply["screenshot_after"] = after.map(|picture| picture.json).unwrap_or_default();
        }
        if let Some(capture) = &self.capture {
            let (requests, completed) = activity.requests(capture);
            let (total, tag) = (requests.len(), &capture.tag);
            reply["network"] =
                json!({"total": total, "completed": completed, "pending": total - completed, "tag": tag});
        }
        Ok(reply)
    }

    /// A screenshot of the tab; while a dialog blocks rendering, the last one, marked as stale.
    async fn picture(&self, at: &TabHandle) -> Option<Picture> {
        let markup = self.markup.as_ref()?;
        let has_dialog = at.has_dialog();
        let taken = if has_dialog { None } else { picture(at, markup, self.has_cursor).await.ok() };
        let mut known = at.session.state.known();
        let tab = known.tabs.get_mut(&at.page.id)?;
        match taken.and_then(|bytes| Some((picture_json(&bytes)?, bytes))) {
            Some((picture, bytes)) => {
                tab.picture = Some(picture.clone());
                Some(Picture { json: picture, taken: Some(bytes) })
            }
            None => {
                let mut last = tab.picture.clone()?;
                last["stale"] = json!(true);
                Some(Picture { json: last, taken: None })
            }
        }
    }
}

/// A screenshot of a tab.
struct Picture {
    json: Json,
    /// The bytes, unless it is stale.
    taken: Option<Vec<u8>>,
}

/// The overlays that are not disabled.
pub(super) fn markup(disabled: &[String]) -> Result<Vec<&'static str>, Failure> {
    if let Some(unknown) = disabled.iter().find(|tag| !MARKUP.contains(&tag.as_str())) {
        return Err(Failure::bad(&format!("disable_markup has {unknown:?}; there are {}", MARKUP.join(", "))));
    }
    Ok(MARKUP.into_iter().filter(|tag| !disabled.iter().any(|disabled| disabled == tag)).collect())
}

/// Takes a screenshot of the viewport, as WebP.
pub(super) async fn picture(at: &TabHandle, markup: &[&str], has_cursor: bool) -> Result<Vec<u8>, Failure> {
    let cursor = at.session.state.known().tabs.get(&at.page.id).and_then(|tab| tab.cursor).filter(|_| has_cursor);
    let cursor = cursor.map(|(x, y)| json!({"x": x, "y": y}));
    let argument = json!({
        "page": at.page.id, "timeoutMs": DIRECT_NAVIGATE_MS, "type": "webp", "quality": QUALITY, "markup": markup,
        "cursor": cursor,
    });
    let answer = call_whole(&at.session, "screenshot", argument, DIRECT_NAVIGATE_MS).await?;
    Ok(if let Value::Bytes(_, bytes) = value_of(answer) { bytes } else { Vec::new() })
}

fn picture_json(picture: &[u8]) -> Option<Json> {
    let (width, height) = size(picture)?;
    Some(json!({
        "data": BASE64_STANDARD.encode(picture), "width": width, "height": height, "virtual_time_ms": now_ms(), "format": "webp",
    }))
}

/// Width and height of a WebP (RFC 9649, sections 2.5 to 2.7).
fn size(webp: &[u8]) -> Option<(u32, u32)> {
    let number = |from: usize, bytes: usize| {
        let bytes = webp.get(from..from + bytes)?;
        Some(bytes.iter().rev().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)))
    };
    match webp.get(12..16)? {
        b"VP8 " => Some((number(26, 2)? & 0x3fff, number(28, 2)? & 0x3fff)),
        b"VP8L" => {
            let bits = number(21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => Some((number(24, 3)? + 1, number(27, 3)? + 1)),
        _ => None,
    }
}

/// The scroll position of the tab; the last known one while a dialog blocks the page.
async fn scrolled(at: &TabHandle) -> Json {
    let has_dialog = at.has_dialog();
    let argument = json!({"function": SCROLLED, "isFunction": true});
    let reply = if has_dialog { None } else { at.call("evaluate", argument, DIRECT_NAVIGATE_MS).await.ok() };
    let numbers: Option<Vec<f64>> =
        reply.map(|reply| reply["value"].as_array().into_iter().flatten().filter_map(Json::as_f64).collect());
    let mut known = at.session.state.known();
    let Some(tab) = known.tabs.get_mut(&at.page.id) else { return Json::Null };
    if let Some([x, y, width, height, shown_width, shown_height]) = numbers.as_deref() {
        let percent = |at: f64, whole: f64, shown: f64| {
            let most = whole - shown;
            if most > 0.0 { (at / most * 10_000.0).round() / 100.0 } else { 0.0 }
        };
        tab.scroll = Some(json!({
            "horizontal_percent": whole(percent(*x, *width, *shown_width)),
            "vertical_percent": whole(percent(*y, *height, *shown_height)),
            "horizontal_px": whole(*x), "vertical_px": whole(*y), "page_width": whole(*width), "page_height": whole(*height),
            "viewport_width": whole(*shown_width), "viewport_height": whole(*shown_height),
        }));
    }
    tab.scroll.clone().unwrap_or_default()
}

/// Maps an exception of an evaluated script to a bad request.
pub(super) fn as_bad_request(failure: Failure) -> Failure {
    match failure.error.code {
        ErrorCode::JsException => {
            failure.with_status(axum::http::StatusCode::BAD_REQUEST).with_code("EVALUATION_ERROR")
        }
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_picture_is_in_its_head() {
        let riff = |kind: &[u8], rest: &[u8]| [b"RIFF\0\0\0\0WEBP", kind, &[0; 4], rest].concat();
        let lossy = riff(b"VP8 ", &[0, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x07, 0x38, 0x04]);
        assert_eq!(size(&lossy), Some((1920, 1080)));
        let extended = riff(b"VP8X", &[0, 0, 0, 0, 0x7f, 0x07, 0, 0x37, 0x04, 0]);
        assert_eq!(size(&extended), Some((1920, 1080)));
        let lossless = riff(b"VP8L", &[0x2f, 0x7f, 0xc7, 0x0d, 0x01]);
        assert_eq!(size(&lossless), Some((1920, 1080)));
        for end in 0..lossless.len() {
            assert_eq!(size(&lossless[..end]), None);
        }
    }

    #[test]
    fn overlays_are_all_there_but_those_that_are_disabled() {
        assert_eq!(markup(&["grid".to_owned()]).unwrap(), ["clickable", "typeable", "scrollable", "selected"]);
        assert!(markup(&["everything".to_owned()]).unwrap_err().error.message.contains("clickable, typeable"));
    }
}
