CREATE TABLE tasks (
    task_id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    principal TEXT NOT NULL,
    created REAL NOT NULL,
    expires REAL NOT NULL,
    state TEXT NOT NULL,
    work TEXT NOT NULL
);
