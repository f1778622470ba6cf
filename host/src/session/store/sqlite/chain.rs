//! The audit in the tables: the chain and its head.

use super::{Done, step::Step};
use crate::session::store::audit::{AuditFilter, AuditRow, Event, EventKind, KnownRow, Verdict, Verifier};
use codemode_spec::limits::AUDIT_ROWS_PARTS;
use rusqlite::{Row, named_params, params};
use serde_json::json;

/// What the chain ends with, and what retention has removed of it.
struct Head {
    last: u64,
    hash: String,
    removed: u64,
    removed_hash: String,
}

impl Step<'_> {
    pub(super) fn audit(&self, event: &Event) -> Done<()> {
        // Without a head, whatever is written continues nothing: `verify` will say so.
        let (last, previous) = self.head()?.map_or_else(Default::default, |head| (head.last, head.hash));
        let Event { kind, key, session, execution, token, detail } = event.clone();
        let detail = if detail.is_null() { String::new() } else { detail.to_string() };
        let mut row = AuditRow {
            id: last + 1,
            at_ms: self.wall,
            kind: kind.name(),
            key,
            session,
            execution,
            token,
            detail,
            hash: String::new(),
        };
        row.hash = row.hash_after(&previous);
        self.execute(
            "INSERT INTO audit (id, at_ms, kind, key, session, execution, token, detail, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![row.id, row.at_ms, row.kind, row.key, row.session, row.execution, row.token, row.detail, row.hash],
        )?;
        self.execute("UPDATE audit_head SET last = ?1, hash = ?2", params![row.id, row.hash])?;
        Ok(())
    }

    fn head(&self) -> Done<Option<Head>> {
        self.one("SELECT last, hash, removed, removed_hash FROM audit_head", [], |row| {
            Ok(Head { last: row.get(0)?, hash: row.get(1)?, removed: row.get(2)?, removed_hash: row.get(3)? })
        })
    }

    pub(super) fn audit_rows(&self, filter: &AuditFilter) -> Done<Vec<AuditRow>> {
        let mut rows = self.all(
            "SELECT id, at_ms, kind, key, session, execution, token, detail, hash FROM audit
             WHERE (:key IS NULL OR key = :key) AND (:session IS NULL OR session = :session)
                 AND (:execution IS NULL OR execution = :execution) AND (:since IS NULL OR at_ms >= :since)
             ORDER BY id DESC LIMIT :limit",
            named_params! {
                ":key": filter.key,
                ":session": filter.session,
                ":execution": filter.execution,
                ":since": filter.since_ms,
                ":limit": i64::try_from(filter.limit).unwrap_or(i64::MAX),
            },
            audit_row,
        )?;
        rows.reverse();
        Ok(rows)
    }

    pub(super) fn verify_audit(&self, known: Option<KnownRow>) -> Done<Verdict> {
        let Some(Head { last, hash, removed, removed_hash }) = self.head()? else {
            return Ok(
                Verifier::new(0, String::new(), known).broken_off("what the chain ends with is not there any more")
            );
        };
        let mut verifier = Verifier::new(removed, removed_hash.clone(), known);
        let mut checkpoint = None;
        let mut statement = self.transaction.prepare_cached(
            "SELECT id, at_ms, kind, key, session, execution, token, detail, hash FROM audit ORDER BY id",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let row = audit_row(row)?;
            if !verifier.row(&row) {
                break;
            }
            if row.kind == EventKind::Checkpoint.name() {
                checkpoint = Some(row.detail);
            }
        }
        let verdict = verifier.end(last, &hash);
        // What was removed has a row that says so, or it was not removed by us.
        let said = json!({"removed_up_to": removed, "hash": removed_hash}).to_string();
        if verdict.intact && removed > 0 && checkpoint.as_deref() != Some(said.as_str()) {
            return Ok(Verifier::new(removed, removed_hash, None)
                .broken_off("rows were removed that no checkpoint stands for"));
        }
        Ok(verdict)
    }

    /// Removes the oldest rows if there are more than so many, and some besides, so that it is not soon to be done again.
    pub(super) fn trim_audit(&self, rows_max: u64) -> Done<usize> {
        let Some(Head { last, removed, .. }) = self.head()? else { return Ok(0) };
        if last - removed <= rows_max {
            return Ok(0);
        }
        let up_to = last - (rows_max - rows_max / AUDIT_ROWS_PARTS);
        let hash: String =
            self.one("SELECT hash FROM audit WHERE id = ?1", [up_to], |row| row.get(0))?.unwrap_or_default();
        let trimmed = self.execute("DELETE FROM audit WHERE id <= ?1", [up_to])?;
        self.execute("UPDATE audit_head SET removed = ?1, removed_hash = ?2", params![up_to, hash])?;
        let event = Event::new(EventKind::Checkpoint);
        self.audit(&event.detail(json!({"removed_up_to": up_to, "hash": hash})))?;
        Ok(trimmed)
    }
}

fn audit_row(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    Ok(AuditRow {
        id: row.get(0)?,
        at_ms: row.get(1)?,
        kind: row.get(2)?,
        key: row.get(3)?,
        session: row.get(4)?,
        execution: row.get(5)?,
        token: row.get(6)?,
        detail: row.get(7)?,
        hash: row.get(8)?,
    })
}
