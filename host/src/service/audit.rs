//! Access to the audit for operators: query and verification.

use super::host::Service;
use crate::session::store::audit::{AuditFilter, AuditRow, KnownRow, Verdict};
use codemode_spec::{ErrorCode, ErrorReport, limits::AUDIT_ROWS_SHOWN};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};

/// A query for rows of the audit. All conditions must hold.
#[derive(Clone, Debug, Default)]
pub struct AuditQuery {
    /// Rows of this key.
    pub key: Option<String>,
    /// Rows of this session.
    pub session: Option<String>,
    /// Rows of this execution.
    pub execution: Option<String>,
    /// The maximum age, in milliseconds.
    pub since_ms: Option<u64>,
    /// Rows before the row with this number.
    pub before: Option<u64>,
    /// The maximum number of rows: the last that match.
    pub limit: Option<usize>,
}

/// Rows of the audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AuditShown {
    /// The requested rows, oldest first.
    pub rows: Vec<AuditRow>,
    /// If there are earlier rows: the number of the first row, to pass as `before` in the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
}

impl Service {
    /// The rows that match a query, oldest first.
    ///
    /// # Errors
    /// When the store cannot be opened or read.
    pub async fn audit_show(&self, query: AuditQuery) -> Result<AuditShown, ErrorReport> {
        let AuditQuery { key, session, execution, since_ms, before, limit } = query;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let since_ms = since_ms.map(|age| i64::try_from(now).unwrap_or(i64::MAX).saturating_sub_unsigned(age));
        let limit = limit.unwrap_or(AUDIT_ROWS_SHOWN);
        let executions = execution.into_iter().collect();
        let filter = AuditFilter { key, session, executions, since_ms, before, ..AuditFilter::default() };
        let (rows, before) = self.audit_page(filter, limit).await?;
        Ok(AuditShown { rows, before })
    }

    /// The last `limit` rows that match a filter, and the number of the first one if there are earlier rows.
    pub(super) async fn audit_page(
        &self,
        filter: AuditFilter,
        limit: usize,
    ) -> Result<(Vec<AuditRow>, Option<u64>), ErrorReport> {
        let store = self.administration().await?.sessions.store();
        let mut rows = store.audit_read(&AuditFilter { limit: limit.saturating_add(1), ..filter }).await?;
        let has_more = rows.len() > limit;
        rows.drain(..rows.len().saturating_sub(limit));
        let before = rows.first().filter(|_| has_more).map(|row| row.id);
        Ok((rows, before))
    }

    /// Verifies the hash chain of the audit, and that it still contains a row that an operator noted.
    ///
    /// # Errors
    /// `AUDIT_BROKEN` with the verdict in its details, and when the store cannot be opened or read.
    pub async fn audit_verify(&self, known: Option<KnownRow>) -> Result<Verdict, ErrorReport> {
        let verdict = self.administration().await?.sessions.store().audit_verify(known).await?;
        if verdict.intact {
            return Ok(verdict);
        }
        let (at, fault) = (verdict.broken_at.unwrap_or(0), verdict.fault.clone().unwrap_or_default());
        let message = format!("the audit is broken at row {at}: {fault}");
        Err(ErrorReport::new(ErrorCode::AuditBroken, message).with_detail("verdict", json!(verdict)))
    }
}
