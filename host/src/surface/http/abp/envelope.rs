//! The envelope of an action: a picture before, the action, its wait, a picture after, scroll, events, timing.

use super::{
    browser::At,
    events::{Happened, now_ms, whole},
    files::tell_finished,
    network::Capture,
};
use crate::surface::http::face::{Failure, Fields, call_whole, pages, value_of};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use codemode_spec::{
    ErrorCode, Value,
    limits::{ABP_WAIT_MS, ABP_WAIT_MS_MAX, DIRECT_NAVIGATE_MS},
};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// Overlays of a picture, all of them where nothing is said.
const MARKUP: [&str; 5] = ["clickable", "typeable", "scrollable", "grid", "selected"];
/// The quality of pictures.
const QUALITY: u32 = 80;
/// Reads how far the page is scrolled.
const SCROLLED: &str = "() => { const e = document.scrollingElement ?? document.documentElement; \
    return [scrollX, scrollY, e.scrollWidth, e.scrollHeight, innerWidth, innerHeight]; }";

/// What an action is, besides what it does.
pub(super) struct Kind {
    /// Its name in the history.
    pub(super) name: &'static str,
    /// How a navigation would come about.
    pub(super) navigation: &'static str,
    /// What would have scrolled.
    pub(super) scroll: &'static str,
}

/// What an action asks for besides itself.
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

/// How an action went, also one that failed.
#[derive(Default)]
pub(super) struct Course {
    /// In milliseconds since the Unix epoch, as the other one.
    pub(super) started: u64,
    pub(super) ended: u64,
    pub(super) happened: Happened,
    /// The tab before and after.
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

    /// Carries out an action, in its turn.
    pub(super) async fn around(
        &self,
        at: &At,
        kind: &Kind,
        course: &mut Course,
        action: impl AsyncFnOnce(&At) -> Result<Json, Failure>,
    ) -> Result<Json, Failure> {
        (course.started, course.ended) = (now_ms(), now_ms());
        at.watch().await?;
        // What happened before is none of this action's.
        Happened::default().read(at, Duration::ZERO).await?;
        let (before, from) = (self.picture(at).await, scrolled(at).await);
        course.pictures[0] = before.as_ref().and_then(|picture| picture.taken.clone());
        course.happened = Happened::by(kind.navigation);
        let happened = &mut course.happened;
        course.started = now_ms();
        let done = action(at).await;
        let completed = now_ms();
        course.ended = completed;
        let mut result = done?;
        match self.wait {
            Wait::Rest(time) => happened.rest(at, time).await?,
            Wait::Time(time) => {
                tokio::time::sleep(time).await;
                happened.read(at, Duration::ZERO).await?;
            }
            Wait::None => happened.read(at, Duration::ZERO).await?,
        }
        course.ended = now_ms();
        if result.get("url").is_some_and(Json::is_null) {
            // Where the tab has come to by now.
            let page = pages(&at.session).await?.into_iter().find(|page| page.id == at.page.id);
            result["url"] = json!(page.map(|page| page.url));
        }
        let (after, scroll) = (self.picture(at).await, scrolled(at).await);
        course.pictures[1] = after.as_ref().and_then(|picture| picture.taken.clone());
        happened.scrolled(&at.page.id, &from, &scroll, kind.scroll);
        tell_finished(at, happened).await?;
        let mut told = json!({
            "result": result, "scroll": scroll, "events": happened.events,
            "timing": {
                "action_started_ms": course.started, "action_completed_ms": completed, "wait_completed_ms": course.ended,
                "duration_ms": course.ended.saturating_sub(course.started),
            },
        });
        if self.markup.is_some() {
            told["screenshot_before"] = before.map(|picture| picture.told).unwrap_or_default();
            told["screenshot_after"] = after.map(|picture| picture.told).unwrap_or_default();
        }
        if let Some(capture) = &self.capture {
            let (requests, completed) = happened.requests(capture);
            let (total, tag) = (requests.len(), &capture.tag);
            told["network"] = json!({"total": total, "completed": completed, "pending": total - completed, "tag": tag});
        }
        Ok(told)
    }

    /// The tab as it looks; its last picture, marked as stale, while a dialog keeps it from being drawn.
    async fn picture(&self, at: &At) -> Option<Picture> {
        let markup = self.markup.as_ref()?;
        let has_dialog = at.has_dialog();
        let taken = if has_dialog { None } else { picture(at, markup, self.has_cursor).await.ok() };
        let mut known = at.session.state.known();
        let tab = known.tabs.get_mut(&at.page.id)?;
        match taken.and_then(|bytes| Some((told(&bytes)?, bytes))) {
            Some((picture, bytes)) => {
                tab.picture = Some(picture.clone());
                Some(Picture { told: picture, taken: Some(bytes) })
            }
            None => {
                let mut last = tab.picture.clone()?;
                last["stale"] = json!(true);
                Some(Picture { told: last, taken: None })
            }
        }
    }
}

/// A picture of a tab.
struct Picture {
    told: Json,
    /// Its bytes, if it was taken now.
    taken: Option<Vec<u8>>,
}

/// The overlays that are left.
pub(super) fn markup(disabled: &[String]) -> Result<Vec<&'static str>, Failure> {
    if let Some(unknown) = disabled.iter().find(|tag| !MARKUP.contains(&tag.as_str())) {
        return Err(Failure::bad(&format!("disable_markup has {unknown:?}; there are {}", MARKUP.join(", "))));
    }
    Ok(MARKUP.into_iter().filter(|tag| !disabled.iter().any(|disabled| disabled == tag)).collect())
}

/// A picture of the viewport, as WebP.
pub(super) async fn picture(at: &At, markup: &[&str], has_cursor: bool) -> Result<Vec<u8>, Failure> {
    let cursor = at.session.state.known().tab(&at.page.id).cursor.filter(|_| has_cursor);
    let cursor = cursor.map(|(x, y)| json!({"x": x, "y": y}));
    let argument = json!({
        "page": at.page.id, "timeoutMs": DIRECT_NAVIGATE_MS, "type": "webp", "quality": QUALITY, "markup": markup,
        "cursor": cursor,
    });
    let answer = call_whole(&at.session, "screenshot", argument, DIRECT_NAVIGATE_MS).await?;
    Ok(if let Value::Bytes(_, bytes) = value_of(answer) { bytes } else { Vec::new() })
}

fn told(picture: &[u8]) -> Option<Json> {
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

/// How far the tab is scrolled; as it was, while a dialog keeps it from telling.
async fn scrolled(at: &At) -> Json {
    let has_dialog = at.has_dialog();
    let argument = json!({"function": SCROLLED, "isFunction": true});
    let told = if has_dialog { None } else { at.call("evaluate", argument, DIRECT_NAVIGATE_MS).await.ok() };
    let numbers: Option<Vec<f64>> =
        told.map(|told| told["value"].as_array().into_iter().flatten().filter_map(Json::as_f64).collect());
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

/// The failure of an evaluation is a request's that was wrong.
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
