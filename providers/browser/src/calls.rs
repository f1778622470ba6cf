//! The arguments of the methods, and the form of their answers.

use codemode_spec::{ErrorCode, ErrorReport, Value, value::Text};
use codemode_verbs::{
    Address, Approach, Choice, Code, CookieFilter, DialogPolicy, ElementOp, ElementState, Field, Form, LoadState,
    Position, Tab, Target, Typed, UrlPattern, What, WhatOfAll,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value as Json;

/// The argument of a verb that names a page, and what belongs to the verb.
#[derive(Deserialize)]
pub(crate) struct On<T> {
    #[serde(flatten)]
    pub(crate) at: Address,
    #[serde(flatten)]
    pub(crate) verb: T,
}

/// A verb that acts upon a target, and what belongs to the verb.
#[derive(Deserialize)]
pub(crate) struct Upon<T> {
    pub(crate) target: Target,
    #[serde(flatten)]
    pub(crate) how: T,
}

/// Reads the argument of a method.
pub(crate) fn read<T: DeserializeOwned>(argument: &Value) -> Result<T, ErrorReport> {
    let json = argument.to_plain_json().unwrap_or_default();
    serde_json::from_value(json).map_err(|error| ErrorReport::new(ErrorCode::InvalidArgument, error.to_string()))
}

/// A field of an argument, as the script gave it.
pub(crate) fn field(argument: &Value, name: &str) -> Option<Value> {
    let Value::Object(fields) = argument else { return None };
    fields.iter().find(|(key, _)| key.to_string_lossy() == name).map(|(_, value)| value.clone())
}

/// What a verb that names a page answers.
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
#[serde(rename_all = "camelCase")]
pub(crate) struct Open {
    pub(crate) url: Option<String>,
    #[serde(default)]
    pub(crate) wait_until: LoadState,
    pub(crate) timeout_ms: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Close {
    #[serde(default)]
    pub(crate) run_before_unload: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Goto {
    pub(crate) url: String,
    pub(crate) referer: Option<String>,
    #[serde(default)]
    pub(crate) wait_until: LoadState,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct History {
    pub(crate) delta: i32,
    #[serde(default)]
    pub(crate) wait_until: LoadState,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Drag {
    pub(crate) source: Target,
    pub(crate) target: Target,
    pub(crate) source_position: Option<Position>,
    pub(crate) target_position: Option<Position>,
    #[serde(default)]
    pub(crate) force: bool,
    #[serde(default)]
    pub(crate) trial: bool,
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
pub(crate) struct Fill {
    pub(crate) value: Typed,
    #[serde(default)]
    pub(crate) force: bool,
}

#[derive(Deserialize)]
pub(crate) struct FillForm {
    pub(crate) fields: Vec<Field>,
}

#[derive(Deserialize)]
pub(crate) struct Type {
    pub(crate) text: Typed,
    #[serde(default)]
    pub(crate) delay: f64,
}

#[derive(Deserialize)]
pub(crate) struct Press {
    pub(crate) key: String,
    #[serde(default)]
    pub(crate) delay: f64,
}

#[derive(Deserialize)]
pub(crate) struct Check {
    pub(crate) checked: bool,
    #[serde(flatten)]
    pub(crate) approach: Approach,
}

#[derive(Deserialize)]
pub(crate) struct Select {
    pub(crate) options: Vec<Choice>,
    #[serde(default)]
    pub(crate) force: bool,
}

#[derive(Deserialize)]
pub(crate) struct ElementCall {
    pub(crate) op: ElementCallOp,
}

/// `clear` is a fill with nothing.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum ElementCallOp {
    Op(ElementOp),
    Clear(Clear),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Clear {
    Clear,
}

#[derive(Deserialize)]
pub(crate) struct Dispatch {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) init: Json,
}

#[derive(Deserialize)]
pub(crate) struct Read {
    pub(crate) what: What,
    pub(crate) name: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct ReadAll {
    pub(crate) what: WhatOfAll,
}

#[derive(Deserialize)]
pub(crate) struct WaitFor {
    #[serde(default)]
    pub(crate) state: ElementState,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WaitForUrl {
    pub(crate) url: UrlPattern,
    #[serde(default)]
    pub(crate) wait_until: LoadState,
}

#[derive(Deserialize)]
pub(crate) struct WaitForLoad {
    #[serde(default)]
    pub(crate) state: LoadState,
}

#[derive(Deserialize)]
pub(crate) struct WaitForFunction {
    #[serde(flatten)]
    pub(crate) code: Code,
    pub(crate) polling: Option<f64>,
}

#[derive(Deserialize)]
pub(crate) struct Evaluate {
    pub(crate) target: Option<Target>,
    #[serde(default)]
    pub(crate) all: bool,
    #[serde(flatten)]
    pub(crate) code: Code,
}

#[derive(Deserialize)]
pub(crate) struct Part<T> {
    pub(crate) target: Option<Target>,
    #[serde(flatten)]
    pub(crate) how: T,
}

#[derive(Deserialize)]
pub(crate) struct Extract {
    #[serde(rename = "as")]
    pub(crate) form: Form,
}

#[derive(Deserialize)]
pub(crate) struct Content {
    pub(crate) html: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Nothing {}

#[derive(Deserialize)]
pub(crate) struct Viewport {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

#[derive(Deserialize)]
pub(crate) struct Source {
    pub(crate) source: String,
}

#[derive(Deserialize)]
pub(crate) struct Dialogs {
    pub(crate) policy: DialogPolicy,
}

#[derive(Deserialize)]
pub(crate) struct DialogAnswer {
    pub(crate) accept: bool,
    pub(crate) text: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Watch {
    pub(crate) page: Option<String>,
    pub(crate) types: Vec<codemode_verbs::NewsKind>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request {
    pub(crate) request_id: String,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "camelCase")]
pub(crate) enum Cookies {
    Get {
        #[serde(default)]
        urls: Vec<String>,
    },
    Set {
        cookies: Json,
    },
    Clear {
        #[serde(default)]
        filter: CookieFilter,
    },
}

#[derive(Deserialize)]
pub(crate) struct Named {
    pub(crate) name: String,
}

/// A name, or the state itself.
#[derive(Deserialize)]
pub(crate) struct LoadStorage {
    pub(crate) state: Json,
}

/// A state that a script gives.
pub(crate) fn storage_state(state: Json) -> Result<codemode_verbs::StorageState, ErrorReport> {
    serde_json::from_value(state).map_err(|error| {
        ErrorReport::new(ErrorCode::InvalidArgument, format!("this is no storage state: {error}")).with_hint(
            "It is {cookies: [{name, value, domain, path, …}], origins: [{origin, localStorage: [{name, value}]}]}, or the \
             name of a saved one.",
        )
    })
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "camelCase")]
pub(crate) enum Keyboard {
    Down {
        key: String,
    },
    Up {
        key: String,
    },
    Press {
        key: String,
        #[serde(default)]
        delay: f64,
    },
    Type {
        text: String,
        #[serde(default)]
        delay: f64,
    },
    InsertText {
        text: String,
    },
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "camelCase")]
pub(crate) enum Mouse {
    Move {
        x: f64,
        y: f64,
        steps: Option<u32>,
    },
    Down(MouseButton),
    Up(MouseButton),
    Click {
        x: f64,
        y: f64,
        #[serde(flatten)]
        button: MouseButton,
        #[serde(default)]
        delay: f64,
    },
    Wheel {
        #[serde(default)]
        dx: f64,
        #[serde(default)]
        dy: f64,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MouseButton {
    pub(crate) button: codemode_verbs::Button,
    pub(crate) click_count: u32,
}

impl Default for MouseButton {
    fn default() -> Self {
        Self { button: codemode_verbs::Button::default(), click_count: 1 }
    }
}

#[derive(Deserialize)]
pub(crate) struct Traffic {
    pub(crate) filter: Option<codemode_verbs::TrafficFilter>,
    pub(crate) limit: Option<usize>,
}

#[derive(Deserialize)]
pub(crate) struct Har {
    pub(crate) filter: Option<codemode_verbs::TrafficFilter>,
    /// Whether the bodies of answers are in it.
    #[serde(default)]
    pub(crate) bodies: bool,
}

#[derive(Deserialize)]
pub(crate) struct Authenticate {
    pub(crate) credentials: Option<codemode_verbs::Credentials>,
}

/// Without a list, all that was granted is taken back.
#[derive(Deserialize)]
pub(crate) struct Permissions {
    pub(crate) permissions: Option<Vec<String>>,
    pub(crate) origin: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Locate {
    pub(crate) geolocation: Option<codemode_verbs::Geolocation>,
}

#[derive(Deserialize)]
pub(crate) struct Limit {
    pub(crate) limit: Option<usize>,
}

#[derive(Deserialize)]
pub(crate) struct Routes {
    pub(crate) patterns: Vec<UrlPattern>,
}

#[derive(Deserialize)]
pub(crate) struct RouteReply {
    pub(crate) route: String,
    #[serde(flatten)]
    pub(crate) answer: codemode_verbs::RouteAnswer,
}

#[derive(Deserialize)]
pub(crate) struct Chooser {
    pub(crate) chooser: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Download {
    pub(crate) download: String,
    pub(crate) op: DownloadOp,
    /// What a file that is kept is called.
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) timeout_ms: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DownloadOp {
    Bytes,
    Keep,
    Progress,
    Failure,
    Cancel,
    Delete,
}
