ALTER TABLE runs ADD COLUMN settled_at TEXT;
CREATE TABLE checks (
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    number INTEGER NOT NULL,
    at TEXT NOT NULL,
    criterion TEXT NOT NULL,
    command TEXT NOT NULL,
    passed INTEGER NOT NULL,
    said TEXT NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (run_id, number)
);
CREATE TABLE schedules (
    schedule_id TEXT PRIMARY KEY,
    process_id TEXT,
    spec_id TEXT NOT NULL,
    mode TEXT NOT NULL,
    plan TEXT NOT NULL,
    pid INTEGER,
    status TEXT NOT NULL,
    note TEXT,
    stop_asked INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    ended_at TEXT
);
