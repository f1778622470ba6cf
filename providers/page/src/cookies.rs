//! The cookies of a key, kept for the browser that may have to replace the one that has them.
//!
//! Chromium writes cookies down half a minute after they were set, and forgets those of a session when it ends. A login
//! that is worth a key must survive both.

use codemode_chromium::{CdpError, Command, Connection, PrivateDir};
use codemode_provider::{BrowserSession, SessionFacts};
use codemode_spec::limits::{COOKIES_BYTES_MAX, MIB};
use serde_json::{Value as Json, json};
use std::{
    io::{self, Read as _},
    path::Path,
    time::Duration,
};

/// How long the browser may take to tell its cookies, or to take them.
const PATIENCE: Duration = Duration::from_secs(8);
/// Cookies that are set with one command, as JSON.
const BATCH_BYTES_MAX: usize = MIB / 2;
/// What a cookie is told with and is not set with.
const NOT_SET: [&str; 2] = ["size", "session"];

/// Writes down the cookies of a session that outlives its execution. What fails is logged: the browser still has them.
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
    let written = tokio::task::spawn_blocking(move || write(&file, &text)).await;
    if let Ok(Err(error)) = written {
        tracing::warn!(%error, "the cookies of a session could not be kept");
    }
}

/// Gives a fresh browser the cookies that its predecessor had.
pub(crate) async fn restore(connection: &Connection, facts: &SessionFacts) {
    let Some(file) = facts.cookies.clone().filter(|_| facts.fresh) else { return };
    let Ok(Some(cookies)) = tokio::task::spawn_blocking(move || read(&file)).await else { return };
    for batch in batches(cookies) {
        if let Err(error) = set(connection, batch).await {
            tracing::warn!(%error, "a browser did not take all cookies of its predecessor");
        }
    }
}

/// Sets cookies, one by one if all together are refused: one that the browser does not like must not keep the others out.
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

/// Cookies in as many parts as commands are needed for them.
fn batches(cookies: Vec<Json>) -> Vec<Vec<Json>> {
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

/// Whole or not at all, and for this user only.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let (folder, name) = (file.parent().unwrap_or(Path::new(".")), file.file_name().unwrap_or_default());
    PrivateDir::make(folder)?.replace(name, text.as_bytes())
}

fn read(file: &Path) -> Option<Vec<Json>> {
    let opened = PrivateDir::find(file.parent()?).and_then(|folder| match folder {
        Some(folder) => folder.read(file.file_name().unwrap_or_default()),
        None => Ok(None),
    });
    let kept = opened.inspect_err(|error| tracing::warn!(%error, "kept cookies are not read")).ok()??;
    let mut text = Vec::new();
    kept.take(COOKIES_BYTES_MAX as u64).read_to_end(&mut text).ok()?;
    let cookies: Vec<Json> = serde_json::from_slice(&text).ok()?;
    Some(cookies.into_iter().map(as_set).collect())
}

/// A cookie as it is set, from how it was told.
fn as_set(mut cookie: Json) -> Json {
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
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    #[test]
    fn no_command_has_more_of_them_than_it_may() {
        let cookies: Vec<_> = (0..3_000).map(|name| json!({"name": name, "value": "x".repeat(2_300)})).collect();
        let batches = batches(cookies.clone());
        assert!(
            batches.len() > 5 && batches.iter().all(|batch| json!(batch).to_string().len() < CDP_COMMAND_BYTES_MAX)
        );
        assert_eq!(batches.concat(), cookies);
    }

    #[test]
    fn they_are_kept_for_this_user_only_and_read_as_they_are_set() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cookies/key.json");
        let told = json!([
            {"name": "a", "value": "1", "expires": -1, "size": 2, "session": true, "domain": "x.test", "path": "/"},
            {"name": "b", "value": "2", "expires": 9, "size": 2, "session": false, "domain": "x.test", "path": "/"},
        ]);
        assert_eq!(read(&file), None);
        write(&file, &told.to_string()).unwrap();
        write(&file, &told.to_string()).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let set = json!([
            {"name": "a", "value": "1", "domain": "x.test", "path": "/"},
            {"name": "b", "value": "2", "expires": 9, "domain": "x.test", "path": "/"},
        ]);
        assert_eq!(read(&file).map(Json::from), Some(set));
        fs::write(&file, "torn [").unwrap();
        assert_eq!(read(&file), None);
    }

    #[test]
    fn they_are_neither_read_nor_written_through_a_link() {
        let (outside, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let elsewhere = outside.path().join("key.json");
        fs::write(&elsewhere, "[{}]").unwrap();
        let file = folder.path().join("cookies/key.json");
        fs::create_dir(folder.path().join("cookies")).unwrap();
        symlink(&elsewhere, &file).unwrap();
        assert_eq!(read(&file), None);
        write(&file, "[]").unwrap();
        assert!(!file.is_symlink());
        symlink(outside.path(), folder.path().join("linked")).unwrap();
        let file = folder.path().join("linked/key.json");
        assert!(read(&file).is_none() && write(&file, "[]").is_err());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "[{}]");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}
