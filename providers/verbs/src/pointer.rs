//! Clicking, hovering and dragging: an element is made ready, the mouse moves there, and the element is checked again
//! before a button is pressed.

use crate::{
    input::{keyboard::Modifier, mouse::Button},
    locate::{Op, Place},
    projection::Projection,
    settle::Settle,
    state::mouse_locks::MouseGuard,
    tab::{GRACE, Tab},
    target::Target,
};
use codemode_page::Event;
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// The steps in which the mouse moves in a drag: pages with their own drag handling expect several move events.
const DRAG_STEPS: u32 = 5;
/// How often the mouse is moved to an element in an out-of-process frame that does not receive the move event.
const FELT_ATTEMPTS_MAX: usize = 5;
/// How long to wait for the browser to report that a native drag has begun.
const DRAG_BEGIN_MAX: Duration = Duration::from_millis(250);

/// The checks of an element before a click; hovering does not need `enabled`.
pub(crate) const CLICKABLE: &[&str] = &["visible", "enabled", "stable", "hit"];
const HOVERABLE: &[&str] = &["visible", "stable", "hit"];

/// A point of an element, in pixels from the upper left corner of its padding box.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Position {
    /// To the right.
    pub x: f64,
    /// Down.
    pub y: f64,
}

/// How the mouse gets to an element.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Approach {
    /// Where in the element; its middle by default.
    pub position: Option<Position>,
    /// The modifiers that are held down meanwhile, and no others; by default those that are.
    pub modifiers: Option<Vec<Modifier>>,
    /// Without waiting until the element can receive the event.
    pub force: bool,
    /// Only makes ready and looks; does nothing.
    pub trial: bool,
    /// Whether it is scrolled into view.
    pub scroll: Scroll,
    /// In how many steps the mouse moves there; 1 if it is not given.
    pub steps: Option<u32>,
}

/// Whether an element is brought into view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Scroll {
    /// If it is not.
    #[default]
    Auto,
    /// Not at all.
    None,
}

/// A click.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Click {
    /// How the mouse gets there.
    #[serde(flatten)]
    pub approach: Approach,
    /// Which button.
    pub button: Button,
    /// 2 for a double click, 3 for a triple click; 1 if it is not given.
    pub click_count: Option<u32>,
    /// Milliseconds between pressing and letting go.
    pub delay: f64,
    /// What is waited for afterwards.
    pub settle: Settle,
    /// The same as `settle: "none"`.
    pub no_wait_after: bool,
}

/// An element that is ready for the mouse.
pub(crate) struct Ready {
    pub(crate) place: Place,
    /// The in-page engine's result: the element's handle, the point and the box.
    found: Json,
    /// The projection of its frame's viewport to the page's, when the element was found.
    viewport: Projection,
    /// The point in the page's viewport.
    pub(crate) point: (f64, f64),
    /// The lock on the page's mouse, once it is acquired.
    mouse: Option<MouseGuard>,
}

impl Ready {
    pub(crate) fn is_radio(&self) -> bool {
        self.found["type"] == "radio"
    }
}

impl Tab<'_> {
    /// Clicks an element.
    pub async fn click(&self, target: &Target, click: &Click) -> Result<(), ErrorReport> {
        let count = click.click_count.unwrap_or(1);
        let since = self.cursor();
        let held = self.held_modifiers();
        let ready = self.approach(target, &click.approach, CLICKABLE).await?;
        if click.approach.trial {
            return self.hold(held).await;
        }
        let clicked = self.mouse_click(click.button, count, milliseconds(click.delay)).await;
        drop(ready);
        self.hold_again(held, self.or_closed(clicked)).await?;
        if !self.is_closed() {
            self.settle(if click.no_wait_after { Settle::None } else { click.settle }, since).await?;
        }
        Ok(())
    }

    /// Moves the mouse onto an element.
    pub async fn hover(&self, target: &Target, approach: &Approach) -> Result<(), ErrorReport> {
        let held = self.held_modifiers();
        self.approach(target, approach, HOVERABLE).await?;
        self.hold(held).await
    }

    /// Drags an element onto another one.
    pub async fn drag(&self, source: (&Target, &Approach), target: (&Target, &Approach)) -> Result<(), ErrorReport> {
        let held = self.held_modifiers();
        let ready = self.approach(source.0, source.1, CLICKABLE).await?;
        if source.1.trial {
            drop(ready);
            let arrived = self.approach(target.0, target.1, CLICKABLE).await.map(drop);
            return self.hold_again(held, arrived).await;
        }
        let dragged = self.drag_ready(target).await;
        drop(ready);
        self.hold_again(held, dragged).await
    }

    /// Drags what is under the mouse.
    async fn drag_ready(&self, target: (&Target, &Approach)) -> Result<(), ErrorReport> {
        let since = self.cursor();
        self.send("Input.setInterceptDrags", json!({"enabled": true})).await?;
        let dragged = self.drag_held(target, since).await;
        // Reset even if the drag failed: while drags are intercepted, the page would not receive any other drag.
        let reset = self.send("Input.setInterceptDrags", json!({"enabled": false})).await;
        dragged?;
        self.or_closed(reset.map(drop))
    }

    async fn drag_held(&self, target: (&Target, &Approach), since: u64) -> Result<(), ErrorReport> {
        let held = async {
            self.mouse_down(Button::Left, 1).await?;
            let (x, y) = self.with_held(|held| held.mouse);
            // The browser begins a native drag once the mouse has moved a little.
            self.mouse_move(x + 4.0, y + 4.0, 2).await?;
            let session = self.session().await?;
            let begins = |event: &Event| {
                event.method == "Input.dragIntercepted" && event.session.as_deref() == Some(session.as_str())
            };
            let begun = tokio::time::timeout(DRAG_BEGIN_MAX, self.browser.events().wait(since, &begins)).await;
            let data = begun.ok().flatten().map(|event| event.params["data"].clone());
            let forced = Approach { force: true, ..target.1.clone() };
            match data {
                Some(data) => {
                    let to = self.ready(target.0, &forced, CLICKABLE).await?;
                    for kind in ["dragEnter", "dragOver", "drop"] {
                        let (x, y) = to.point;
                        let params =
                            json!({"type": kind, "x": x, "y": y, "data": data, "modifiers": self.held_modifiers()});
                        self.send("Input.dispatchDragEvent", params).await?;
                    }
                }
                None => {
                    let to = self.ready(target.0, &forced, CLICKABLE).await?;
                    self.mouse_move(to.point.0, to.point.1, target.1.steps.unwrap_or(DRAG_STEPS)).await?;
                }
            }
            Ok(())
        };
        let moved = held.await;
        let released = self.mouse_up(Button::Left, 1).await;
        moved.and(released)
    }

    /// Makes an element ready and moves the mouse there, repeatedly until the element is under the mouse. The modifiers
    /// are held down when the mouse arrives, and are restored if it fails.
    pub(crate) async fn approach(
        &self,
        target: &Target,
        approach: &Approach,
        checks: &[&str],
    ) -> Result<Ready, ErrorReport> {
        let held = self.held_modifiers();
        match self.arrive(target, approach, checks).await {
            Ok(ready) => Ok(ready),
            failed => self.hold_again(held, failed).await,
        }
    }

    async fn arrive(&self, target: &Target, approach: &Approach, checks: &[&str]) -> Result<Ready, ErrorReport> {
        let mut attempts = 0;
        loop {
            let mut ready = self.ready(target, approach, checks).await?;
            let mouse = tokio::time::timeout(self.left() + GRACE, self.verbs.mouse_locks.lock(&self.id)).await;
            ready.mouse = Some(mouse.map_err(|_| self.too_late("the mouse, which other calls use"))?);
            if let Some(modifiers) = &approach.modifiers {
                self.hold(Modifier::bits(modifiers)).await?;
            }
            if attempts > 0 {
                // Start beside the point, so that the mouse moves.
                self.mouse_move(ready.point.0 + 1.0, ready.point.1, 1).await?;
            }
            self.mouse_move(ready.point.0, ready.point.1, approach.steps.unwrap_or(1)).await?;
            if approach.force {
                return Ok(ready);
            }
            // A page may stop mouse events before the engine in its own frame sees them, so after some attempts the
            // checks alone decide.
            let felt = ready.place.frame.target != self.id && attempts < FELT_ATTEMPTS_MAX;
            attempts += 1;
            match self.recheck(&ready, felt).await {
                Ok(None) => return Ok(ready),
                Ok(Some(refusal)) if self.left().is_zero() => return Err(refusal),
                Ok(Some(_)) => {}
                Err(error) if self.has_lost_frame(&error) && !self.left().is_zero() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until an element can receive a click, and returns where.
    async fn ready(&self, target: &Target, approach: &Approach, checks: &[&str]) -> Result<Ready, ErrorReport> {
        let checks = if approach.force { &[] } else { checks };
        let args = json!({
            "strict": true, "timeout": null, "force": approach.force, "trial": approach.trial,
            "position": approach.position, "checks": checks,
            "scroll": approach.scroll == Scroll::Auto, "point": true, "feel": true,
        });
        let (place, found) = self.run_on(target, "act", args, Op::Look).await?;
        let viewport = self.viewport(&place).await?;
        let inside = (found["x"].as_f64().unwrap_or_default(), found["y"].as_f64().unwrap_or_default());
        Ok(Ready { place, found, viewport, point: viewport.apply(inside), mouse: None })
    }

    /// Checks whether the element is still under the mouse, and returns the refusal if not: this detects elements that
    /// moved, or that appeared as the mouse arrived. With `felt`, the frame must have received the mouse event as well:
    /// for a moment after an out-of-process frame was drawn, the browser sends its input to the frame around it.
    async fn recheck(&self, ready: &Ready, felt: bool) -> Result<Option<ErrorReport>, ErrorReport> {
        let found = &ready.found;
        let args = json!({
            "handle": found["handle"], "x": found["x"], "y": found["y"], "box": found["box"], "hit": true,
        });
        let answer = self.run(&ready.place.frame, "recheck", args, None, false).await?;
        if let Some(refusal) = self.refusal(&answer, &ready.place.description) {
            return Ok(Some(refusal));
        }
        // A frame that moves takes its content along.
        let viewports = self.viewports(&ready.place).await?;
        if viewports.last() != Some(&ready.viewport) {
            let moved = json!({"error": "unstable", "preview": found["preview"]});
            return Ok(self.refusal(&moved, &ready.place.description));
        }
        let covered = self.covered_outside(&ready.place, &viewports, ready.point).await?;
        let covered = covered.and_then(|answer| self.refusal(&answer, &ready.place.description));
        if covered.is_some() || !felt {
            return Ok(covered);
        }
        let answer = self.run(&ready.place.frame, "felt", json!({"handle": found["handle"]}), None, false).await?;
        Ok(self.refusal(&answer, &ready.place.description))
    }

    /// Treats a closed page as success: closing its own page may be the purpose of an input.
    pub(crate) fn or_closed(&self, result: Result<(), ErrorReport>) -> Result<(), ErrorReport> {
        match result {
            // The event that the page is closed may come after the answer.
            Err(error) if error.code == ErrorCode::CdpTargetClosed => Ok(()),
            result => result,
        }
    }
}

/// Converts milliseconds from a script; an invalid time is zero.
#[must_use]
pub fn milliseconds(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1_000.0).unwrap_or_default()
}
