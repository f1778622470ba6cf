//! Operations on the audit: append to, verify and cut the chain.

use super::Done;
use crate::session::{
    rules,
    store::{
        audit::{AuditHead, AuditRow, Event, EventKind, KnownRow, Verdict, Verifier},
        tables::Tables,
    },
};
use serde_json::json;

pub(super) fn append(tables: &mut dyn Tables, event: &Event) -> Done<()> {
    // Without a head, the new rows do not continue the chain, which a verification detects.
    let head = tables.audit_head()?.unwrap_or_default();
    let Event { kind, key, session, execution, token, detail } = event.clone();
    let detail = if detail.is_null() { String::new() } else { detail.to_string() };
    let (id, at_ms, kind, hash) = (head.last + 1, tables.now().wall_ms, kind.name(), String::new());
    let mut row = AuditRow { id, at_ms, kind, key, session, execution, token, detail, hash };
    row.hash = row.hash_after(&head.hash);
    tables.audit_put(&row)?;
    tables.audit_head_put(&AuditHead { last: row.id, hash: row.hash, ..head })
}

pub(in crate::session::store) fn append_all(tables: &mut dyn Tables, events: &[Event]) -> Done<()> {
    events.iter().try_for_each(|event| append(tables, event))
}

pub(in crate::session::store) fn verify(tables: &mut dyn Tables, known: Option<KnownRow>) -> Done<Verdict> {
    let Some(AuditHead { last, hash, removed, removed_hash }) = tables.audit_head()? else {
        return Ok(Verifier::new(0, String::new(), known).fail("what the chain ends with is not there any more"));
    };
    let mut verifier = Verifier::new(removed, removed_hash.clone(), known);
    let mut checkpoint = None;
    tables.audit_visit(&mut |row| {
        let is_whole = verifier.row(&row);
        if is_whole && row.kind == EventKind::Checkpoint.name() {
            checkpoint = Some(row.detail);
        }
        is_whole
    })?;
    let verdict = verifier.end(last, &hash);
    // If retention removed rows, there is a checkpoint for them; otherwise something else removed them.
    let said = json!({"removed_up_to": removed, "hash": removed_hash}).to_string();
    if verdict.intact && removed > 0 && checkpoint.as_deref() != Some(said.as_str()) {
        return Ok(Verifier::new(removed, removed_hash, None).fail("rows were removed that no checkpoint stands for"));
    }
    Ok(verdict)
}

/// Removes the oldest rows if there are more than `rows_max`; returns the number of removed rows.
pub(super) fn cut(tables: &mut dyn Tables, rows_max: u64) -> Done<usize> {
    let Some(head) = tables.audit_head()? else { return Ok(0) };
    let Some(up_to) = rules::audit_cut(head.last, head.removed, rows_max) else { return Ok(0) };
    let hash = tables.audit_hash(up_to)?.unwrap_or_default();
    let cut = tables.audit_remove_up_to(up_to)?;
    tables.audit_head_put(&AuditHead { removed: up_to, removed_hash: hash.clone(), ..head })?;
    append(tables, &Event::new(EventKind::Checkpoint).detail(json!({"removed_up_to": up_to, "hash": hash})))?;
    Ok(cut)
}
