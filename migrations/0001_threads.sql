-- Threads, their runs and their transcripts. Times are milliseconds since the Unix epoch.

CREATE TABLE agui_threads (
    id         INTEGER PRIMARY KEY,
    principal  TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    thread     TEXT    NOT NULL,
    -- The core's own name for the conversation; none until one was bound.
    session    TEXT,
    -- The folder that the session works in; an agent that works elsewhere cannot go on with it.
    workdir    TEXT,
    title      TEXT,
    -- Whether something of the transcript had to be left out.
    is_partial INTEGER NOT NULL DEFAULT 0,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    UNIQUE (principal, agent, thread)
) STRICT;

CREATE INDEX agui_threads_by_time ON agui_threads (principal, agent, updated_ms, id);

CREATE TABLE agui_runs (
    thread     INTEGER NOT NULL REFERENCES agui_threads (id) ON DELETE CASCADE,
    run        TEXT    NOT NULL,
    -- running, success, cancelled or failed.
    outcome    TEXT    NOT NULL,
    -- Of a failure: the code and the sentence that the client was told.
    code       TEXT,
    message    TEXT,
    started_ms INTEGER NOT NULL,
    ended_ms   INTEGER,
    PRIMARY KEY (thread, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE agui_messages (
    thread   INTEGER NOT NULL REFERENCES agui_threads (id) ON DELETE CASCADE,
    -- The place in the transcript: it grows, and has gaps.
    place    INTEGER NOT NULL,
    message  TEXT    NOT NULL,
    -- The message that stood before this one in the history that brought it.
    after    TEXT,
    -- The message as AG-UI has it, in JSON.
    body     TEXT    NOT NULL,
    PRIMARY KEY (thread, place),
    UNIQUE (thread, message)
) STRICT, WITHOUT ROWID;
