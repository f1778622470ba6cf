//! Records the actions of a client, and the events during them, in the history.

use super::{
    browser::{Abp, Session, owner},
    envelope::ActionTrace,
};
use crate::{
    history::{Event, NewAction},
    surface::http::contract::{Client, Failure, Fields},
};
use codemode_spec::limits::ABP_PARAMS_BYTES_MAX;
use serde_json::{Map, Value as Json, json};

/// The fields of the envelope, which are not parameters of the action.
const OF_ENVELOPE: [&str; 4] = ["action_params", "wait_until", "screenshot", "network"];

impl Abp {
    /// Records an action and returns its number, unless the history is disabled. A failure is logged and does not make
    /// the action fail.
    pub(super) async fn note_action(&self, client: &Client, session: &Session, action: NewAction) -> Option<i64> {
        let history = self.history().await.ok()?;
        let noted = history.note_action(&owner(client), session.id(), action).await;
        noted.inspect_err(|error| tracing::warn!(%error, "an action is not in the history")).ok()
    }

    /// Records an event that happened outside an action.
    pub(super) async fn note_event(&self, client: &Client, session: &Session, event: &Json) {
        let Ok(history) = self.history().await else { return };
        let noted = history.note_events(&owner(client), session.id(), vec![as_event(event)]).await;
        if let Err(error) = noted {
            tracing::warn!(%error, "an event is not in the history");
        }
    }
}

/// Converts an action to its form in the history.
pub(super) fn as_action(
    kind: &str,
    tab: &str,
    params: &Fields,
    trace: &ActionTrace,
    outcome: &Result<Json, Failure>,
) -> NewAction {
    let outcome = match outcome {
        Ok(answer) => Ok(bounded(match &answer["result"] {
            Json::Object(result) => Json::Object(recorded_params(kind, &Fields(result.clone()))),
            result => result.clone(),
        })),
        Err(failure) => Err((failure.code().to_owned(), failure.error.message.clone())),
    };
    NewAction {
        tab: Some(tab.to_owned()),
        kind: kind.to_owned(),
        at_ms: i64::try_from(trace.started).unwrap_or_default(),
        duration_ms: i64::try_from(trace.ended.saturating_sub(trace.started)).unwrap_or_default(),
        params: bounded(Json::Object(recorded_params(kind, params))),
        outcome,
        pictures: trace.pictures.clone(),
        events: trace.activity.events.iter().map(as_event).collect(),
    }
}

/// The parameters or the result of an action, without the envelope's fields. Typed text is replaced by its length: it
/// may be a password.
fn recorded_params(kind: &str, params: &Fields) -> Map<String, Json> {
    let mut recorded = params.0.clone();
    recorded.retain(|name, _| !OF_ENVELOPE.contains(&name.as_str()));
    if kind == "type"
        && let Some(text) = recorded.remove("text")
    {
        recorded.insert("characters".to_owned(), json!(text.as_str().map_or(0, |text| text.chars().count())));
    }
    recorded
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
        let recorded = recorded_params("type", &Fields(fields));
        assert_eq!(Json::Object(recorded), json!({"characters": 7}));
        assert_eq!(
            bounded(json!("x".repeat(ABP_PARAMS_BYTES_MAX))),
            json!({"left_out_bytes": ABP_PARAMS_BYTES_MAX + 2})
        );
    }
}
