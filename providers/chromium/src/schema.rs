//! The protocol's description of itself, as `/json/protocol` gives it.

use serde::{Deserialize, Serialize};

/// A domain of the protocol.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Domain {
    /// As `Page`.
    #[serde(rename = "domain")]
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// May change without notice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub experimental: bool,
    /// Should not be used any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// Domains that this one refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<String>,
    /// What its parameters are made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<TypeSpec>,
    /// What can be sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandSpec>,
    /// What it reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventSpec>,
}

/// A command of a domain.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CommandSpec {
    /// Without its domain, as `navigate`.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// May change without notice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub experimental: bool,
    /// Should not be used any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// The domain that carries it out, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    /// What it takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Property>,
    /// What it answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returns: Vec<Property>,
}

/// An event of a domain.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct EventSpec {
    /// Without its domain, as `loadEventFired`.
    pub name: String,
    /// When it comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// May change without notice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub experimental: bool,
    /// Should not be used any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// What it says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Property>,
}

/// A named type of a domain.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TypeSpec {
    /// Without its domain, as `FrameId`.
    pub id: String,
    /// Its description and form.
    #[serde(flatten)]
    pub shape: Shape,
}

/// A parameter, a result, or a member of an object.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// May be left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Its description and form.
    #[serde(flatten)]
    pub shape: Shape,
}

/// What a value looks like.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Shape {
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// May change without notice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub experimental: bool,
    /// Should not be used any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// `string`, `integer`, `number`, `boolean`, `object`, `array`, `any` or `binary`; absent if there is a reference.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The named type that it is: `FrameId` of the same domain, or `Page.FrameId`.
    #[serde(rename = "$ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The values that a string may have.
    #[serde(rename = "enum", default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// The members of an object; without any, it may have all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
    /// The items of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<Shape>>,
}
