//! Screenshots and PDFs.

use crate::{
    locate::Op,
    reports,
    tab::{GRACE, Tab},
    target::Target,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The format of a screenshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ImageType {
    /// PNG, without loss.
    #[default]
    Png,
    /// JPEG.
    Jpeg,
    /// WebP.
    Webp,
}

/// A rectangle in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rectangle {
    /// Its left side.
    pub x: f64,
    /// Its upper side.
    pub y: f64,
    /// To the right.
    pub width: f64,
    /// Down.
    pub height: f64,
}

/// A point of the viewport, in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Down.
    pub y: f64,
}

/// What a screenshot shows, and how.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Screenshot {
    /// The whole page, beyond the viewport.
    pub full_page: bool,
    /// The format.
    #[serde(rename = "type")]
    pub image_type: ImageType,
    /// From 0 to 100, of JPEG and WebP.
    pub quality: Option<u32>,
    /// A part of the page, from its upper left corner.
    pub clip: Option<Rectangle>,
    /// Without the white that the browser puts behind a page.
    pub omit_background: bool,
    /// Marks around elements of these kinds, only while the picture is taken: `clickable` (green), `typeable` (orange),
    /// `scrollable` (purple, dashed), `selected` (blue) for what has the focus, and `grid` for a red line every 100 pixels.
    pub markup: Vec<String>,
    /// An arrow where the mouse is shown to be, only while the picture is taken.
    pub cursor: Option<Point>,
    /// Pixels of the longer side of the picture, at most: a larger one is made smaller.
    pub max_side: Option<u32>,
}

impl Rectangle {
    /// Reads a rectangle from the engine's JSON.
    pub(crate) fn of(told: &Json) -> Self {
        let side = |field: &str| told[field].as_f64().unwrap_or_default();
        Self { x: side("x"), y: side("y"), width: side("width"), height: side("height") }
    }
}

impl Tab<'_> {
    /// Takes a picture of the page or of one element.
    pub async fn screenshot(&self, target: Option<&Target>, options: &Screenshot) -> Result<Vec<u8>, ErrorReport> {
        if options.quality.is_some() && options.image_type == ImageType::Png {
            return Err(reports::invalid("quality is unsupported for png screenshots"));
        }
        let mut params = json!({"format": options.image_type, "captureBeyondViewport": options.full_page});
        if let Some(quality) = options.quality {
            params["quality"] = json!(quality.min(100));
        }
        let clip = match target {
            Some(target) => Some(self.box_of(target).await?),
            None if options.full_page => {
                let metrics = self.send("Page.getLayoutMetrics", json!({})).await?;
                let size = |field: &str| metrics["cssContentSize"][field].as_f64().unwrap_or_default();
                Some(Rectangle { x: 0.0, y: 0.0, width: size("width"), height: size("height") })
            }
            None => options.clip,
        };
        let clip = match (clip, options.max_side) {
            (None, Some(_)) => Some(self.viewport_of_page().await?),
            (clip, _) => clip,
        };
        if let Some(Rectangle { x, y, width, height }) = clip {
            let most = options.max_side.map_or(f64::INFINITY, f64::from);
            let scale = (most / width.max(height).max(1.0)).min(1.0);
            params["clip"] = json!({"x": x, "y": y, "width": width, "height": height, "scale": scale});
        }
        let frame = self.main_frame();
        let is_marked = !options.markup.is_empty() || options.cursor.is_some();
        if is_marked {
            // If the verb is cancelled, nothing calls `unmark`: the marks then expire by themselves.
            let lasts = (self.left() + GRACE).as_millis() as u64;
            let marks = json!({"kinds": options.markup, "cursor": options.cursor, "lasts": lasts});
            let marked = self.run(&frame, "mark", marks, None, false).await?;
            if let Some(refusal) = self.refusal(&marked, "the marks") {
                return Err(refusal);
            }
        }
        let taken = async {
            if options.omit_background {
                let clear = json!({"color": {"r": 0, "g": 0, "b": 0, "a": 0}});
                self.send("Emulation.setDefaultBackgroundColorOverride", clear).await?;
            }
            self.send("Page.captureScreenshot", params).await
        };
        let taken = taken.await;
        // Clean up the page even if something failed; the first error is reported.
        let reset = match options.omit_background {
            true => self.send("Emulation.setDefaultBackgroundColorOverride", json!({})).await.map(drop),
            false => Ok(()),
        };
        let unmarked = match is_marked {
            true => self.run(&frame, "unmark", json!({}), None, false).await.map(drop),
            false => Ok(()),
        };
        let taken = taken?;
        reset.and(unmarked)?;
        bytes(&taken)
    }

    /// The part of the page that the viewport shows, in page coordinates.
    async fn viewport_of_page(&self) -> Result<Rectangle, ErrorReport> {
        let metrics = self.send("Page.getLayoutMetrics", json!({})).await?;
        let shown = |field: &str| metrics["cssVisualViewport"][field].as_f64().unwrap_or_default();
        let (width, height) = (shown("clientWidth"), shown("clientHeight"));
        Ok(Rectangle { x: shown("pageX"), y: shown("pageY"), width, height })
    }

    /// Scrolls an element into view and returns its box in page coordinates.
    async fn box_of(&self, target: &Target) -> Result<Rectangle, ErrorReport> {
        let place = self.locate(target).await?;
        let args = json!({
            "strict": true, "timeout": null, "checks": ["visible", "stable"], "scroll": true, "point": false,
        });
        let found = self.run_at(&place, "act", args, Op::Look).await?;
        let viewport = self.viewport(&place).await?;
        let metrics = self.send("Page.getLayoutMetrics", json!({})).await?;
        let scrolled = |field: &str| metrics["cssVisualViewport"][field].as_f64().unwrap_or_default();
        let shown = viewport.bounds(Rectangle::of(&found["box"]));
        Ok(Rectangle { x: shown.x + scrolled("pageX"), y: shown.y + scrolled("pageY"), ..shown })
    }

    /// Prints the page as PDF. `options` are those of `Page.printToPDF`.
    pub async fn pdf(&self, options: &Json) -> Result<Vec<u8>, ErrorReport> {
        let options = if options.is_object() { options.clone() } else { json!({"printBackground": true}) };
        bytes(&self.send("Page.printToPDF", options).await?)
    }

    /// Sets the size of the viewport.
    pub async fn resize(&self, width: u32, height: u32) -> Result<(), ErrorReport> {
        let params = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.send("Emulation.setDeviceMetricsOverride", params).await.map(drop)
    }
}

fn bytes(answer: &Json) -> Result<Vec<u8>, ErrorReport> {
    let data = answer["data"].as_str().unwrap_or_default();
    STANDARD
        .decode(data)
        .map_err(|error| ErrorReport::new(ErrorCode::HostFault, format!("the picture cannot be read: {error}")))
}
