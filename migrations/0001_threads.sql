-- Threads, their runs and their transcripts. Times are milliseconds since the Unix epoch.

CREATE TABLE agui_threads (
    -- Never given twice, so that a place in a list of threads means one thread.
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
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
    -- How many bytes the bodies of the transcript have together.
    bytes      INTEGER NOT NULL DEFAULT 0,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    UNIQUE (principal, agent, thread)
) STRICT;

-- For lists of one principal's threads with one agent.
CREATE INDEX agui_threads_by_owner ON agui_threads (principal, agent, updated_ms, id);

-- For finding those that nothing was written to for the longest time.
CREATE INDEX agui_threads_by_age ON agui_threads (updated_ms, id);

CREATE TABLE agui_runs (
    -- The order in which runs were started.
    seq        INTEGER PRIMARY KEY,
    thread     INTEGER NOT NULL REFERENCES agui_threads (id) ON DELETE CASCADE,
    run        TEXT    NOT NULL,
    -- running, success, cancelled or failed.
    outcome    TEXT    NOT NULL,
    -- Of a success that is none of the agent's being done: why it ended.
    stop_reason TEXT,
    -- Of a failure: the code and the sentence that the client was told.
    code       TEXT,
    message    TEXT,
    started_ms INTEGER NOT NULL,
    ended_ms   INTEGER,
    UNIQUE (thread, run)
) STRICT;

CREATE INDEX agui_runs_in_order ON agui_runs (thread, seq);

CREATE TABLE agui_messages (
    -- The order of the transcript; it has gaps.
    place    INTEGER PRIMARY KEY,
    thread   INTEGER NOT NULL REFERENCES agui_threads (id) ON DELETE CASCADE,
    message  TEXT    NOT NULL,
    -- The message that stood before this one in the history that brought it.
    after    TEXT,
    -- The message as AG-UI has it, in JSON.
    body     TEXT    NOT NULL,
    -- Whether the run that says it may still change it, or put something before it.
    is_draft INTEGER NOT NULL DEFAULT 0,
    UNIQUE (thread, message)
) STRICT;

CREATE INDEX agui_messages_in_order ON agui_messages (thread, place);
