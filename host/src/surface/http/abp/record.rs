//! What goes into the history of a client: its actions, what happened during them, and the requests that it has a tag for.

use super::{
    browser::{Abp, Session, owner},
    envelope::Course,
};
use crate::{
    history::{Event, NewAction},
    surface::http::face::{Client, Failure, Fields},
};
use codemode_spec::limits::ABP_PARAMS_BYTES_MAX;
use serde_json::{Map, Value as Json, json};

/// What belongs to the envelope of an action, not to itself.
const OF_ENVELOPE: [&str; 4] = ["action_params", "wait_until", "screenshot", "network"];

impl Abp {
    /// Notes an action; its number, if history is kept. What cannot be noted does not make the action fail.
    pub(super) async fn note_action(&self, client: &Client, session: &Session, action: NewAction) -> Option<i64> {
        let history = self.history().await.ok()?;
        let noted = history.note_action(&owner(client), session.id(), action).await;
        noted.inspect_err(|error| tracing::warn!(%error, "an action is not in the history")).ok()
    }

    /// Notes what happened outside of an action.
    pub(super) async fn note_event(&self, client: &Client, session: &Session, event: &Json) {
        let Ok(history) = self.history().await else { return };
        let noted = history.note_events(&owner(client), session.id(), vec![as_event(event)]).await;
        if let Err(error) = noted {
            tracing::warn!(%error, "an event is not in the history");
        }
    }
}

/// An action as history has it.
pub(super) fn as_action(
    kind: &str,
    tab: &str,
    params: &Fields,
    course: &Course,
    outcome: &Result<Json, Failure>,
) -> NewAction {
    let outcome = match outcome {
        Ok(answer) => Ok(bounded(match &answer["result"] {
            Json::Object(result) => Json::Object(told(kind, &Fields(result.clone()))),
            result => result.clone(),
        })),
        Err(failure) => Err((failure.code().to_owned(), failure.error.message.clone())),
    };
    NewAction {
        tab: Some(tab.to_owned()),
        kind: kind.to_owned(),
        at_ms: i64::try_from(course.started).unwrap_or_default(),
        duration_ms: i64::try_from(course.ended.saturating_sub(course.started)).unwrap_or_default(),
        params: bounded(Json::Object(told(kind, params))),
        outcome,
        pictures: course.pictures.clone(),
        events: course.happened.events.iter().map(as_event).collect(),
    }
}

/// What an action was given, or what it came to. What was typed is not told: it may be a password.
fn told(kind: &str, params: &Fields) -> Map<String, Json> {
    let mut told = params.0.clone();
    told.retain(|name, _| !OF_ENVELOPE.contains(&name.as_str()));
    if kind == "type"
        && let Some(text) = told.remove("text")
    {
        told.insert("characters".to_owned(), json!(text.as_str().map_or(0, |text| text.chars().count())));
    }
    told
}

fn bounded(value: Json) -> Json {
    let bytes = value.to_string().len();
    if bytes > ABP_PARAMS_BYTES_MAX { json!({"left_out_bytes": bytes}) } else { value }
}

fn as_event(event: &Json) -> Event {
    Event {
        tab: ["tab_id", "source_tab_id"].iter().find_map(|name| event["data"][*name].as_str()).map(str::to_owned),
        kind: event["type"].as_str().unwrap_or_default().to_owned(),
        at_ms: event["virtual_time_ms"].as_i64().unwrap_or_default(),
        data: bounded(event["data"].clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_in_no_history() {
        let Json::Object(fields) = json!({"text": "hunter2", "screenshot": {"area": "none"}}) else { unreachable!() };
        let told = told("type", &Fields(fields));
        assert_eq!(Json::Object(told), json!({"characters": 7}));
        assert_eq!(
            bounded(json!("x".repeat(ABP_PARAMS_BYTES_MAX))),
            json!({"left_out_bytes": ABP_PARAMS_BYTES_MAX + 2})
        );
    }
}
