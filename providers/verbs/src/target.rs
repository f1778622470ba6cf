//! What a verb acts upon: a chain of steps from the document to elements.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// What a verb acts upon. Each step maps the elements so far, at first the document, to others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    /// The steps, in their order.
    pub steps: Vec<Step>,
}

/// A step of a [`Target`]. In JSON the field `by` names the variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum Step {
    /// A selector as people write it: CSS, XPath, `text=…`, a ref, parts joined by `>>`. Expanded before it is used.
    Selector {
        /// The selector.
        value: String,
    },
    /// A CSS selector that reaches through open shadow roots.
    Css {
        /// The selector.
        value: String,
    },
    /// An XPath expression.
    XPath {
        /// The expression.
        value: String,
    },
    /// A ref of a snapshot.
    Ref {
        /// As `e5`.
        value: String,
    },
    /// The element that the host passes along.
    Given,
    /// Elements of an ARIA role, explicit or implicit.
    Role(Role),
    /// The smallest elements that contain a text.
    Text {
        /// The text.
        text: Text,
    },
    /// The controls of a label.
    Label {
        /// The label's text.
        text: Text,
    },
    /// Inputs with a placeholder.
    Placeholder {
        /// The placeholder.
        text: Text,
    },
    /// Elements with an `alt` text.
    Alt {
        /// The text.
        text: Text,
    },
    /// Elements with a `title`.
    Title {
        /// The title.
        text: Text,
    },
    /// Elements with a `data-testid`.
    TestId {
        /// The id.
        text: Text,
    },
    /// One of the elements so far.
    Nth {
        /// Counted from 0; below 0 from the end.
        index: i64,
    },
    /// Those that are visible, or those that are not.
    Visible {
        /// Which.
        visible: bool,
    },
    /// Those inside of which other steps match.
    Has {
        /// The other steps.
        steps: Vec<Step>,
        /// Those inside of which they do not.
        #[serde(default)]
        not: bool,
    },
    /// Those that contain a text.
    #[serde(rename = "hasText")]
    HasText {
        /// The text.
        text: Text,
        /// Those that do not.
        #[serde(default)]
        not: bool,
    },
    /// Those that other steps match as well.
    And {
        /// The other steps.
        steps: Vec<Step>,
    },
    /// Those, and what other steps match.
    Or {
        /// The other steps.
        steps: Vec<Step>,
    },
    /// Into the document of the one frame element so far, or of the frame with an id.
    Frame {
        /// The id, as the list of frames tells it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frame: Option<String>,
    },
}

impl Step {
    /// Whether the step has others within it that enter a frame.
    pub(crate) fn combines_frames(&self) -> bool {
        match self {
            Self::Has { steps, .. } | Self::And { steps } | Self::Or { steps } => {
                steps.iter().any(|step| matches!(step, Self::Frame { .. }) || step.combines_frames())
            }
            _ => false,
        }
    }
}

/// Elements of a role, by their state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Role {
    /// The role, as `button`.
    pub role: String,
    /// Their accessible name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// Their accessible description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Text>,
    /// Whether they are checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<Tristate>,
    /// Whether they are disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// Whether they are expanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expanded: Option<bool>,
    /// The level of a heading, row or item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u32>,
    /// Whether they are pressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressed: Option<Tristate>,
    /// Whether they are selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<bool>,
    /// Also those that assistive technology does not see.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub include_hidden: bool,
}

/// A state that may also be neither: of a box for several things of which some are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Tristate {
    /// On or off.
    Known(bool),
    /// Neither.
    Mixed(Mixed),
}

/// The word for a state that is neither on nor off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mixed {
    /// As in HTML.
    Mixed,
}

impl std::fmt::Display for Tristate {
    /// As a script writes it.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Known(state) => state.fmt(formatter),
            Self::Mixed(_) => formatter.write_str("'mixed'"),
        }
    }
}

/// A text to compare with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Text {
    /// A JavaScript regular expression.
    Regex {
        /// Its source.
        regex: String,
        /// Its flags.
        #[serde(default)]
        flags: String,
    },
    /// A text; white space counts as one blank.
    Plain {
        /// The text.
        text: String,
        /// The whole text in its case, instead of a part of it in any case.
        #[serde(default)]
        exact: bool,
        /// With `exact`: the whole of a text that stands in the element itself, and not in those within it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        own: bool,
    },
}

impl Text {
    /// A part of a text, in any case.
    #[must_use]
    pub fn part(text: impl Into<String>) -> Self {
        Self::Plain { text: text.into(), exact: false, own: false }
    }

    /// A whole text.
    #[must_use]
    pub fn whole(text: impl Into<String>) -> Self {
        Self::Plain { text: text.into(), exact: true, own: false }
    }

    /// A whole text of the element itself.
    #[must_use]
    pub fn own(text: impl Into<String>) -> Self {
        Self::Plain { text: text.into(), exact: true, own: true }
    }
}

impl Target {
    /// The target that a selector names.
    #[must_use]
    pub fn selector(selector: impl Into<String>) -> Self {
        Self { steps: vec![Step::Selector { value: selector.into() }] }
    }
}

/// Steps in the JSON form that the in-page engine expects.
pub(crate) fn json(steps: &[Step]) -> Json {
    json!(steps)
}
