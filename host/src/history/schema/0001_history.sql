CREATE TABLE sessions (
    id TEXT PRIMARY KEY NOT NULL,
    caller TEXT NOT NULL,
    session_key TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_of_owner ON sessions (caller, session_key, started_ms);

CREATE TABLE actions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    tab TEXT,
    kind TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    params TEXT NOT NULL,
    result TEXT NOT NULL,
    error_code TEXT,
    error TEXT,
    before BLOB,
    after BLOB
) STRICT;
CREATE INDEX actions_of_session ON actions (session, id);

CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    tab TEXT,
    kind TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    data TEXT NOT NULL
) STRICT;
CREATE INDEX events_of_session ON events (session, id);

CREATE TABLE calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    tab TEXT NOT NULL,
    action INTEGER,
    at_ms INTEGER NOT NULL,
    fields TEXT NOT NULL,
    bodies TEXT NOT NULL
) STRICT;
CREATE INDEX calls_of_session ON calls (session, id);
