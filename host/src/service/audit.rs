//! The audit as an operator reads it.

use super::{answer, sessions};
pub use crate::session::store::audit::KnownRow;
use crate::{config::Config, session::store::audit::AuditFilter};
use codemode_spec::{Envelope, ErrorCode, ErrorReport, limits::AUDIT_ROWS_SHOWN};
use serde_json::{Value as Json, json};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Which rows of the audit.
#[derive(Clone, Debug, Default)]
pub struct AuditQuery {
    /// Of this key.
    pub key: Option<String>,
    /// Of this session.
    pub session: Option<String>,
    /// Of this execution.
    pub execution: Option<String>,
    /// At most so old, in milliseconds.
    pub since_ms: Option<u64>,
    /// The last of them, at most so many.
    pub limit: Option<usize>,
}

/// The rows that are asked for, oldest first.
pub async fn audit_show(config: &Config, query: AuditQuery) -> Envelope {
    let began = Instant::now();
    let rows = async {
        let AuditQuery { key, session, execution, since_ms, limit } = query;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let since_ms = since_ms.map(|age| i64::try_from(now).unwrap_or(i64::MAX).saturating_sub_unsigned(age));
        let limit = limit.unwrap_or(AUDIT_ROWS_SHOWN);
        let filter = AuditFilter { key, session, execution, since_ms, limit };
        let manager = sessions::open(config, &config.state()?)?;
        let rows = manager.store().audit_read(&filter).await?;
        Ok::<Json, ErrorReport>(json!({ "rows": rows }))
    };
    answer("audit show", rows.await, began.elapsed())
}

/// Whether the audit is what was written, and still has a row that was noted.
pub async fn audit_verify(config: &Config, known: Option<KnownRow>) -> Envelope {
    let began = Instant::now();
    let verified = async {
        let manager = sessions::open(config, &config.state()?)?;
        let verdict = manager.store().audit_verify(known).await?;
        if verdict.intact {
            return Ok(json!(verdict));
        }
        let (at, fault) = (verdict.broken_at.unwrap_or(0), verdict.fault.clone().unwrap_or_default());
        let message = format!("the audit is broken at row {at}: {fault}");
        Err(ErrorReport::new(ErrorCode::AuditBroken, message).with_detail("verdict", json!(verdict)))
    };
    answer("audit verify", verified.await, began.elapsed())
}
