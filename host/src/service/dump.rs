//! What a report of a defect needs of one execution, without what is secret.

use super::{files::FileSize, host::Service, running::unknown_execution, startup::blocking};
use crate::session::store::audit::{AuditFilter, AuditRow};
use codemode_spec::{ErrorReport, limits::AUDIT_ROWS_SHOWN};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, env, thread};

/// One execution, as a report of a defect tells of it. It holds no script, argument, result or console line, which nothing
/// but the answer has; no path of the machine; and keys only as `key-1`, `key-2` …, in the order in which they appear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ExecutionDump {
    /// The version of this program.
    pub version: String,
    /// Operating system and processor, as `linux x86_64`.
    pub system: String,
    /// Processors that the host may use.
    pub processors: usize,
    /// What the browser says of itself, or why there is none. Absent with an external endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<String>,
    /// How much confinement the settings ask for: require, try or off.
    pub confine: String,
    /// Whether the audit is what was written; otherwise where and why not.
    pub audit: String,
    /// What the audit has of the execution and of the sessions that it used, oldest first.
    pub rows: Vec<AuditRow>,
    /// The names of the files of its answer, with their bytes.
    pub files: Vec<FileSize>,
}

impl Service {
    /// What a report of a defect needs of an execution, by the answer's `context.execution_id`.
    ///
    /// # Errors
    /// `NOT_FOUND` when the audit knows no such execution; what is wrong with state folder or store.
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

/// Puts numbers in the place of keys, which may be names of people.
fn hide_keys(rows: &mut [AuditRow]) {
    let mut keys: Vec<String> = Vec::new();
    for row in rows {
        // A hash over a key would let it be guessed.
        row.hash.clear();
        let Some(key) = &mut row.key else { continue };
        let place = keys.iter().position(|known| known == key).unwrap_or_else(|| {
            keys.push(key.clone());
            keys.len() - 1
        });
        let hidden = format!("key-{}", place + 1);
        // A key is quoted in the detail of some kinds.
        row.detail = row.detail.replace(&*serde_json::Value::from(key.as_str()).to_string(), &format!("{hidden:?}"));
        *key = hidden;
    }
}
