//! Mouse events at points of a page's viewport.

use crate::tab::Tab;
use codemode_spec::ErrorReport;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Duration;

/// A mouse button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Button {
    /// The left one.
    #[default]
    Left,
    /// The middle one.
    Middle,
    /// The right one.
    Right,
}

impl Button {
    pub(crate) const fn bit(self) -> u32 {
        match self {
            Self::Left => 1,
            Self::Right => 2,
            Self::Middle => 4,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
            Self::Middle => "middle",
        }
    }
}

impl Tab<'_> {
    /// Moves the mouse to a point, in this many steps.
    pub async fn mouse_move(&self, x: f64, y: f64, steps: u32) -> Result<(), ErrorReport> {
        let ((from_x, from_y), buttons) = self.with_held(|held| (held.mouse, held.buttons));
        let steps = steps.max(1);
        for step in 1..=steps {
            let part = f64::from(step) / f64::from(steps);
            let (x, y) = (from_x + (x - from_x) * part, from_y + (y - from_y) * part);
            let params = json!({
                "type": "mouseMoved", "x": x, "y": y, "modifiers": self.held_modifiers(), "buttons": buttons,
                "button": pressed(buttons), "force": pressure(buttons),
            });
            self.send("Input.dispatchMouseEvent", params).await?;
            self.with_held(|held| held.mouse = (x, y));
        }
        Ok(())
    }

    /// Presses a button at the mouse position; `count` is 2 for the second press of a double click.
    pub async fn mouse_down(&self, button: Button, count: u32) -> Result<(), ErrorReport> {
        let (mouse, buttons) = self.with_held(|held| {
            held.buttons |= button.bit();
            (held.mouse, held.buttons)
        });
        self.mouse_button("mousePressed", button, count, mouse, buttons).await
    }

    /// Releases a button at the mouse position.
    pub async fn mouse_up(&self, button: Button, count: u32) -> Result<(), ErrorReport> {
        let (mouse, buttons) = self.with_held(|held| {
            held.buttons &= !button.bit();
            (held.mouse, held.buttons)
        });
        self.mouse_button("mouseReleased", button, count, mouse, buttons).await
    }

    async fn mouse_button(
        &self,
        kind: &str,
        button: Button,
        count: u32,
        (x, y): (f64, f64),
        buttons: u32,
    ) -> Result<(), ErrorReport> {
        let params = json!({
            "type": kind, "x": x, "y": y, "button": button.name(), "buttons": buttons, "clickCount": count,
            "modifiers": self.held_modifiers(), "force": pressure(buttons),
        });
        self.send("Input.dispatchMouseEvent", params).await.map(drop)
    }

    /// Clicks `count` times at the mouse position, as a double or triple click does.
    pub async fn mouse_click(&self, button: Button, count: u32, delay: Duration) -> Result<(), ErrorReport> {
        for number in 1..=count {
            let pressed = self.mouse_down(button, number).await;
            if pressed.is_ok() {
                self.pause(delay).await;
            }
            // Also if pressing it failed, since the browser may have pressed it.
            let released = self.mouse_up(button, number).await;
            pressed.and(released)?;
        }
        Ok(())
    }

    /// Turns the wheel at the mouse position.
    pub async fn mouse_wheel(&self, dx: f64, dy: f64) -> Result<(), ErrorReport> {
        let (x, y) = self.with_held(|held| held.mouse);
        let params = json!({
            "type": "mouseWheel", "x": x, "y": y, "deltaX": dx, "deltaY": dy, "modifiers": self.held_modifiers(),
        });
        self.send("Input.dispatchMouseEvent", params).await.map(drop)
    }
}

/// The pressure that a mouse without a sensor reports.
fn pressure(buttons: u32) -> f64 {
    if buttons == 0 { 0.0 } else { 0.5 }
}

fn pressed(buttons: u32) -> &'static str {
    [Button::Left, Button::Right, Button::Middle]
        .into_iter()
        .find(|button| buttons & button.bit() != 0)
        .map_or("none", Button::name)
}
