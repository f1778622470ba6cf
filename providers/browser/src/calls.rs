//! The arguments of the methods, and the form of their answers. The fields' doc comments appear in the reference,
//! `spec/verbs`.

mod files;
mod input;
mod network;

pub(crate) use self::{
    files::{Chooser, Download, DownloadOp, Files},
    input::{Keyboard, Mouse},
    network::{
        Authenticate, Cookies, Fetch, Har, LoadStorage, Named, Request, RouteReply, Routes, Traffic, storage_state,
    },
};
use codemode_spec::{ErrorCode, ErrorReport, Value, value::Text};
use codemode_verbs::{
    Address, Approach, Choice, Code, DialogPolicy, ElementOp, ElementState, ExtractFormat, Field, Handle, ListProperty,
    LoadState, Position, Property, Tab, Target, TextOrSecret, UrlPattern,
};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::Value as Json;

/// The argument of a verb that names a page, and what belongs to the verb.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct On<T> {
    #[serde(flatten)]
    pub(crate) at: Address,
    #[serde(flatten)]
    pub(crate) verb: T,
}

/// A verb that acts upon a target, and what belongs to the verb.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Upon<T> {
    /// The element.
    pub(crate) target: Target,
    #[serde(flatten)]
    pub(crate) how: T,
}

/// Deserialises the argument of a method.
pub(crate) fn read<T: DeserializeOwned>(argument: &Value) -> Result<T, ErrorReport> {
    let json = argument.to_plain_json().unwrap_or_default();
    serde_json::from_value(json).map_err(|error| ErrorReport::new(ErrorCode::InvalidArgument, error.to_string()))
}

/// A field of an argument as the script passed it, for values that JSON cannot represent. The argument types declare
/// such a field too, so that their schemas include it.
pub(crate) fn field(argument: &Value, name: &str) -> Option<Value> {
    let Value::Object(fields) = argument else { return None };
    fields.iter().find(|(key, _)| key.to_string_lossy() == name).map(|(_, value)| value.clone())
}

/// The answer of a verb that names a page.
pub(crate) fn answer(tab: &Tab<'_>, value: Value) -> Value {
    let mut fields: Vec<(Text, Value)> = vec![("value".into(), value), ("url".into(), Value::String(tab.url().into()))];
    let warnings = tab.take_warnings();
    if !warnings.is_empty() {
        fields.push((
            "warnings".into(),
            Value::Array(warnings.into_iter().map(|text| Value::String(text.into())).collect()),
        ));
    }
    Value::Object(fields)
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Open {
    /// Where the page goes; it stays empty if this is not given.
    pub(crate) url: Option<String>,
    /// How far the page must be when the verb answers.
    #[serde(default)]
    pub(crate) wait_until: LoadState,
    /// How long the verb may take, in milliseconds; 30,000 if it is not given, and 0 is as long as the execution.
    pub(crate) timeout_ms: Option<f64>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Close {
    /// Whether the page may ask, as on `beforeunload`, before it closes. Then the verb does not wait for its end.
    #[serde(default)]
    pub(crate) run_before_unload: bool,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Goto {
    /// Where the page goes.
    pub(crate) url: String,
    /// The header `Referer` of the request.
    pub(crate) referer: Option<String>,
    /// How far the page must be when the verb answers.
    #[serde(default)]
    pub(crate) wait_until: LoadState,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct History {
    /// How far, in the history of the page: -1 is back, 1 is forward, 0 loads the page once more.
    pub(crate) delta: i32,
    /// How far the page must be when the verb answers.
    #[serde(default)]
    pub(crate) wait_until: LoadState,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Drag {
    /// What is drawn.
    pub(crate) source: Target,
    /// Onto what.
    pub(crate) target: Target,
    /// Where it is taken hold of; in its middle if this is not given.
    pub(crate) source_position: Option<Position>,
    /// Where it is let go; in the middle of the other one if this is not given.
    pub(crate) target_position: Option<Position>,
    /// Without waiting until the elements can receive the events.
    #[serde(default)]
    pub(crate) force: bool,
    /// Only makes ready and looks; does nothing.
    #[serde(default)]
    pub(crate) trial: bool,
    /// In how many steps the mouse moves from one to the other; 5 if it is not given.
    pub(crate) steps: Option<u32>,
}

impl Drag {
    pub(crate) fn approaches(&self) -> [Approach; 2] {
        [self.source_position, self.target_position].map(|position| Approach {
            position,
            force: self.force,
            trial: self.trial,
            steps: self.steps,
            ..Approach::default()
        })
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Fill {
    /// What the field gets.
    pub(crate) value: TextOrSecret,
    /// Without waiting until the field can be written.
    #[serde(default)]
    pub(crate) force: bool,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct FillForm {
    /// The fields, in the order in which they are filled.
    pub(crate) fields: Vec<Field>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Type {
    /// What is typed. The value of a secret replaces what is in the field.
    pub(crate) text: TextOrSecret,
    /// Milliseconds between keys.
    #[serde(default)]
    pub(crate) delay: f64,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Press {
    /// The key, as `Enter` or `a`, with those that are held down before it, as `Control+A`.
    pub(crate) key: String,
    /// Milliseconds between pressing and letting go.
    #[serde(default)]
    pub(crate) delay: f64,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Check {
    /// Whether it is ticked afterwards.
    pub(crate) checked: bool,
    #[serde(flatten)]
    pub(crate) approach: Approach,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Select {
    /// All options that are chosen afterwards.
    pub(crate) options: Vec<Choice>,
    /// Without waiting until the field can be changed.
    #[serde(default)]
    pub(crate) force: bool,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ElementCall {
    /// What is done.
    pub(crate) op: ElementCallOp,
}

/// `clear` is a fill with nothing.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum ElementCallOp {
    Op(ElementOp),
    Clear(Clear),
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) enum Clear {
    Clear,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Dispatch {
    /// The type of the event, as `click`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The event's properties, as its constructor takes them.
    #[serde(default)]
    pub(crate) init: Json,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Read {
    /// What is read.
    pub(crate) what: Property,
    /// The name of the attribute, if `what` is `attribute`.
    pub(crate) name: Option<String>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ReadAll {
    /// What is read.
    pub(crate) what: ListProperty,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WaitFor {
    /// What is waited for.
    #[serde(default)]
    pub(crate) state: ElementState,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct WaitForUrl {
    /// The address.
    pub(crate) url: UrlPattern,
    /// How far the page must be when the verb answers.
    #[serde(default)]
    pub(crate) wait_until: LoadState,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WaitForLoad {
    /// How far the page must be.
    #[serde(default)]
    pub(crate) state: LoadState,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WaitForFunction {
    #[serde(flatten)]
    pub(crate) code: Code,
    /// What the function gets as its last argument: JSON, or a date, map, set, bigint, bytes and the like.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Json>"))]
    #[expect(dead_code, reason = "read beside the JSON")]
    arg: IgnoredAny,
    /// The elements in it.
    #[serde(default)]
    pub(crate) handles: Vec<Handle>,
    /// Milliseconds between two calls; if it is not given, the function is called at each frame that is drawn.
    pub(crate) polling: Option<f64>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Evaluate {
    /// The element that the function gets as its first argument, if it gets one.
    pub(crate) target: Option<Target>,
    /// Whether it gets the list of all elements that match instead.
    #[serde(default)]
    pub(crate) all: bool,
    #[serde(flatten)]
    pub(crate) code: Code,
    /// What the function gets as its last argument: JSON, or a date, map, set, bigint, bytes and the like.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Json>"))]
    #[expect(dead_code, reason = "read beside the JSON")]
    arg: IgnoredAny,
    /// The elements in it.
    #[serde(default)]
    pub(crate) handles: Vec<Handle>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Part<T> {
    /// An element, if the verb is not about the whole page.
    pub(crate) target: Option<Target>,
    #[serde(flatten)]
    pub(crate) how: T,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Extract {
    /// In which form.
    #[serde(rename = "as")]
    pub(crate) form: ExtractFormat,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Content {
    /// The source that the page gets; without it the verb answers the one that the page has.
    pub(crate) html: Option<String>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Nothing {}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Viewport {
    /// In CSS pixels.
    pub(crate) width: u32,
    /// In CSS pixels.
    pub(crate) height: u32,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Source {
    /// The JavaScript.
    pub(crate) source: String,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Dialogs {
    /// What becomes of dialogs that open from now on.
    pub(crate) policy: DialogPolicy,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct DialogAnswer {
    /// Whether it is accepted or dismissed.
    pub(crate) accept: bool,
    /// What is entered in a prompt.
    pub(crate) text: Option<String>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "camelCase")]
pub(crate) enum Clock {
    /// Tells whether the page is halted, and its time: `{enabled, paused, baseMs, nowMs}`.
    Get,
    /// Halts the page or lets it go on, and tells the same.
    #[serde(rename_all = "camelCase")]
    Set {
        /// Whether it is halted: scripts and animations stand still.
        paused: bool,
        /// What the page's time begins with, in milliseconds since 1970, if it was never halted. Its scripts do not see it.
        initial_ms: Option<f64>,
    },
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SelectPopup {
    /// Names the popup, as the news of it do.
    pub(crate) popup: String,
    /// The places of all options that are chosen afterwards.
    pub(crate) indices: Option<Vec<u32>>,
    /// Closes the popup without choosing.
    #[serde(default)]
    pub(crate) cancel: bool,
}

impl SelectPopup {
    /// The indices to choose, or `None` to close the popup.
    pub(crate) fn choice(&self) -> Result<Option<&[u32]>, ErrorReport> {
        match (&self.indices, self.cancel) {
            (Some(indices), false) => Ok(Some(indices)),
            (None, true) => Ok(None),
            _ => Err(ErrorReport::new(ErrorCode::InvalidArgument, "a popup is answered by indices, or by cancel")
                .with_hint("Write {popup, indices: [1]} or {popup, cancel: true}.")),
        }
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Watch {
    /// The page; without one, the pages that come and go.
    pub(crate) page: Option<String>,
    /// Which news.
    pub(crate) types: Vec<codemode_verbs::PageEventKind>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Pdf {
    /// As the protocol's `Page.printToPDF` takes them; with the backgrounds if there are none.
    #[serde(default)]
    pub(crate) options: Json,
}

/// Without a list, all that was granted is taken back.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Permissions {
    /// What is granted, and nothing else, in Playwright's names, as `geolocation`; without a list all that was granted
    /// is taken back.
    pub(crate) permissions: Option<Vec<String>>,
    /// To pages of which origin; to all if it is not given.
    pub(crate) origin: Option<String>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Locate {
    /// The place; without it there is none.
    pub(crate) geolocation: Option<codemode_verbs::Geolocation>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Limit {
    /// How many lines, of the newest; 100 if it is not given.
    pub(crate) limit: Option<usize>,
}

/// The schema of bytes, for which JSON has no type.
#[cfg(feature = "schema")]
fn bytes(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"tsType": "Uint8Array"})
}

/// The schema of bytes or a text.
#[cfg(feature = "schema")]
fn bytes_or_text(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"anyOf": [{"tsType": "Uint8Array"}, {"type": "string"}]})
}
