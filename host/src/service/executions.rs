//! Listing of executions for operators: those that run in this host, and those in the audit.

use super::{
    files::FileSize,
    host::Service,
    running::{ExecutionInfo, ExecutionState, unknown_execution},
};
use crate::session::store::audit::{AuditFilter, AuditRow, EventKind};
use codemode_spec::{
    ErrorReport,
    limits::{AUDIT_ROWS_SHOWN, EXECUTIONS_LISTED},
};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A page of executions, latest start first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionsListed {
    /// The requested executions.
    pub executions: Vec<ExecutionInfo>,
    /// If there are earlier executions: the audit row to pass as `before` in the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
}

/// One execution, with its audit rows and files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionShown {
    /// The execution.
    pub execution: ExecutionInfo,
    /// Its last audit rows, oldest first.
    pub rows: Vec<AuditRow>,
    /// The files of its answer that are still stored.
    pub files: Vec<FileSize>,
}

/// A query for executions.
#[derive(Clone, Debug, Default)]
pub struct ExecutionsQuery {
    /// Only executions that run in this host.
    pub running: bool,
    /// Only executions of this session key.
    pub key: Option<String>,
    /// Only executions that started before this row of the audit.
    pub before: Option<u64>,
    /// The maximum number of executions: the latest.
    pub limit: Option<usize>,
}

impl Service {
    /// The executions that match a query, latest start first.
    ///
    /// # Errors
    /// When the store cannot be opened or read.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn executions_list(&self, query: ExecutionsQuery) -> Result<ExecutionsListed, ErrorReport> {
        let ExecutionsQuery { running, key, before, limit } = query;
        let limit = limit.unwrap_or(EXECUTIONS_LISTED);
        let is_meant = |execution: &ExecutionInfo| key.is_none() || execution.key == key;
        let of_here: Vec<_> = self.inner.running.all().into_iter().filter(is_meant).collect();
        if running {
            return Ok(ExecutionsListed { executions: of_here.into_iter().take(limit).collect(), before: None });
        }
        let kind = Some(EventKind::ExecutionStarted);
        let filter = AuditFilter { key: key.clone(), kind, before, ..AuditFilter::default() };
        let (mut started, mut earlier) = self.audit_page(filter, limit).await?;
        started.reverse();
        let ids: Vec<String> = started.iter().filter_map(|row| row.execution.clone()).collect();
        let mut ended = BTreeMap::new();
        if !ids.is_empty() {
            let filter = AuditFilter {
                kind: Some(EventKind::ExecutionEnded),
                limit: ids.len(),
                executions: ids,
                ..AuditFilter::default()
            };
            let rows = self.administration().await?.sessions.store().audit_read(&filter).await?;
            ended.extend(rows.into_iter().filter_map(|row| Some((row.execution.clone()?, row))));
        }
        // Executions that have just started may not be in the audit yet.
        let is_known = |execution: &ExecutionInfo| {
            started.iter().any(|row| row.execution.as_deref() == Some(execution.id.as_str()))
        };
        let mut executions: Vec<_> = match before {
            None => of_here
                .iter()
                .filter(|execution| is_started_after(execution, started.first()))
                .filter(|execution| !is_known(execution))
                .take(limit)
                .cloned()
                .collect(),
            Some(_) => Vec::new(),
        };
        // The audited ones that find no room beside them begin the next page.
        let shown = started.len().min(limit - executions.len());
        if let Some(next) = started.drain(shown..).next() {
            earlier = Some(next.id + 1);
        }
        executions.extend(started.iter().filter_map(|row| {
            let id = row.execution.as_deref()?;
            self.of_rows(id, std::iter::once(row).chain(ended.get(id)))
        }));
        Ok(ExecutionsListed { executions, before: earlier })
    }

    /// One execution, by the answer's `context.execution_id`.
    ///
    /// # Errors
    /// `NOT_FOUND` when neither this host nor the audit has it; when the store cannot be opened or read.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn executions_show(&self, execution: &str) -> Result<ExecutionShown, ErrorReport> {
        let filter = AuditFilter { executions: vec![execution.to_owned()], ..AuditFilter::default() };
        let (rows, _) = self.audit_page(filter, AUDIT_ROWS_SHOWN).await?;
        let found = self.of_rows(execution, &rows).or_else(|| self.inner.running.find(execution));
        let found = found.ok_or_else(|| unknown_execution(execution))?;
        let files = self.files_list(execution).await?.files;
        Ok(ExecutionShown { execution: found, rows, files })
    }

    /// Describes an execution from its audit rows and the state of this host; `None` if there are no rows.
    fn of_rows<'a>(&self, id: &str, rows: impl IntoIterator<Item = &'a AuditRow>) -> Option<ExecutionInfo> {
        let mut rows = rows.into_iter().peekable();
        rows.peek()?;
        let mut found = ExecutionInfo::new(id);
        let (started, ended) = (EventKind::ExecutionStarted.name(), EventKind::ExecutionEnded.name());
        for row in rows {
            let detail: Json = serde_json::from_str(&row.detail).unwrap_or_default();
            let text = |name: &str| detail[name].as_str().map(str::to_owned);
            found.session = row.session.clone().or(found.session);
            if row.kind == started {
                (found.started_ms, found.key) = (Some(row.at_ms), row.key.clone());
                (found.caller, found.mode) = (text("caller"), text("mode"));
            } else if row.kind == ended {
                (found.ended_ms, found.outcome) = (Some(row.at_ms), text("outcome"));
                found.calls = detail["calls"].as_u64();
            }
        }
        found.state = match found.ended_ms {
            Some(_) => ExecutionState::Ended,
            None if self.inner.running.find(id).is_some() => ExecutionState::Running,
            None => ExecutionState::Unknown,
        };
        Some(found)
    }
}

/// Whether an execution started no earlier than the last one in the audit.
fn is_started_after(execution: &ExecutionInfo, last: Option<&AuditRow>) -> bool {
    last.is_none_or(|last| execution.started_ms.is_some_and(|started| started >= last.at_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{service::Settings, session::store::audit::Event};
    use codemode_spec::session::SessionRequest;

    /// Executions whose start is in the audit, or not yet, on pages of every size.
    #[tokio::test]
    async fn a_page_has_no_more_executions_than_requested_and_none_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { state_dir: Some(folder.path().to_owned()), ..Settings::default() };
        let service = Service::builder(settings).without_browser().build().unwrap();
        let store = service.administration().await.unwrap().sessions.store();
        let started = |id: &str| Event::new(EventKind::ExecutionStarted).execution(id);
        let audited = ["x-1", "x-2", "x-3", "x-4"];
        store.audit_append(&audited.map(started)).await.unwrap();
        let unaudited = ["x-5", "x-6", "x-7"];
        for id in ["x-4"].iter().chain(&unaudited) {
            service.inner.running.begin(id, "", &SessionRequest::default());
        }
        for limit in 1..9 {
            let mut query = ExecutionsQuery { limit: Some(limit), ..ExecutionsQuery::default() };
            let mut pages = Vec::new();
            loop {
                let listed = service.executions_list(query.clone()).await.unwrap();
                let ids: Vec<_> = listed.executions.into_iter().map(|execution| execution.id).collect();
                assert!(!ids.is_empty() && ids.len() <= limit, "{limit}: {ids:?}");
                pages.extend(ids);
                let Some(before) = listed.before else { break };
                query.before = Some(before);
            }
            let missing = unaudited.len().saturating_sub(limit);
            pages.sort_unstable();
            pages.dedup();
            assert_eq!(pages.len(), audited.len() + unaudited.len() - missing, "{limit}: {pages:?}");
        }
    }
}
