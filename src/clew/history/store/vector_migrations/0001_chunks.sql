-- Vectors in chunks of one repository each, and what made them.

CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE chunks (
    chunk_id INTEGER PRIMARY KEY,
    repo_id INTEGER NOT NULL,
    count INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    ids BLOB NOT NULL,
    marks BLOB NOT NULL,
    times BLOB NOT NULL,
    scales BLOB NOT NULL,
    vectors BLOB NOT NULL
);
CREATE INDEX chunk_repo ON chunks (repo_id, chunk_id);
