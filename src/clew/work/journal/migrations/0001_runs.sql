CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    spec_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    phase TEXT NOT NULL,
    mode TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT,
    plan TEXT NOT NULL,
    owner_pid INTEGER,
    owner_started TEXT,
    owner_boot TEXT,
    agent_pid INTEGER,
    agent_started TEXT,
    agent_boot TEXT,
    process_id TEXT,
    base_commit TEXT,
    branch TEXT,
    worktree TEXT,
    snapshot TEXT,
    session_id TEXT,
    cost_usd REAL,
    exit_code INTEGER,
    failure_class TEXT,
    failure TEXT,
    result TEXT,
    retry_at TEXT,
    request TEXT,
    finisher TEXT,
    finishings INTEGER NOT NULL DEFAULT 0,
    continues TEXT,
    created_at TEXT NOT NULL,
    started_at TEXT,
    ended_at TEXT,
    heartbeat_at TEXT
);
CREATE UNIQUE INDEX one_open_run_per_spec ON runs (spec_id) WHERE phase IN ('prepared', 'worktree', 'started', 'agent_exited', 'checked', 'merged', 'held');
CREATE INDEX runs_by_spec ON runs (spec_id, attempt);
CREATE TABLE moves (
    number INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    at TEXT NOT NULL,
    before TEXT,
    after TEXT NOT NULL,
    note TEXT
);
CREATE INDEX moves_by_run ON moves (run_id, number);
