//! The types of the protocol description, in the format of `/json/protocol`.

use serde::{Deserialize, Serialize};

/// A domain of the protocol.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Domain {
    /// Its name, such as `Page`.
    #[serde(rename = "domain")]
    pub name: String,
    /// A description of its purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it may change without notice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub experimental: bool,
    /// Whether it should no longer be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// Domains that this one refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<String>,
    /// The types that its parameters use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<TypeSpec>,
    /// The commands that it accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandSpec>,
    /// The events that it reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventSpec>,
}

/// A command of a domain.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CommandSpec {
    /// Its name without the domain, such as `navigate`.
    pub name: String,
    /// A description of its effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it may change without notice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub experimental: bool,
    /// Whether it should no longer be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// The domain that implements it, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Property>,
    /// The members of its result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returns: Vec<Property>,
}

/// An event of a domain.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct EventSpec {
    /// Its name without the domain, such as `loadEventFired`.
    pub name: String,
    /// A description of when it is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it may change without notice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub experimental: bool,
    /// Whether it should no longer be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Property>,
}

/// A named type of a domain.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TypeSpec {
    /// Its name without the domain, such as `FrameId`.
    pub id: String,
    /// Its description and structure.
    #[serde(flatten)]
    pub shape: Shape,
}

/// A parameter, a result, or a member of an object.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Whether it may be omitted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Its description and structure.
    #[serde(flatten)]
    pub shape: Shape,
}

/// The type of a value.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Shape {
    /// A description of its meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it may change without notice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub experimental: bool,
    /// Whether it should no longer be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// `string`, `integer`, `number`, `boolean`, `object`, `array`, `any` or `binary`; absent if there is a reference.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The named type that it refers to: `FrameId` for one of the same domain, or `Page.FrameId`.
    #[serde(rename = "$ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The allowed values of a string.
    #[serde(rename = "enum", default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// The members of an object; if empty, any member is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
    /// The items of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<Shape>>,
}
