//! Arguments of keyboard and mouse.

use serde::Deserialize;

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "camelCase")]
pub(crate) enum Keyboard {
    /// Presses a key and holds it down.
    Down {
        /// The key, as `Shift` or `a`.
        key: String,
        /// Held down meanwhile, besides those that are.
        #[serde(default)]
        modifiers: Vec<codemode_verbs::Modifier>,
    },
    /// Lets a key go.
    Up {
        /// The key.
        key: String,
    },
    /// Presses a key, or keys together.
    Press {
        /// The key, with those that are held down before it, as `Control+A`.
        key: String,
        /// Milliseconds between pressing and letting go.
        #[serde(default)]
        delay: f64,
    },
    /// Types a text, key by key.
    Type {
        /// The text.
        text: String,
        /// Milliseconds between keys.
        #[serde(default)]
        delay: f64,
    },
    /// Enters a text at once, without keys.
    InsertText {
        /// The text.
        text: String,
    },
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "camelCase")]
pub(crate) enum Mouse {
    /// Moves the mouse.
    Move {
        /// To the right, in CSS pixels of the viewport.
        x: f64,
        /// Down, in CSS pixels of the viewport.
        y: f64,
        /// In how many steps; 1 if it is not given.
        steps: Option<u32>,
    },
    /// Presses a button and holds it down.
    Down(MouseButton),
    /// Lets a button go.
    Up(MouseButton),
    /// Moves the mouse and clicks there.
    Click {
        /// To the right, in CSS pixels of the viewport.
        x: f64,
        /// Down, in CSS pixels of the viewport.
        y: f64,
        #[serde(flatten)]
        button: MouseButton,
        /// Milliseconds between pressing and letting go.
        #[serde(default)]
        delay: f64,
        /// Held down meanwhile, besides those that are.
        #[serde(default)]
        modifiers: Vec<codemode_verbs::Modifier>,
    },
    /// Turns the wheel where the mouse is.
    Wheel {
        /// To the right, in CSS pixels.
        #[serde(default)]
        dx: f64,
        /// Down, in CSS pixels.
        #[serde(default)]
        dy: f64,
    },
}

/// Which button, and how often.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MouseButton {
    /// Which button.
    pub(crate) button: codemode_verbs::Button,
    /// 2 for a double click.
    pub(crate) click_count: u32,
}

impl Default for MouseButton {
    fn default() -> Self {
        Self { button: codemode_verbs::Button::default(), click_count: 1 }
    }
}
