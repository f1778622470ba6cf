//! Stores the cookies of a session key, and restores them into a browser that replaces the key's last one.
//!
//! Chromium writes a cookie to disk only half a minute after it was set, and drops session cookies when it exits. A
//! login under a key must survive both.

use crate::session_file;
use codemode_chromium::{CdpError, Command, Connection};
use codemode_provider::{BrowserSession, SessionFacts};
use codemode_spec::limits::{COOKIES_BYTES_MAX, MIB};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// How long the browser may take to return its cookies, or to set them.
const PATIENCE: Duration = Duration::from_secs(8);
/// The maximum size of the cookies set with one command, as JSON.
const BATCH_BYTES_MAX: usize = MIB / 2;
/// Fields that the browser returns with a cookie and does not accept when it is set.
const NOT_SET: [&str; 2] = ["size", "session"];

/// Stores the cookies of a session that outlives its execution. A failure is only logged: the browser still has the
/// cookies.
pub(crate) async fn keep(connection: &Connection, session: &dyn BrowserSession) {
    let Some(file) = session.facts().cookies else { return };
    if connection.is_closed() || session.check().await.is_err() {
        return;
    }
    let answer = match call(connection, "Storage.getCookies", json!({})).await {
        Ok(answer) => answer,
        Err(error) => {
            tracing::warn!(%error, "the browser did not tell its cookies: they are not kept");
            return;
        }
    };
    let text = answer["cookies"].to_string();
    if text.len() > COOKIES_BYTES_MAX {
        tracing::warn!(bytes = text.len(), "the cookies of a session are too large to be kept");
        return;
    }
    session_file::write(file, text.into_bytes()).await;
}

/// Restores the cookies of its predecessor into a fresh browser.
pub(crate) async fn restore(connection: &Connection, facts: &SessionFacts) {
    let Some(file) = facts.cookies.clone().filter(|_| facts.fresh) else { return };
    let Some(text) = session_file::read(file, COOKIES_BYTES_MAX).await else { return };
    for batch in cookie_batches(cookies_of(&text)) {
        if let Err(error) = set(connection, batch).await {
            tracing::warn!(%error, "a browser did not take all cookies of its predecessor");
        }
    }
}

/// Sets cookies in one command, or one by one if that is refused: one invalid cookie must not prevent the others.
async fn set(connection: &Connection, cookies: Vec<Json>) -> Result<(), CdpError> {
    let all = call(connection, "Storage.setCookies", json!({ "cookies": &cookies })).await;
    let Err(refused @ CdpError::Protocol { .. }) = all else { return all.map(drop) };
    let mut last = Err(refused);
    for cookie in cookies {
        last = call(connection, "Storage.setCookies", json!({ "cookies": [cookie] })).await.map(drop);
        if !matches!(last, Ok(()) | Err(CdpError::Protocol { .. })) {
            break;
        }
    }
    last
}

/// Splits cookies into as many batches as commands are needed to set them.
#[must_use]
pub fn cookie_batches(cookies: Vec<Json>) -> Vec<Vec<Json>> {
    let (mut batches, mut bytes) = (Vec::new(), BATCH_BYTES_MAX);
    for cookie in cookies {
        let size = cookie.to_string().len();
        if bytes + size > BATCH_BYTES_MAX {
            batches.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        batches.last_mut().expect("there is one by now").push(cookie);
    }
    batches
}

async fn call(connection: &Connection, method: &str, params: Json) -> Result<Json, CdpError> {
    connection.call(Command { method, params, session: None, timeout: PATIENCE }).await
}

/// Parses stored cookies into the form in which they are set; none if the text is truncated.
fn cookies_of(text: &[u8]) -> Vec<Json> {
    let cookies: Vec<Json> = serde_json::from_slice(text).unwrap_or_default();
    cookies.into_iter().map(cookie_as_set).collect()
}

/// Converts a cookie from the form in which the browser returns it to the form in which it is set.
#[must_use]
pub fn cookie_as_set(mut cookie: Json) -> Json {
    if let Some(fields) = cookie.as_object_mut() {
        let is_of_session = fields.get("session").and_then(Json::as_bool).unwrap_or(false);
        NOT_SET.iter().for_each(|name| drop(fields.remove(*name)));
        if is_of_session {
            fields.remove("expires");
        }
    }
    cookie
}

#[cfg(test)]
mod tests {
    use super::*;
    use codemode_spec::limits::CDP_COMMAND_BYTES_MAX;

    #[test]
    fn no_command_has_more_of_them_than_it_may() {
        let cookies: Vec<_> = (0..3_000).map(|name| json!({"name": name, "value": "x".repeat(2_300)})).collect();
        let batches = cookie_batches(cookies.clone());
        assert!(
            batches.len() > 5 && batches.iter().all(|batch| json!(batch).to_string().len() < CDP_COMMAND_BYTES_MAX)
        );
        assert_eq!(batches.concat(), cookies);
    }

    #[test]
    fn they_are_read_as_they_are_set() {
        let told = json!([
            {"name": "a", "value": "1", "expires": -1, "size": 2, "session": true, "domain": "x.test", "path": "/"},
            {"name": "b", "value": "2", "expires": 9, "size": 2, "session": false, "domain": "x.test", "path": "/"},
        ]);
        let set = json!([
            {"name": "a", "value": "1", "domain": "x.test", "path": "/"},
            {"name": "b", "value": "2", "expires": 9, "domain": "x.test", "path": "/"},
        ]);
        assert_eq!(Json::from(cookies_of(told.to_string().as_bytes())), set);
        assert!(cookies_of(b"torn [").is_empty());
    }
}
