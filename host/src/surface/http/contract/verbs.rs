//! Calls of the verbs into which the contracts translate their requests, and the list of a browser's pages.

use crate::service::DirectSession;
use codemode_spec::{ErrorReport, Value, limits::DIRECT_NAVIGATE_MS};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// Extra time for a verb beyond its own timeout, so that it can report why it timed out.
pub(crate) const GRACE_MS: u64 = 2_000;

/// The namespace of the verbs.
const NAMESPACE: &str = "browser";

/// A page.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) id: String,
    pub(crate) url: String,
    pub(crate) title: String,
}

/// Lists the pages of a browser, which is started if necessary.
pub(crate) async fn pages<T>(session: &DirectSession<T>) -> Result<Vec<Page>, ErrorReport> {
    let answer = call(session, "pages", json!({}), DIRECT_NAVIGATE_MS).await?;
    let text = |page: &Json, field: &str| page[field].as_str().unwrap_or_default().to_owned();
    let page = |page: &Json| Page { id: text(page, "page"), url: text(page, "url"), title: text(page, "title") };
    Ok(answer["pages"].as_array().into_iter().flatten().map(page).collect())
}

/// Calls a verb and returns its answer as plain JSON.
pub(crate) async fn call<T>(
    session: &DirectSession<T>,
    verb: &str,
    argument: impl Into<Value>,
    time_ms: u64,
) -> Result<Json, ErrorReport> {
    Ok(call_whole(session, verb, argument, time_ms).await?.to_plain_json().unwrap_or_default())
}

/// Calls a verb and returns its answer, including values that JSON cannot represent.
pub(crate) async fn call_whole<T>(
    session: &DirectSession<T>,
    verb: &str,
    argument: impl Into<Value>,
    time_ms: u64,
) -> Result<Value, ErrorReport> {
    session.call(NAMESPACE, verb, argument, Duration::from_millis(time_ms)).await
}

/// The field `value` of a verb's answer, without the fields that all answers of page verbs have.
pub(crate) fn value_of(answer: Value) -> Value {
    let Value::Object(fields) = answer else { return Value::Undefined };
    fields.into_iter().find(|(name, _)| name.to_string_lossy() == "value").map_or(Value::Undefined, |(_, value)| value)
}

/// Calls a verb with files. They are added as values because JSON cannot represent their bytes.
pub(crate) async fn call_with_files<T>(
    session: &DirectSession<T>,
    verb: &str,
    argument: Json,
    files: Vec<Value>,
) -> Result<(), ErrorReport> {
    let mut argument = Value::from(argument);
    if let Value::Object(fields) = &mut argument {
        fields.push(("files".into(), Value::Array(files)));
    }
    call(session, verb, argument, DIRECT_NAVIGATE_MS).await.map(drop)
}
