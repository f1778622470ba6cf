//! `POST /act`: translates the eleven kinds of actions into verbs.

use super::{
    browser::Vnext,
    request::{ClientRequest, PageHandle},
};
use crate::surface::http::contract::{Answered, Failure, Fields};
use axum::{extract::State, http::StatusCode};
use codemode_spec::limits::{
    VNEXT_ACT_MS, VNEXT_ACT_MS_MAX, VNEXT_ACT_MS_MIN, VNEXT_WAIT_MS, VNEXT_WAIT_MS_MAX, VNEXT_WAIT_MS_MIN,
};
use serde_json::{Value as Json, json};
use std::{sync::Arc, time::Duration};

/// The delay between keys of a text that is typed slowly, in milliseconds.
const SLOWLY_MS: u64 = 75;
/// The error message for an action that names its element by a selector.
const NO_SELECTOR: &str = "'selector' is not supported. Use 'ref' from snapshot instead.";

/// Performs one action.
pub(super) async fn act(State(vnext): State<Arc<Vnext>>, request: ClientRequest) -> Answered {
    let kind = request.body.text("kind").ok_or_else(|| Failure::bad("kind is required"))?;
    if kind != "wait" && request.body.0.contains_key("selector") {
        return Err(Failure::bad(NO_SELECTOR)
            .with_hint("Take a snapshot, and name the element by its ref: {\"ref\": \"e12\"}."));
    }
    if matches!(kind.as_str(), "evaluate" | "wait")
        && !vnext.options.evaluates
        && (kind == "evaluate" || request.body.0.contains_key("fn"))
    {
        return Err(Failure::new(StatusCode::FORBIDDEN, "evaluating functions is disabled on this host"));
    }
    // The request is validated before a browser is started for it.
    let action = Action::read(&kind, &request.body)?;
    let at = request.page(&vnext).await?;
    let mut reply = json!({"ok": true, "targetId": at.page, "url": at.url});
    let result = action.carry_out(&at).await?;
    if kind == "evaluate" {
        reply["result"] = result;
    }
    Ok(reply.into())
}

/// An action, translated into verbs.
enum Action {
    /// One verb, with its argument and its timeout in milliseconds.
    Verb(&'static str, Json, u64),
    /// Several, performed in order.
    Verbs(Vec<Action>),
    /// A pause, in milliseconds.
    Pause(u64),
}

impl Action {
    fn read(kind: &str, body: &Fields) -> Result<Self, Failure> {
        let time_ms = body.time_ms("timeoutMs", VNEXT_ACT_MS, VNEXT_ACT_MS_MIN, VNEXT_ACT_MS_MAX);
        let verb = |verb: &'static str, argument: Json| Ok(Self::Verb(verb, argument, time_ms));
        match kind {
            "click" => {
                let mut argument = json!({"target": required(body, "ref")?});
                if let Some(button) = body.text("button") {
                    one_of(&button, &["left", "right", "middle"], "button must be left|right|middle")?;
                    argument["button"] = json!(button);
                }
                let modifiers = body.texts("modifiers");
                for modifier in &modifiers {
                    let known = ["Alt", "Control", "ControlOrMeta", "Meta", "Shift"];
                    one_of(modifier, &known, "modifiers must be Alt|Control|ControlOrMeta|Meta|Shift")?;
                }
                if !modifiers.is_empty() {
                    argument["modifiers"] = json!(modifiers);
                }
                if body.truth("doubleClick").unwrap_or(false) {
                    argument["clickCount"] = json!(2);
                }
                verb("click", argument)
            }
            "type" => {
                let target = required(body, "ref")?;
                let Some(Json::String(text)) = body.0.get("text") else { return Err(Failure::bad("text is required")) };
                let mut verbs = if body.truth("slowly").unwrap_or(false) {
                    let keys = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
                    let typing_ms = time_ms.saturating_add(keys.saturating_mul(2 * SLOWLY_MS));
                    let typed = json!({"target": target, "text": text, "delay": SLOWLY_MS});
                    vec![Self::Verb("click", json!({"target": target}), time_ms), Self::Verb("type", typed, typing_ms)]
                } else {
                    vec![Self::Verb("fill", json!({"target": target, "value": text}), time_ms)]
                };
                if body.truth("submit").unwrap_or(false) {
                    verbs.push(Self::Verb("press", json!({"target": target, "key": "Enter"}), time_ms));
                }
                Ok(Self::Verbs(verbs))
            }
            "press" => {
                let key = body.text("key").ok_or_else(|| Failure::bad("key is required"))?;
                let delay = body.number("delayMs").unwrap_or(0.0).max(0.0);
                verb("keyboard", json!({"op": "press", "key": key, "delay": delay}))
            }
            "hover" => verb("hover", json!({"target": required(body, "ref")?})),
            "drag" => {
                let (from, to) = (body.text("startRef"), body.text("endRef"));
                let (Some(from), Some(to)) = (from, to) else {
                    return Err(Failure::bad("startRef and endRef are required"));
                };
                verb("drag", json!({"source": target(&from), "target": target(&to)}))
            }
            "select" => {
                let values = body.texts("values");
                let (Some(of), false) = (body.text("ref"), values.is_empty()) else {
                    return Err(Failure::bad("ref and values are required"));
                };
                let options: Vec<Json> = values.iter().map(|value| json!({"valueOrLabel": value})).collect();
                verb("select", json!({"target": target(&of), "options": options}))
            }
            "fill" => {
                let fields: Vec<Json> =
                    body.0.get("fields").and_then(Json::as_array).into_iter().flatten().filter_map(field).collect();
                if fields.is_empty() {
                    return Err(Failure::bad("fields are required"));
                }
                verb("fillForm", json!({ "fields": fields }))
            }
            "resize" => {
                let size = |name: &str| body.number(name).filter(|pixels| (1.0..=f64::from(u32::MAX)).contains(pixels));
                let (Some(width), Some(height)) = (size("width"), size("height")) else {
                    return Err(Failure::bad("width and height are required"));
                };
                verb("viewport", json!({"width": width as u32, "height": height as u32}))
            }
            "wait" => Self::wait(body),
            "evaluate" => {
                let function = body.text("fn").ok_or_else(|| Failure::bad("fn is required"))?;
                Ok(match body.text("ref") {
                    Some(of) => {
                        // The field is a function of the element, or an expression.
                        let function = format!(
                            "(element) => {{ const it = ({function}\n); return typeof it === 'function' ? it(element) : it; }}"
                        );
                        Self::Verb(
                            "evaluate",
                            json!({"target": target(&of), "function": function, "isFunction": true}),
                            time_ms,
                        )
                    }
                    None => {
                        let function = format!(
                            "() => {{ const it = ({function}\n); return typeof it === 'function' ? it() : it; }}"
                        );
                        Self::Verb("evaluate", json!({"function": function, "isFunction": true}), time_ms)
                    }
                })
            }
            "close" => verb("closePage", json!({})),
            _ => Err(Failure::bad("kind must be click|type|press|hover|drag|select|fill|wait|resize|close|evaluate")),
        }
    }

    /// All requested waits, in the order of the contract.
    fn wait(body: &Fields) -> Result<Self, Failure> {
        let time_ms = body.time_ms("timeoutMs", VNEXT_WAIT_MS, VNEXT_WAIT_MS_MIN, VNEXT_WAIT_MS_MAX);
        let mut waits = Vec::new();
        let mut wait = |verb: &'static str, argument: Json| waits.push(Self::Verb(verb, argument, time_ms));
        if let Some(text) = body.text("text") {
            wait("waitFor", json!({"target": text_target(&text), "state": "visible"}));
        }
        if let Some(text) = body.text("textGone") {
            wait("waitFor", json!({"target": text_target(&text), "state": "hidden"}));
        }
        if let Some(selector) = body.text("selector") {
            let steps = json!([{"by": "selector", "value": selector}, {"by": "nth", "index": 0}]);
            wait("waitFor", json!({"target": {"steps": steps}, "state": "visible"}));
        }
        if let Some(url) = body.text("url") {
            wait("waitForURL", json!({"url": {"glob": url}}));
        }
        if let Some(state) = body.text("loadState") {
            one_of(
                &state,
                &["load", "domcontentloaded", "networkidle"],
                "loadState must be load|domcontentloaded|networkidle",
            )?;
            wait("waitForLoad", json!({ "state": state }));
        }
        if let Some(function) = body.text("fn") {
            let function =
                format!("() => {{ const it = ({function}\n); return typeof it === 'function' ? it() : it; }}");
            wait("waitForFunction", json!({"function": function, "isFunction": true}));
        }
        if let Some(ms) = body.number("timeMs") {
            waits.insert(0, Self::Pause((ms.max(0.0) as u64).min(VNEXT_WAIT_MS_MAX)));
        }
        if waits.is_empty() {
            return Err(Failure::bad(
                "wait requires at least one of: timeMs, text, textGone, selector, url, loadState, fn",
            ));
        }
        Ok(Self::Verbs(waits))
    }

    async fn carry_out(self, at: &PageHandle) -> Result<Json, Failure> {
        let actions = match self {
            Self::Verbs(actions) => actions,
            one => vec![one],
        };
        let mut result = Json::Null;
        for action in actions {
            result = match action {
                Self::Verb(verb, argument, time_ms) => at.call(verb, argument, time_ms).await?,
                Self::Pause(ms) => {
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    Json::Null
                }
                Self::Verbs(_) => Json::Null,
            };
        }
        Ok(result)
    }
}

/// The target for a ref, written `e5`, `@e5` or `ref=e5`.
pub(super) fn target(of: &str) -> Json {
    let value = of.trim().trim_start_matches("ref=").trim_start_matches('@');
    json!({"steps": [{"by": "ref", "value": value}]})
}

fn text_target(text: &str) -> Json {
    json!({"steps": [{"by": "text", "text": {"text": text}}, {"by": "nth", "index": 0}]})
}

fn required(body: &Fields, name: &str) -> Result<Json, Failure> {
    body.text(name).map(|of| target(&of)).ok_or_else(|| Failure::bad(&format!("{name} is required")))
}

fn one_of(value: &str, known: &[&str], message: &str) -> Result<(), Failure> {
    if known.contains(&value) { Ok(()) } else { Err(Failure::bad(message)) }
}

/// Translates a form field. The value of a checkbox or radio button is whether it is checked.
fn field(field: &Json) -> Option<Json> {
    let (of, kind) = (field["ref"].as_str()?, field["type"].as_str()?);
    let value = match (kind, &field["value"]) {
        ("checkbox" | "radio", value) => json!(match value {
            Json::Bool(checked) => *checked,
            Json::Number(number) => number.as_f64() == Some(1.0),
            Json::String(text) => matches!(text.as_str(), "true" | "1"),
            _ => false,
        }),
        (_, Json::Bool(value)) => json!(value.to_string()),
        (_, value @ (Json::String(_) | Json::Number(_))) => value.clone(),
        _ => json!(""),
    };
    Some(json!({"target": target(of), "value": value}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: Json) -> Result<Vec<(&'static str, Json, u64)>, String> {
        let Json::Object(fields) = body else { unreachable!() };
        let fields = Fields(fields);
        let kind = fields.text("kind").unwrap_or_default();
        let action = Action::read(&kind, &fields).map_err(|failure| failure.error.message)?;
        let actions = if let Action::Verbs(actions) = action { actions } else { vec![action] };
        Ok(actions
            .into_iter()
            .map(|action| match action {
                Action::Verb(verb, argument, ms) => (verb, argument, ms),
                Action::Pause(ms) => ("pause", Json::Null, ms),
                Action::Verbs(_) => unreachable!(),
            })
            .collect())
    }

    #[test]
    fn each_kind_is_a_verb_within_its_bounds() {
        let e5 = json!({"steps": [{"by": "ref", "value": "e5"}]});
        for (body, verbs) in [
            (json!({"kind": "click", "ref": "@e5", "timeoutMs": 1}), vec![("click", json!({"target": e5}), 500)]),
            (
                json!({"kind": "click", "ref": "e5", "button": "right", "modifiers": ["Shift"], "doubleClick": true, "timeoutMs": 1e9}),
                vec![(
                    "click",
                    json!({"target": e5, "button": "right", "modifiers": ["Shift"], "clickCount": 2}),
                    60_000,
                )],
            ),
            (
                json!({"kind": "type", "ref": "e5", "text": "", "submit": true}),
                vec![
                    ("fill", json!({"target": e5, "value": ""}), 8_000),
                    ("press", json!({"target": e5, "key": "Enter"}), 8_000),
                ],
            ),
            (
                json!({"kind": "type", "ref": "e5", "text": "ab", "slowly": true}),
                vec![
                    ("click", json!({"target": e5}), 8_000),
                    ("type", json!({"target": e5, "text": "ab", "delay": 75}), 8_300),
                ],
            ),
            (
                json!({"kind": "fill", "fields": [
                    {"ref": "e5", "type": "checkbox", "value": "true"}, {"ref": "e5", "type": "text", "value": 7}, {"type": "text"}]}),
                vec![(
                    "fillForm",
                    json!({"fields": [{"target": e5, "value": true}, {"target": e5, "value": 7}]}),
                    8_000,
                )],
            ),
            (json!({"kind": "wait", "timeMs": 1e9}), vec![("pause", Json::Null, 120_000)]),
            (
                json!({"kind": "wait", "url": "**/done", "timeoutMs": 1}),
                vec![("waitForURL", json!({"url": {"glob": "**/done"}}), 500)],
            ),
            (
                json!({"kind": "resize", "width": 800, "height": "600"}),
                vec![("viewport", json!({"width": 800, "height": 600}), 8_000)],
            ),
        ] {
            assert_eq!(read(body.clone()).unwrap(), verbs, "{body}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (body, message) in [
            (json!({"kind": "click"}), "ref is required"),
            (json!({"kind": "click", "ref": "e1", "button": "thumb"}), "button must be left|right|middle"),
            (
                json!({"kind": "click", "ref": "e1", "modifiers": ["Hyper"]}),
                "modifiers must be Alt|Control|ControlOrMeta|Meta|Shift",
            ),
            (json!({"kind": "type", "ref": "e1"}), "text is required"),
            (json!({"kind": "press"}), "key is required"),
            (json!({"kind": "drag", "startRef": "e1"}), "startRef and endRef are required"),
            (json!({"kind": "select", "ref": "e1"}), "ref and values are required"),
            (json!({"kind": "fill", "fields": [{"ref": "e1"}]}), "fields are required"),
            (json!({"kind": "resize", "width": 0, "height": 1}), "width and height are required"),
            (json!({"kind": "evaluate"}), "fn is required"),
            (
                json!({"kind": "wait"}),
                "wait requires at least one of: timeMs, text, textGone, selector, url, loadState, fn",
            ),
            (json!({"kind": "wait", "loadState": "soon"}), "loadState must be load|domcontentloaded|networkidle"),
            (
                json!({"kind": "dance"}),
                "kind must be click|type|press|hover|drag|select|fill|wait|resize|close|evaluate",
            ),
        ] {
            assert_eq!(read(body.clone()).unwrap_err(), message, "{body}");
        }
    }
}
