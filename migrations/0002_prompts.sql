-- What the runs of a thread asked for, of the page or of a person, and what became of it.

CREATE TABLE agui_prompts (
    -- The order in which they were asked.
    seq        INTEGER PRIMARY KEY,
    thread     INTEGER NOT NULL REFERENCES agui_threads (id) ON DELETE CASCADE,
    prompt     TEXT    NOT NULL,
    -- The run that settled it; none while it is open.
    settled_by TEXT,
    -- The digest of the answer; none of what was settled without one.
    answer     TEXT,
    UNIQUE (thread, prompt),
    CHECK (answer IS NULL OR settled_by IS NOT NULL)
) STRICT;

CREATE INDEX agui_prompts_in_order ON agui_prompts (thread, seq);
