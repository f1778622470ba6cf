-- Times named *_ms are for display, in milliseconds since the Unix epoch. Times named *_steady decide expiry, and are
-- milliseconds since the boot in the column boot.

CREATE TABLE session (
    id              TEXT PRIMARY KEY,
    mode            TEXT NOT NULL,
    key             TEXT,
    state           TEXT NOT NULL,
    profile         TEXT NOT NULL,
    profile_kept    INTEGER NOT NULL,
    execution       TEXT NOT NULL,
    browser         TEXT,
    ttl_ms          INTEGER NOT NULL,
    created_ms      INTEGER NOT NULL,
    used_ms         INTEGER NOT NULL,
    ended_ms        INTEGER,
    -- The last audit row at its end: which one of two ended later, whatever the clocks say.
    ended_after     INTEGER,
    reason          TEXT,
    boot            TEXT NOT NULL,
    idle_steady     INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX session_of_key ON session (key) WHERE key IS NOT NULL AND state <> 'ended';
CREATE INDEX session_not_ended ON session (state) WHERE state <> 'ended';
CREATE INDEX session_by_key ON session (key, ended_ms) WHERE key IS NOT NULL;

-- A row stays while its lease is free, so that the token does not start again from zero. When no session of its key is
-- left, the row is removed, and token_floor rises to its token: new rows start above it.
CREATE TABLE lease (
    name            TEXT PRIMARY KEY,
    token           INTEGER NOT NULL,
    execution       TEXT,
    host            TEXT,
    boot            TEXT NOT NULL,
    since_steady    INTEGER NOT NULL,
    until_steady    INTEGER NOT NULL,
    renewals        INTEGER NOT NULL DEFAULT 0,
    revoked         INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE token_floor (
    one             INTEGER PRIMARY KEY CHECK (one = 1),
    token           INTEGER NOT NULL
) STRICT;

INSERT INTO token_floor VALUES (1, 0);

CREATE TABLE waiter (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    name            TEXT NOT NULL,
    execution       TEXT NOT NULL,
    host            TEXT NOT NULL,
    boot            TEXT NOT NULL,
    until_steady    INTEGER NOT NULL,
    UNIQUE (name, execution)
) STRICT;

CREATE TABLE audit (
    id              INTEGER PRIMARY KEY,
    at_ms           INTEGER NOT NULL,
    kind            TEXT NOT NULL,
    key             TEXT,
    session         TEXT,
    execution       TEXT,
    token           INTEGER,
    detail          TEXT NOT NULL,
    hash            TEXT NOT NULL
) STRICT;

CREATE INDEX audit_by_key ON audit (key) WHERE key IS NOT NULL;
CREATE INDEX audit_by_session ON audit (session) WHERE session IS NOT NULL;
CREATE INDEX audit_by_execution ON audit (execution) WHERE execution IS NOT NULL;

-- One row: the last audit row, and the last audit row that retention removed.
CREATE TABLE audit_head (
    one             INTEGER PRIMARY KEY CHECK (one = 1),
    last            INTEGER NOT NULL,
    hash            TEXT NOT NULL,
    removed         INTEGER NOT NULL,
    removed_hash    TEXT NOT NULL
) STRICT;

INSERT INTO audit_head VALUES (1, 0, '', 0, '');
