//! The tables within one transaction: maps rows to columns and back, and decides nothing.

use super::failure::store_error;
use crate::session::{
    liveness::Liveness,
    rules::{LeaseName, LeaseRecord, Moment, SessionRecord, SessionRow, Waiter},
    store::{
        StoreError,
        audit::{AuditFilter, AuditHead, AuditRow, EventKind},
        tables::Tables,
    },
};
use rusqlite::{OptionalExtension as _, Params, Row, ToSql, Transaction, named_params, params};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value as Json;
use std::path::Path;

const LEASE: &str =
    "SELECT name, token, execution, host, boot, since_steady, until_steady, renewals, revoked FROM lease";
const WAITER: &str = "SELECT name, execution, host, boot, until_steady FROM waiter";
const SESSION: &str = "SELECT id, mode, key, state, profile, profile_kept, execution, browser, ttl_ms, created_ms, \
                       used_ms, ended_ms, reason, boot, network, network_held, idle_steady, ended_after FROM session";
const AUDIT: &str = "SELECT id, at_ms, kind, key, session, execution, token, detail, hash FROM audit";

/// A transaction and its time.
pub(super) struct SqliteTables<'a> {
    pub(super) transaction: Transaction<'a>,
    pub(super) path: &'a Path,
    pub(super) now: Moment,
    pub(super) liveness: &'a dyn Liveness,
}

type Done<T> = Result<T, StoreError>;

impl SqliteTables<'_> {
    fn execute(&self, sql: &str, params: impl Params) -> Done<usize> {
        self.done(self.transaction.prepare_cached(sql).and_then(|mut statement| statement.execute(params)))
    }

    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Done<Option<T>> {
        let mut statement = self.done(self.transaction.prepare_cached(sql))?;
        self.done(statement.query_row(params, read).optional())
    }

    fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Done<Vec<T>> {
        let mut statement = self.done(self.transaction.prepare_cached(sql))?;
        self.done(statement.query_map(params, read).and_then(Iterator::collect))
    }

    fn done<T>(&self, result: rusqlite::Result<T>) -> Done<T> {
        result.map_err(|error| store_error(self.path, &error))
    }

    fn lease_row(&self, row: &Row<'_>) -> rusqlite::Result<(LeaseName, LeaseRecord)> {
        let (execution, host): (Option<String>, Option<String>) = (row.get(2)?, row.get(3)?);
        let host = host.unwrap_or_default();
        let lease = LeaseRecord {
            token: row.get(1)?,
            // Irrelevant for a lease that is free.
            host_lives: execution.is_some() && self.liveness.is_alive(&host),
            execution,
            host,
            boot: row.get(4)?,
            since_steady_ms: row.get(5)?,
            until_steady_ms: row.get(6)?,
            renewals: row.get(7)?,
            revoked: row.get(8)?,
        };
        Ok((name(row)?, lease))
    }

    fn waiter_row(&self, row: &Row<'_>) -> rusqlite::Result<(LeaseName, Waiter)> {
        let host: String = row.get(2)?;
        let waiter = Waiter {
            execution: row.get(1)?,
            host_lives: self.liveness.is_alive(&host),
            host,
            boot: row.get(3)?,
            until_steady_ms: row.get(4)?,
        };
        Ok((name(row)?, waiter))
    }
}

impl Tables for SqliteTables<'_> {
    fn now(&self) -> &Moment {
        &self.now
    }

    fn lease(&mut self, name: &LeaseName) -> Done<Option<LeaseRecord>> {
        let found = self.one(&format!("{LEASE} WHERE name = ?1"), [name.as_str()], |row| self.lease_row(row))?;
        Ok(found.map(|(_, lease)| lease))
    }

    fn leases_held(&mut self) -> Done<Vec<(LeaseName, LeaseRecord)>> {
        let sql = format!("{LEASE} WHERE execution IS NOT NULL ORDER BY name");
        self.all(&sql, [], |row| self.lease_row(row))
    }

    fn leases(&mut self) -> Done<Vec<(LeaseName, LeaseRecord)>> {
        self.all(&format!("{LEASE} ORDER BY name"), [], |row| self.lease_row(row))
    }

    fn lease_put(&mut self, name: &LeaseName, lease: &LeaseRecord) -> Done<()> {
        let LeaseRecord { token, execution, host, host_lives: _, boot, since_steady_ms, until_steady_ms, .. } = lease;
        self.execute(
            "INSERT OR REPLACE INTO lease (name, token, execution, host, boot, since_steady, until_steady, renewals, revoked)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                name.as_str(),
                token,
                execution,
                host,
                boot,
                since_steady_ms,
                until_steady_ms,
                lease.renewals,
                lease.revoked
            ],
        )?;
        Ok(())
    }

    fn lease_remove(&mut self, name: &LeaseName) -> Done<()> {
        self.execute("DELETE FROM lease WHERE name = ?1", [name.as_str()])?;
        Ok(())
    }

    fn token_floor(&mut self) -> Done<u64> {
        Ok(self.one("SELECT token FROM token_floor", [], |row| row.get(0))?.unwrap_or_default())
    }

    fn token_floor_put(&mut self, token: u64) -> Done<()> {
        self.execute("UPDATE token_floor SET token = ?1", [token])?;
        Ok(())
    }

    fn waiters(&mut self, name: &LeaseName) -> Done<Vec<Waiter>> {
        let sql = format!("{WAITER} WHERE name = ?1 ORDER BY id");
        self.all(&sql, [name.as_str()], |row| self.waiter_row(row).map(|(_, waiter)| waiter))
    }

    fn waiters_of_all(&mut self) -> Done<Vec<(LeaseName, Waiter)>> {
        self.all(&format!("{WAITER} ORDER BY id"), [], |row| self.waiter_row(row))
    }

    fn waiter_put(&mut self, name: &LeaseName, waiter: &Waiter) -> Done<()> {
        let Waiter { execution, host, host_lives: _, boot, until_steady_ms } = waiter;
        self.execute(
            "INSERT INTO waiter (name, execution, host, boot, until_steady) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (name, execution) DO UPDATE SET host = ?3, boot = ?4, until_steady = ?5",
            params![name.as_str(), execution, host, boot, until_steady_ms],
        )?;
        Ok(())
    }

    fn waiter_remove(&mut self, name: &LeaseName, execution: &str) -> Done<bool> {
        let sql = "DELETE FROM waiter WHERE name = ?1 AND execution = ?2";
        Ok(self.execute(sql, [name.as_str(), execution])? > 0)
    }

    fn session(&mut self, id: &str) -> Done<Option<SessionRecord>> {
        self.one(&format!("{SESSION} WHERE id = ?1"), [id], session_row)
    }

    fn session_of_key(&mut self, key: &str) -> Done<Option<SessionRecord>> {
        self.one(&format!("{SESSION} WHERE key = ?1 AND state <> 'ended'"), [key], session_row)
    }

    fn sessions_of_key(&mut self, key: &str) -> Done<Vec<SessionRecord>> {
        self.all(&format!("{SESSION} WHERE key = ?1"), [key], session_row)
    }

    fn sessions(&mut self) -> Done<Vec<SessionRecord>> {
        self.all(&format!("{SESSION} ORDER BY state = 'ended', ended_after, created_ms, id"), [], session_row)
    }

    fn sessions_open(&mut self) -> Done<usize> {
        let sql = "SELECT count(*) FROM session WHERE state <> 'ended'";
        Ok(self.one(sql, [], |row| row.get(0))?.unwrap_or_default())
    }

    fn session_keys(&mut self) -> Done<Vec<String>> {
        self.all("SELECT DISTINCT key FROM session WHERE key IS NOT NULL", [], |row| row.get(0))
    }

    fn session_put(&mut self, SessionRecord { row, idle_steady_ms, ended_after }: &SessionRecord) -> Done<()> {
        self.execute(
            "INSERT INTO session (id, mode, key, state, profile, profile_kept, execution, browser, ttl_ms, created_ms,
                 used_ms, ended_ms, reason, boot, network, network_held, idle_steady, ended_after)
             VALUES (:id, :mode, :key, :state, :profile, :profile_kept, :execution, :browser, :ttl_ms, :created_ms,
                 :used_ms, :ended_ms, :reason, :boot, :network, :network_held, :idle_steady, :ended_after)
             ON CONFLICT (id) DO UPDATE SET mode = :mode, key = :key, state = :state, profile = :profile,
                 profile_kept = :profile_kept, execution = :execution, browser = :browser, ttl_ms = :ttl_ms,
                 created_ms = :created_ms, used_ms = :used_ms, ended_ms = :ended_ms, reason = :reason, boot = :boot,
                 network = :network, network_held = :network_held, idle_steady = :idle_steady,
                 ended_after = :ended_after",
            named_params! {
                ":id": row.id,
                ":mode": row.mode.as_str(),
                ":key": row.key,
                ":state": text(&row.state),
                ":profile": row.profile,
                ":profile_kept": row.profile_kept,
                ":execution": row.execution,
                ":browser": row.browser.as_ref().map(text),
                ":ttl_ms": row.ttl_ms,
                ":created_ms": row.created_ms,
                ":used_ms": row.used_ms,
                ":ended_ms": row.ended_ms,
                ":reason": row.reason.as_ref().map(text),
                ":boot": row.boot,
                ":network": row.network,
                ":network_held": row.network_held,
                ":idle_steady": idle_steady_ms,
                ":ended_after": ended_after,
            },
        )?;
        Ok(())
    }

    fn session_remove(&mut self, id: &str) -> Done<()> {
        self.execute("DELETE FROM session WHERE id = ?1", [id])?;
        Ok(())
    }

    fn audit_head(&mut self) -> Done<Option<AuditHead>> {
        self.one("SELECT last, hash, removed, removed_hash FROM audit_head", [], |row| {
            Ok(AuditHead { last: row.get(0)?, hash: row.get(1)?, removed: row.get(2)?, removed_hash: row.get(3)? })
        })
    }

    fn audit_head_put(&mut self, AuditHead { last, hash, removed, removed_hash }: &AuditHead) -> Done<()> {
        let sql = "UPDATE audit_head SET last = ?1, hash = ?2, removed = ?3, removed_hash = ?4";
        self.execute(sql, params![last, hash, removed, removed_hash])?;
        Ok(())
    }

    fn audit_hash(&mut self, id: u64) -> Done<Option<String>> {
        self.one("SELECT hash FROM audit WHERE id = ?1", [id], |row| row.get(0))
    }

    fn audit_put(&mut self, row: &AuditRow) -> Done<()> {
        self.execute(
            "INSERT INTO audit (id, at_ms, kind, key, session, execution, token, detail, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![row.id, row.at_ms, row.kind, row.key, row.session, row.execution, row.token, row.detail, row.hash],
        )?;
        Ok(())
    }

    fn audit_remove_up_to(&mut self, id: u64) -> Done<usize> {
        self.execute("DELETE FROM audit WHERE id <= ?1", [id])
    }

    fn audit_rows(&mut self, filter: &AuditFilter) -> Done<Vec<AuditRow>> {
        let AuditFilter { key, session, executions, kind, since_ms, before, limit } = filter;
        let kind = kind.map(EventKind::name);
        let executions = (!executions.is_empty()).then(|| Json::from(executions.as_slice()).to_string());
        // The SQL contains only the conditions of this filter: SQLite uses no index for optional conditions such as
        // `?1 IS NULL OR key = ?1`.
        let mut conditions = vec!["TRUE"];
        let mut values: Vec<&dyn ToSql> = Vec::new();
        let wanted: [(&str, Option<&dyn ToSql>); 6] = [
            ("key = ?", key.as_ref().map(|value| value as _)),
            ("session = ?", session.as_ref().map(|value| value as _)),
            ("execution IN (SELECT value FROM json_each(?))", executions.as_ref().map(|value| value as _)),
            ("kind = ?", kind.as_ref().map(|value| value as _)),
            ("at_ms >= ?", since_ms.as_ref().map(|value| value as _)),
            ("id < ?", before.as_ref().map(|value| value as _)),
        ];
        for (condition, value) in wanted {
            if let Some(value) = value {
                conditions.push(condition);
                values.push(value);
            }
        }
        let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
        values.push(&limit);
        let sql = format!("{AUDIT} WHERE {} ORDER BY id DESC LIMIT ?", conditions.join(" AND "));
        let mut rows = self.all(&sql, values.as_slice(), audit_row)?;
        rows.reverse();
        Ok(rows)
    }

    fn audit_visit(&mut self, visit: &mut dyn FnMut(AuditRow) -> bool) -> Done<()> {
        let mut statement = self.done(self.transaction.prepare_cached(&format!("{AUDIT} ORDER BY id")))?;
        let mut rows = self.done(statement.query([]))?;
        while let Some(row) = self.done(rows.next())? {
            if !visit(self.done(audit_row(row))?) {
                break;
            }
        }
        Ok(())
    }
}

fn name(row: &Row<'_>) -> rusqlite::Result<LeaseName> {
    let name: String = row.get("name")?;
    let unknown = || rusqlite::Error::InvalidColumnType(0, "name".to_owned(), rusqlite::types::Type::Text);
    LeaseName::parse(&name).ok_or_else(unknown)
}

fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    let session = SessionRow {
        id: row.get(0)?,
        mode: word(row, 1)?,
        key: row.get(2)?,
        state: word(row, 3)?,
        profile: row.get(4)?,
        profile_kept: row.get(5)?,
        execution: row.get(6)?,
        browser: match row.get::<_, Option<String>>(7)? {
            Some(facts) => Some(serde_json::from_str(&facts).map_err(|error| unreadable(7, error))?),
            None => None,
        },
        ttl_ms: row.get(8)?,
        created_ms: row.get(9)?,
        used_ms: row.get(10)?,
        ended_ms: row.get(11)?,
        reason: match row.get::<_, Option<String>>(12)? {
            Some(_) => Some(word(row, 12)?),
            None => None,
        },
        boot: row.get(13)?,
        network: row.get(14)?,
        network_held: row.get(15)?,
    };
    Ok(SessionRecord { row: session, idle_steady_ms: row.get(16)?, ended_after: row.get(17)? })
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

/// A value that is stored as the text of its serde name.
fn word<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    serde_json::from_value(Json::String(row.get(column)?)).map_err(|error| unreadable(column, error))
}

fn unreadable(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

/// The serde name of a value if it serialises to a string, otherwise its JSON.
fn text(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Json::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}
