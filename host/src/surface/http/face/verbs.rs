//! The verbs that the contracts are translations into, and the pages of a browser.

use crate::service::DirectSession;
use codemode_spec::{ErrorReport, Value, limits::DIRECT_NAVIGATE_MS};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// Their namespace.
const NAMESPACE: &str = "browser";

/// A page.
pub(crate) struct Page {
    pub(crate) id: String,
    pub(crate) url: String,
    pub(crate) title: String,
}

/// The pages of a browser, which is started if need be.
pub(crate) async fn pages<T>(session: &DirectSession<T>) -> Result<Vec<Page>, ErrorReport> {
    let told = call(session, "pages", json!({}), DIRECT_NAVIGATE_MS).await?;
    let text = |page: &Json, field: &str| page[field].as_str().unwrap_or_default().to_owned();
    let page = |page: &Json| Page { id: text(page, "page"), url: text(page, "url"), title: text(page, "title") };
    Ok(told["pages"].as_array().into_iter().flatten().map(page).collect())
}

/// Calls a verb; its whole answer as plain JSON.
pub(crate) async fn call<T>(
    session: &DirectSession<T>,
    verb: &str,
    argument: impl Into<Value>,
    time_ms: u64,
) -> Result<Json, ErrorReport> {
    Ok(call_whole(session, verb, argument, time_ms).await?.to_plain_json().unwrap_or_default())
}

/// Calls a verb; its whole answer, also what is no JSON.
pub(crate) async fn call_whole<T>(
    session: &DirectSession<T>,
    verb: &str,
    argument: impl Into<Value>,
    time_ms: u64,
) -> Result<Value, ErrorReport> {
    session.call(NAMESPACE, verb, argument, Duration::from_millis(time_ms)).await
}

/// What a verb answers that names a page, without what all of them answer.
pub(crate) fn value_of(answer: Value) -> Value {
    let Value::Object(fields) = answer else { return Value::Undefined };
    fields.into_iter().find(|(name, _)| name.to_string_lossy() == "value").map_or(Value::Undefined, |(_, value)| value)
}

/// Gives files to a verb: their bytes are no JSON.
pub(crate) async fn give<T>(
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
