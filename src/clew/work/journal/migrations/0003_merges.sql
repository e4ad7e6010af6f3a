CREATE TABLE merges (
    number INTEGER PRIMARY KEY,
    spec_id TEXT NOT NULL,
    branch TEXT NOT NULL,
    target TEXT NOT NULL,
    strategy TEXT NOT NULL,
    status TEXT NOT NULL,
    tip TEXT,
    onto TEXT,
    candidate TEXT,
    is_checked INTEGER NOT NULL DEFAULT 0,
    delete_branch INTEGER NOT NULL DEFAULT 0,
    files TEXT NOT NULL DEFAULT '[]',
    left_out TEXT NOT NULL DEFAULT '[]',
    note TEXT,
    conflict_spec TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX one_open_merge_per_spec ON merges (spec_id)
    WHERE status IN ('queued', 'merging', 'moving', 'waiting');
