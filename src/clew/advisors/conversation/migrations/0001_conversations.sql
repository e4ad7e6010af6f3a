CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    project TEXT NOT NULL,
    version INTEGER NOT NULL,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    facts TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE turns (
    conversation TEXT NOT NULL,
    version INTEGER NOT NULL,
    at TEXT NOT NULL,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,
    summary TEXT NOT NULL,
    PRIMARY KEY (conversation, version)
) WITHOUT ROWID;
CREATE TABLE documents (
    conversation TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    project TEXT NOT NULL,
    path TEXT NOT NULL,
    draft TEXT NOT NULL,
    text TEXT NOT NULL,
    authors TEXT NOT NULL,
    PRIMARY KEY (conversation, name, version)
);
CREATE INDEX documents_by_path ON documents (project, path);
