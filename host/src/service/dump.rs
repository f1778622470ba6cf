//! A dump of one execution for a bug report, without secrets.

use super::{files::FileSize, host::Service, running::unknown_execution, startup::blocking};
use crate::session::store::audit::{AuditFilter, AuditRow};
use codemode_spec::{ErrorReport, limits::AUDIT_ROWS_SHOWN};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::{collections::BTreeSet, env, thread};

/// One execution, for a bug report. It contains no script, argument, result or console line, which only the answer has;
/// no path of the machine; and keys only as `key-1`, `key-2` …, in the order in which they appear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ExecutionDump {
    /// The version of this program.
    pub version: String,
    /// Operating system and architecture, such as `linux x86_64`.
    pub system: String,
    /// Processors that the host may use.
    pub processors: usize,
    /// The version that the browser reports, or `none` if there is no browser. Absent with an external endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<String>,
    /// The confinement mode of the settings: require, try or off.
    pub confine: String,
    /// `intact`, or where and why the audit is broken.
    pub audit: String,
    /// The audit rows of the execution and of the sessions that it used, oldest first.
    pub rows: Vec<AuditRow>,
    /// The names and sizes of the files of its answer.
    pub files: Vec<FileSize>,
}

impl Service {
    /// A dump of an execution for a bug report, by the answer's `context.execution_id`.
    ///
    /// # Errors
    /// `NOT_FOUND` when the audit has no such execution; when the state folder or the store cannot be used.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn dump_execution(&self, execution: &str) -> Result<ExecutionDump, ErrorReport> {
        let administration = self.administration().await?;
        let store = administration.sessions.store();
        let read = |filter: AuditFilter| async move { store.audit_read(&filter).await };
        let filter = AuditFilter { limit: AUDIT_ROWS_SHOWN, ..AuditFilter::default() };
        let mut rows = read(AuditFilter { executions: vec![execution.to_owned()], ..filter.clone() }).await?;
        if rows.is_empty() {
            return Err(unknown_execution(execution));
        }
        let sessions: BTreeSet<_> = rows.iter().filter_map(|row| row.session.clone()).collect();
        for session in sessions {
            rows.extend(read(AuditFilter { session: Some(session), ..filter.clone() }).await?);
        }
        rows.sort_by_key(|row| row.id);
        rows.dedup_by_key(|row| row.id);
        rows.drain(..rows.len().saturating_sub(AUDIT_ROWS_SHOWN));
        hide_keys(&mut rows);
        let audit = match self.audit_verify(None).await {
            Ok(_) => "intact".to_owned(),
            Err(error) => error.message,
        };
        let settings = self.settings();
        let named = settings.browser.browser.clone();
        let is_external = settings.is_external();
        let of_machine = move || {
            let browser =
                || codemode_chromium::find(named.as_deref()).map_or_else(|_| "none".to_owned(), |it| it.version);
            Ok((!is_external).then(browser))
        };
        let browser = blocking(of_machine).await?;
        let files = self.files_list(execution).await.map_or_else(|_| Vec::new(), |listed| listed.files);
        Ok(ExecutionDump {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            system: format!("{} {}", env::consts::OS, env::consts::ARCH),
            processors: thread::available_parallelism().map_or(1, Into::into),
            browser,
            confine: settings.browser.confinement.mode.to_string(),
            audit,
            rows,
            files,
        })
    }
}

/// Replaces keys by numbers, since keys may be names of people.
fn hide_keys(rows: &mut [AuditRow]) {
    let mut keys: Vec<String> = Vec::new();
    for key in rows.iter().filter_map(|row| row.key.as_ref()).filter(|key| !key.is_empty()) {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    for row in rows {
        // A hash that covers a key would allow guesses to be verified.
        row.hash.clear();
        row.key = row.key.take().map(|key| hidden(&key, &keys));
        row.detail = match serde_json::from_str(&row.detail) {
            Ok(detail) => hidden_in(detail, &keys).to_string(),
            Err(_) => hidden(&row.detail, &keys),
        };
    }
}

/// A value in whose texts the keys are replaced. The names of its fields are those of this program.
fn hidden_in(value: Json, keys: &[String]) -> Json {
    match value {
        Json::String(text) => hidden(&text, keys).into(),
        Json::Array(items) => items.into_iter().map(|item| hidden_in(item, keys)).collect(),
        Json::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, hidden_in(value, keys)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other,
    }
}

/// A text in which each occurrence of a key is replaced by `key-1`, `key-2` …
fn hidden(text: &str, keys: &[String]) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        // The longest one: a key may be the beginning of another key.
        let found = keys.iter().enumerate().filter(|(_, key)| rest.starts_with(key.as_str()));
        let length = match found.max_by_key(|(_, key)| key.len()) {
            Some((place, key)) => {
                out.push_str(&format!("key-{}", place + 1));
                key.len()
            }
            None => {
                out.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_hidden_wherever_they_occur_and_fields_keep_their_names() {
        let row = |key: Option<&str>, detail: &str| AuditRow {
            id: 1,
            at_ms: 0,
            kind: "call".to_owned(),
            key: key.map(str::to_owned),
            session: None,
            execution: None,
            token: None,
            detail: detail.to_owned(),
            hash: "of the key".to_owned(),
        };
        let detail = json!({
            "mode": "reuse", "name": "the login of ada@home", "n": 3, "in": ["ada", {"key-1": "mode: ad"}, null],
        });
        let mut rows = [
            row(Some("mode"), "{}"),
            row(Some("ada"), &detail.to_string()),
            row(None, &detail.to_string()),
            row(Some("ada@home"), "no JSON, of ada"),
            row(Some("mode"), "null"),
        ];
        hide_keys(&mut rows);
        let hidden = json!({
            "mode": "reuse", "name": "the login of key-3", "n": 3, "in": ["key-2", {"key-1": "key-1: ad"}, null],
        });
        let seen = rows.each_ref().map(|row| (row.key.as_deref(), row.detail.clone()));
        assert_eq!(
            seen,
            [
                (Some("key-1"), "{}".to_owned()),
                (Some("key-2"), hidden.to_string()),
                (None, hidden.to_string()),
                (Some("key-3"), "no JSON, of key-2".to_owned()),
                (Some("key-1"), "null".to_owned()),
            ]
        );
        assert!(rows.iter().all(|row| row.hash.is_empty()));
    }
}
