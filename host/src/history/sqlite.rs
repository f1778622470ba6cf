//! The history's database. Besides the session store this is the only code with SQL: the two databases are never read
//! together, and this one may be deleted at any time.

use super::rows::{ActionRow, Call, CallRow, Deleted, Event, EventRow, NewAction, Owner, Part, SessionRow, Which};
use codemode_chromium::PrivateDir;
use codemode_spec::limits::{
    HISTORY_ACTIONS_MAX, HISTORY_CALLS_MAX, HISTORY_EVENTS_MAX, HISTORY_FILE_BYTES_MAX, HISTORY_PICTURE_BYTES_MAX,
    HISTORY_PICTURES_MAX, HISTORY_SESSIONS_MAX,
};
use rusqlite::{Connection, ErrorCode as SqlCode, OpenFlags, OptionalExtension as _, Row, Transaction, params};
use rusqlite_migration::{M, Migrations};
use serde_json::Value as Json;
use std::{collections::VecDeque, io, path::Path, time::Duration};

const FILE: &str = "history.db";
/// The migrations. A migration is never changed once it has shipped.
const STEPS: &[M<'static>] = &[M::up(include_str!("schema/0001_history.sql"))];
const MIGRATIONS: Migrations<'static> = Migrations::from_slice(STEPS);
/// How long to wait for another process's transaction.
const BUSY_MAX: Duration = Duration::from_secs(5);
const PAGE_BYTES: usize = 4_096;
/// SQL's "no limit".
const ALL: i64 = -1;

pub(super) type Outcome<T> = rusqlite::Result<T>;

/// An open database.
pub(super) struct Connected(Connection);

impl Connected {
    /// Opens the database in a folder, and creates both if they are missing.
    pub(super) fn open(folder: &Path) -> Result<Self, String> {
        let private = PrivateDir::make(folder).map_err(|error| error.to_string())?;
        // Create the file here: SQLite would make it readable for other users.
        match private.create(FILE) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.to_string()),
            _ => {}
        }
        private.require_file(FILE).map_err(|error| error.to_string())?;
        let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        Self::prepared(Connection::open_with_flags(folder.join(FILE), flags)).map_err(|error| error.to_string())
    }

    fn prepared(opened: Outcome<Connection>) -> Result<Self, rusqlite_migration::Error> {
        let mut connection = opened?;
        connection.busy_timeout(BUSY_MAX)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        connection.pragma_update(None, "max_page_count", (HISTORY_FILE_BYTES_MAX / PAGE_BYTES) as i64)?;
        MIGRATIONS.to_latest(&mut connection)?;
        Ok(Self(connection))
    }

    /// Writes in one transaction. When the database has reached its size limit, the oldest session is deleted to make
    /// room; when the disk is full, nothing is deleted.
    fn write<T>(&mut self, work: impl Fn(&Transaction<'_>) -> Outcome<T>) -> Outcome<T> {
        loop {
            let transaction = self.0.transaction()?;
            let done = work(&transaction).and_then(|done| transaction.commit().map(|()| done));
            match done {
                Err(error) if error.sqlite_error_code() == Some(SqlCode::DiskFull) && self.is_large()? => {
                    let oldest = "DELETE FROM sessions WHERE id = \
                                  (SELECT id FROM sessions ORDER BY last_ms, id LIMIT 1)";
                    if self.0.execute(oldest, [])? == 0 {
                        return Err(error);
                    }
                }
                done => return done,
            }
        }
    }

    /// Whether the database uses at least half of its size limit.
    fn is_large(&self) -> Outcome<bool> {
        let pages = |pragma: &str| self.0.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        Ok(2 * (pages("page_count")? - pages("freelist_count")?) >= pages("max_page_count")?)
    }

    pub(super) fn note_action(&mut self, owner: &Owner, session: &str, action: &NewAction) -> Outcome<i64> {
        self.write(|transaction| {
            let end = action.at_ms.saturating_add(action.duration_ms);
            touch(transaction, owner, session, action.at_ms, end)?;
            let (result, failure) = match &action.outcome {
                Ok(result) => (result, None),
                Err(failure) => (&Json::Null, Some(failure)),
            };
            let [before, after] = action.pictures.each_ref().map(|picture| {
                picture.as_ref().filter(|picture| picture.len() <= HISTORY_PICTURE_BYTES_MAX)
            });
            transaction
                .prepare_cached(
                    "INSERT INTO actions (session, tab, kind, at_ms, duration_ms, params, result, error_code, error, before, \
                     after) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                )?
                .execute(params![
                    session,
                    action.tab,
                    action.kind,
                    action.at_ms,
                    action.duration_ms,
                    action.params.to_string(),
                    result.to_string(),
                    failure.map(|(code, _)| code),
                    failure.map(|(_, words)| words),
                    before,
                    after
                ])?;
            let id = transaction.last_insert_rowid();
            keep_newest(transaction, "actions", session, HISTORY_ACTIONS_MAX)?;
            transaction
                .prepare_cached(
                    "UPDATE actions SET before = NULL, after = NULL WHERE session = ?1 AND (before NOTNULL OR after NOTNULL) \
                     AND id <= (SELECT id FROM actions WHERE session = ?1 AND (before NOTNULL OR after NOTNULL) \
                     ORDER BY id DESC LIMIT 1 OFFSET ?2)",
                )?
                .execute(params![session, HISTORY_PICTURES_MAX as i64])?;
            add_events(transaction, session, &action.events)?;
            Ok(id)
        })
    }

    pub(super) fn note_events(&mut self, owner: &Owner, session: &str, events: &[Event]) -> Outcome<()> {
        let Some(last) = events.iter().map(|event| event.at_ms).max() else { return Ok(()) };
        self.write(|transaction| {
            touch(transaction, owner, session, last, last)?;
            add_events(transaction, session, events)
        })
    }

    pub(super) fn keep_calls(&mut self, owner: &Owner, session: &str, calls: &[Call]) -> Outcome<usize> {
        let Some(last) = calls.iter().map(|call| call.at_ms).max() else { return Ok(0) };
        self.write(|transaction| {
            touch(transaction, owner, session, last, last)?;
            let mut insert = transaction.prepare_cached(
                "INSERT INTO calls (session, tag, tab, action, at_ms, fields, bodies) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?;
            for call in calls {
                let (fields, bodies) = (call.fields.to_string(), call.bodies.to_string());
                insert.execute(params![session, call.tag, call.tab, call.action, call.at_ms, fields, bodies])?;
            }
            keep_newest(transaction, "calls", session, HISTORY_CALLS_MAX)?;
            Ok(calls.len())
        })
    }

    pub(super) fn sessions(&self, owner: &Owner, id: Option<&str>, part: Part) -> Outcome<Vec<SessionRow>> {
        let (from, newer) = part.from.unzip();
        let mut rows = self.0.prepare_cached(
            "SELECT rowid, id, started_ms, last_ms FROM sessions WHERE caller = ?1 AND session_key = ?2 \
             AND (?3 ISNULL OR id = ?3) AND (?4 ISNULL OR (?5 AND rowid > ?4) OR (NOT ?5 AND rowid < ?4)) \
             ORDER BY CASE WHEN ?5 THEN rowid ELSE -rowid END LIMIT ?6",
        )?;
        let asked = params![owner.caller, owner.key, id, from, newer.unwrap_or(false), part.limit as i64];
        let rows = rows.query_map(asked, |row| {
            Ok(SessionRow { number: row.get(0)?, id: row.get(1)?, started_ms: row.get(2)?, last_ms: row.get(3)? })
        })?;
        rows.collect()
    }

    pub(super) fn actions(&self, owner: &Owner, which: &Which, part: Part) -> Outcome<Vec<ActionRow>> {
        let sql = format!(
            "SELECT id, session, tab, kind, at_ms, duration_ms, params, result, error_code, error, before NOTNULL, \
             after NOTNULL FROM actions WHERE {OF_WHICH} AND (?11 ISNULL OR ?11 = (error_code ISNULL)) {PART}"
        );
        let action = |row: &Row<'_>| {
            Ok(ActionRow {
                id: row.get(0)?,
                session: row.get(1)?,
                tab: row.get(2)?,
                kind: row.get(3)?,
                at_ms: row.get(4)?,
                duration_ms: row.get(5)?,
                params: json(row, 6)?,
                result: json(row, 7)?,
                error: row.get::<_, Option<String>>(8)?.zip(row.get(9)?),
                has_pictures: [row.get(10)?, row.get(11)?],
            })
        };
        self.of_which(&sql, owner, which, part, action)
    }

    pub(super) fn events(&self, owner: &Owner, which: &Which, part: Part) -> Outcome<Vec<EventRow>> {
        let sql =
            format!("SELECT id, session, tab, kind, at_ms, data FROM events WHERE {OF_WHICH} AND ?11 ISNULL {PART}");
        let event = |row: &Row<'_>| {
            Ok(EventRow {
                id: row.get(0)?,
                session: row.get(1)?,
                event: Event { tab: row.get(2)?, kind: row.get(3)?, at_ms: row.get(4)?, data: json(row, 5)? },
            })
        };
        self.of_which(&sql, owner, which, part, event)
    }

    fn of_which<T>(
        &self,
        sql: &str,
        owner: &Owner,
        which: &Which,
        part: Part,
        row: impl Fn(&Row<'_>) -> Outcome<T>,
    ) -> Outcome<Vec<T>> {
        let (from, newer) = part.from.unzip();
        let mut rows = self.0.prepare_cached(sql)?;
        let Which { id, session, tab, kind, success, from_ms, to_ms } = which;
        let (newer, limit) = (newer.unwrap_or(false), i64::try_from(part.limit).unwrap_or(ALL));
        let asked =
            params![owner.caller, owner.key, id, session, tab, kind, from_ms, to_ms, from, newer, success, limit];
        rows.query_map(asked, row)?.collect()
    }

    pub(super) fn picture(&self, owner: &Owner, action: i64, after: bool) -> Outcome<Option<Vec<u8>>> {
        let sql = "SELECT CASE WHEN ?4 THEN after ELSE before END FROM actions WHERE id = ?3 AND session IN \
                   (SELECT id FROM sessions WHERE caller = ?1 AND session_key = ?2)";
        let picture = self
            .0
            .prepare_cached(sql)?
            .query_row(params![owner.caller, owner.key, action, after], |row| row.get::<_, Option<Vec<u8>>>(0));
        picture.optional().map(Option::flatten)
    }

    pub(super) fn calls(
        &self,
        owner: &Owner,
        bodies_bytes: usize,
        wanted: &dyn Fn(&CallRow) -> bool,
    ) -> Outcome<(Vec<CallRow>, usize)> {
        let of_owner = "FROM calls WHERE session IN (SELECT id FROM sessions WHERE caller = ?1 AND session_key = ?2)";
        let sql = format!("SELECT id, tag, tab, action, at_ms, fields {of_owner} ORDER BY id");
        let mut rows = self.0.prepare_cached(&sql)?;
        let rows = rows.query_map(params![owner.caller, owner.key], |row| {
            Ok(CallRow {
                id: row.get(0)?,
                call: Call {
                    tag: row.get(1)?,
                    tab: row.get(2)?,
                    action: row.get(3)?,
                    at_ms: row.get(4)?,
                    fields: json(row, 5)?,
                    bodies: Json::Null,
                },
            })
        })?;
        let (mut calls, mut total) = (VecDeque::new(), 0);
        for row in rows {
            let row = row?;
            if wanted(&row) {
                total += 1;
                calls.push_back(row);
                if calls.len() > HISTORY_CALLS_MAX {
                    calls.pop_front();
                }
            }
        }
        let mut bodies = self.0.prepare_cached("SELECT bodies FROM calls WHERE id = ?1")?;
        let mut room = bodies_bytes;
        for row in &mut calls {
            if room == 0 {
                break;
            }
            let text: String = bodies.query_row([row.id], |row| row.get(0))?;
            room = room.saturating_sub(text.len());
            row.call.bodies = serde_json::from_str(&text).unwrap_or_default();
        }
        Ok((calls.into(), total))
    }

    pub(super) fn delete_calls(&mut self, owner: &Owner, tag: Option<&str>) -> Outcome<usize> {
        self.0.execute(
            "DELETE FROM calls WHERE (?3 ISNULL OR tag = ?3) AND session IN \
             (SELECT id FROM sessions WHERE caller = ?1 AND session_key = ?2)",
            params![owner.caller, owner.key, tag],
        )
    }

    pub(super) fn delete_actions(&mut self, owner: &Owner, which: &Which) -> Outcome<usize> {
        self.delete_which("actions", owner, which)
    }

    pub(super) fn delete_events(&mut self, owner: &Owner, which: &Which) -> Outcome<usize> {
        self.delete_which("events", owner, which)
    }

    fn delete_which(&mut self, table: &str, owner: &Owner, which: &Which) -> Outcome<usize> {
        let Which { id, session, tab, kind, from_ms, to_ms, .. } = which;
        let none: Option<i64> = None;
        self.0.execute(
            &format!("DELETE FROM {table} WHERE {OF_WHICH}"),
            params![owner.caller, owner.key, id, session, tab, kind, from_ms, to_ms, none, false],
        )
    }

    pub(super) fn delete(&mut self, owner: &Owner, session: Option<&str>) -> Outcome<Deleted> {
        const MEANT: &str = "caller = ?1 AND session_key = ?2 AND (?3 ISNULL OR id = ?3)";
        self.write(|transaction| {
            let count = |table: &str| {
                let sql =
                    format!("SELECT count(*) FROM {table} WHERE session IN (SELECT id FROM sessions WHERE {MEANT})");
                let asked = params![owner.caller, owner.key, session];
                transaction.query_row(&sql, asked, |row| row.get::<_, i64>(0)).map(|count| count as usize)
            };
            let (actions, events) = (count("actions")?, count("events")?);
            let sql = format!("DELETE FROM sessions WHERE {MEANT}");
            let sessions = transaction.execute(&sql, params![owner.caller, owner.key, session])?;
            Ok(Deleted { sessions, actions, events })
        })
    }
}

/// The conditions of [`Which`] and of the first field of [`Part`], limited to the owner's rows.
const OF_WHICH: &str = "session IN (SELECT id FROM sessions WHERE caller = ?1 AND session_key = ?2) \
    AND (?3 ISNULL OR id = ?3) AND (?4 ISNULL OR session = ?4) AND (?5 ISNULL OR tab = ?5) AND (?6 ISNULL OR kind = ?6) \
    AND (?7 ISNULL OR at_ms >= ?7) AND (?8 ISNULL OR at_ms <= ?8) \
    AND (?9 ISNULL OR (?10 AND id > ?9) OR (NOT ?10 AND id < ?9))";
/// The order and limit of [`Part`].
const PART: &str = "ORDER BY CASE WHEN ?10 THEN id ELSE -id END LIMIT ?12";

/// Creates or updates the session's row, and deletes the oldest sessions of all owners beyond the limit.
fn touch(transaction: &Transaction<'_>, owner: &Owner, session: &str, began: i64, end: i64) -> Outcome<()> {
    let new = transaction
        .prepare_cached(
            "INSERT INTO sessions (id, caller, session_key, started_ms, last_ms) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![session, owner.caller, owner.key, began, end])?;
    transaction
        .prepare_cached("UPDATE sessions SET last_ms = max(last_ms, ?2) WHERE id = ?1")?
        .execute(params![session, end])?;
    if new > 0 {
        transaction.execute(
            "DELETE FROM sessions WHERE id NOT IN (SELECT id FROM sessions ORDER BY last_ms DESC, id LIMIT ?1)",
            [HISTORY_SESSIONS_MAX as i64],
        )?;
    }
    Ok(())
}

fn add_events(transaction: &Transaction<'_>, session: &str, events: &[Event]) -> Outcome<()> {
    let mut insert = transaction
        .prepare_cached("INSERT INTO events (session, tab, kind, at_ms, data) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for event in events {
        insert.execute(params![session, event.tab, event.kind, event.at_ms, event.data.to_string()])?;
    }
    keep_newest(transaction, "events", session, HISTORY_EVENTS_MAX)
}

fn keep_newest(transaction: &Transaction<'_>, table: &str, session: &str, most: usize) -> Outcome<()> {
    let sql = format!(
        "DELETE FROM {table} WHERE session = ?1 AND id <= \
         (SELECT id FROM {table} WHERE session = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)"
    );
    transaction.prepare_cached(&sql)?.execute(params![session, most as i64]).map(drop)
}

/// A JSON column; invalid JSON is read as null.
fn json(row: &Row<'_>, column: usize) -> Outcome<Json> {
    Ok(serde_json::from_str(&row.get::<_, String>(column)?).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn opened() -> (tempfile::TempDir, Connected) {
        let folder = tempfile::tempdir().unwrap();
        let connected = Connected::open(&folder.path().join("history")).unwrap();
        (folder, connected)
    }

    fn owner(caller: &str) -> Owner {
        Owner { caller: caller.to_owned(), key: "abp".to_owned() }
    }

    fn action(at_ms: i64, picture: Option<Vec<u8>>) -> NewAction {
        let event = Event { tab: Some("t".into()), kind: "dialog".into(), at_ms, data: json!({"at": at_ms}) };
        NewAction {
            tab: Some("t".into()),
            kind: "click".into(),
            at_ms,
            duration_ms: 5,
            params: json!({"x": at_ms}),
            outcome: if at_ms % 2 == 0 { Ok(json!({"done": at_ms})) } else { Err(("TIMEOUT".into(), "late".into())) },
            pictures: [None, picture],
            events: vec![event],
        }
    }

    const SOME: Part = Part { from: None, limit: 3 };

    #[test]
    fn what_was_noted_is_found_by_its_owner_alone() {
        let (_folder, mut history) = opened();
        let ids: Vec<i64> = (0..6)
            .map(|at| history.note_action(&owner("a"), "s1", &action(at, Some(vec![1]))))
            .map(Result::unwrap)
            .collect();
        history.note_action(&owner("b"), "s2", &action(10, None)).unwrap();
        let newest = history.actions(&owner("a"), &Which::default(), SOME).unwrap();
        assert_eq!(newest.iter().map(|action| action.at_ms).collect::<Vec<_>>(), [5, 4, 3]);
        assert_eq!((&newest[1].result, &newest[1].error), (&json!({"done": 4}), &None));
        assert_eq!(newest[0].error, Some(("TIMEOUT".to_owned(), "late".to_owned())));
        assert_eq!(newest[0].has_pictures, [false, true]);
        let older = Part { from: Some((newest[2].id, false)), limit: 2 };
        let newer = Part { from: Some((ids[0], true)), limit: 2 };
        let times = |part| {
            let actions = history.actions(&owner("a"), &Which::default(), part).unwrap();
            actions.iter().map(|action| action.at_ms).collect::<Vec<_>>()
        };
        assert_eq!((times(older), times(newer)), (vec![2, 1], vec![1, 2]));
        let failed = Which { success: Some(false), from_ms: Some(2), to_ms: Some(4), ..Which::default() };
        assert_eq!(history.actions(&owner("a"), &failed, SOME).unwrap().len(), 1);
        assert_eq!(history.events(&owner("a"), &Which::default(), Part { from: None, limit: 100 }).unwrap().len(), 6);
        assert_eq!(history.picture(&owner("a"), ids[0], true).unwrap(), Some(vec![1]));
        assert_eq!(history.picture(&owner("a"), ids[0], false).unwrap(), None);

        let id = Which { id: Some(ids[0]), ..Which::default() };
        assert!(history.actions(&owner("b"), &id, SOME).unwrap().is_empty());
        assert_eq!(history.picture(&owner("b"), ids[0], true).unwrap(), None);
        assert_eq!(history.delete_actions(&owner("b"), &id).unwrap(), 0);
        assert!(history.sessions(&owner("b"), Some("s1"), SOME).unwrap().is_empty());
        assert_eq!(history.delete_events(&owner("a"), &Which { to_ms: Some(1), ..Which::default() }).unwrap(), 2);
        assert_eq!(history.delete(&owner("a"), None).unwrap(), Deleted { sessions: 1, actions: 6, events: 4 });
        assert_eq!(history.sessions(&owner("b"), None, SOME).unwrap().len(), 1);
    }

    #[test]
    fn pages_of_sessions_skip_none_of_one_millisecond() {
        let (_folder, mut history) = opened();
        let ids = ["d", "a", "c", "b", "e"];
        for id in ids {
            history.note_action(&owner("a"), id, &action(7, None)).unwrap();
        }
        let pages = |first: Part| {
            let (mut seen, mut part) = (Vec::new(), first);
            loop {
                let rows = history.sessions(&owner("a"), None, part).unwrap();
                let Some(last) = rows.last() else { return seen };
                part.from = Some((last.number, first.from.is_some_and(|(_, newer)| newer)));
                seen.extend(rows.into_iter().map(|row| row.id));
            }
        };
        assert_eq!(pages(Part { from: Some((0, true)), limit: 2 }), ids);
        assert!(pages(Part { from: None, limit: 2 }).iter().rev().eq(&ids));
    }

    #[test]
    fn requests_are_kept_under_their_tag() {
        let (_folder, mut history) = opened();
        let call = |tag: &str, at_ms| Call {
            tag: tag.to_owned(),
            tab: "t".into(),
            action: Some(7),
            at_ms,
            fields: json!({"url": format!("http://site/{at_ms}")}),
            bodies: json!({"response_body": "b"}),
        };
        assert_eq!(history.keep_calls(&owner("a"), "s", &[call("one", 1), call("two", 2)]).unwrap(), 2);
        let (found, total) =
            history.calls(&owner("a"), 1 << 20, &|row| row.call.fields["url"] == "http://site/2").unwrap();
        assert_eq!((total, &found[0].call.tag[..], &found[0].call.bodies["response_body"]), (1, "two", &json!("b")));
        assert!(history.calls(&owner("a"), 0, &|_| true).unwrap().0.iter().all(|row| row.call.bodies.is_null()));
        assert!(history.calls(&owner("b"), 1 << 20, &|_| true).unwrap().0.is_empty());
        assert_eq!(history.delete_calls(&owner("b"), None).unwrap(), 0);
        assert_eq!(history.delete_calls(&owner("a"), Some("one")).unwrap(), 1);
        assert_eq!(history.delete_calls(&owner("a"), None).unwrap(), 1);
    }

    #[test]
    fn the_oldest_goes_when_there_is_too_much() {
        let (_folder, mut history) = opened();
        let many = HISTORY_PICTURES_MAX as i64 + 3;
        for at in 0..many {
            history.note_action(&owner("a"), "s", &action(at, Some(vec![0]))).unwrap();
        }
        let with_pictures = history.actions(&owner("a"), &Which::default(), Part { from: None, limit: 1_000 }).unwrap();
        assert_eq!(with_pictures.iter().filter(|action| action.has_pictures[1]).count(), HISTORY_PICTURES_MAX);
        assert_eq!(with_pictures.len() as i64, many, "only their pictures went");
        let huge = action(many, Some(vec![0; HISTORY_PICTURE_BYTES_MAX + 1]));
        history.note_action(&owner("a"), "s", &huge).unwrap();
        let newest = history.actions(&owner("a"), &Which::default(), SOME).unwrap();
        assert_eq!(newest[0].has_pictures, [false, false]);
        for number in 0..HISTORY_SESSIONS_MAX + 2 {
            let at = 1_000 + number as i64;
            history.note_action(&owner("b"), &format!("of-b-{number}"), &action(at, None)).unwrap();
        }
        let count: i64 = history.0.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0)).unwrap();
        assert_eq!(count as usize, HISTORY_SESSIONS_MAX);
        assert!(history.sessions(&owner("a"), None, SOME).unwrap().is_empty(), "the oldest one went, with all of it");
        let left: i64 =
            history.0.query_row("SELECT count(*) FROM actions WHERE session = 's'", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0);
    }

    #[test]
    fn a_full_file_makes_room_by_its_oldest_session() {
        let (_folder, mut history) = opened();
        assert!(!history.is_large().unwrap());
        // A small limit, so that few pictures reach it.
        history.0.pragma_update(None, "max_page_count", 200).unwrap();
        for number in 0..8 {
            let picture = Some(vec![7; 200 * PAGE_BYTES / 4]);
            history.note_action(&owner("a"), &format!("s{number}"), &action(number, picture)).unwrap();
        }
        assert!(history.is_large().unwrap(), "that of a file that is not large is a full disk");
        let left = history.sessions(&owner("a"), None, Part { from: None, limit: 100 }).unwrap();
        assert!((1..8).contains(&left.len()) && left[0].id == "s7", "{left:?}");
    }
}
