-- Compact tables, and the documented names as views over them.
--
-- Every path, person and patch is stored once and referred to by number. `repos` and
-- `ingest_state` are tables; `commits`, `commit_files` and `commit_patches` are views with the
-- documented columns; `commits_fts` is a text index with the documented columns; `search_fts`
-- holds whole patches with added, removed and context lines told apart.

CREATE TABLE repos (
    repo_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    local_path TEXT NOT NULL,
    remote_url TEXT,
    default_branch TEXT,
    all_refs INTEGER NOT NULL DEFAULT 0,
    exclude_prefixes TEXT NOT NULL DEFAULT '[]',
    author_filter TEXT,
    managed_clone INTEGER NOT NULL DEFAULT 0,
    next_place INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE people (
    person_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    UNIQUE (name, email)
);
CREATE TABLE paths (
    path_id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE
);
CREATE VIRTUAL TABLE paths_fts USING fts5(
    path, content='paths', content_rowid='path_id', tokenize='trigram'
);
CREATE TABLE patch_rows (
    patch_id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    blob BLOB NOT NULL
);
CREATE TABLE commit_rows (
    id INTEGER PRIMARY KEY,
    sha BLOB NOT NULL,
    author_id INTEGER NOT NULL,
    committer_id INTEGER NOT NULL,
    author_time INTEGER NOT NULL,
    author_zone TEXT NOT NULL,
    commit_time INTEGER NOT NULL,
    subject TEXT NOT NULL,
    body TEXT,
    parents BLOB NOT NULL,
    reachable INTEGER NOT NULL DEFAULT 1,
    patch_id INTEGER,
    patch_size INTEGER NOT NULL DEFAULT 0,
    preview TEXT NOT NULL DEFAULT '',
    problem TEXT
);
CREATE INDEX commit_sha ON commit_rows (sha);
CREATE INDEX commit_author_time ON commit_rows (author_time);
CREATE TABLE file_rows (
    commit_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    path_id INTEGER NOT NULL,
    status TEXT NOT NULL,
    old_path_id INTEGER,
    added INTEGER NOT NULL,
    removed INTEGER NOT NULL,
    PRIMARY KEY (commit_id, number)
) WITHOUT ROWID;
CREATE INDEX file_path ON file_rows (path_id, commit_id);
CREATE INDEX file_old_path ON file_rows (old_path_id, commit_id)
    WHERE old_path_id IS NOT NULL;
CREATE TABLE ingest_state (
    repo_id INTEGER PRIMARY KEY,
    last_synced_at INTEGER,
    last_synced_sha TEXT,
    last_error TEXT
);
CREATE TABLE ref_tips (
    repo_id INTEGER NOT NULL,
    ref TEXT NOT NULL,
    sha TEXT NOT NULL,
    PRIMARY KEY (repo_id, ref)
) WITHOUT ROWID;
CREATE VIEW commits AS
    SELECT c.id AS rowid, c.id >> 32 AS repo_id, lower(hex(c.sha)) AS sha,
           a.name AS author_name, a.email AS author_email,
           k.name AS committer_name, k.email AS committer_email,
           c.author_time, c.commit_time, c.subject, c.body,
           length(c.parents) / 20 AS parent_count, c.preview AS patch_preview,
           c.reachable
    FROM commit_rows c
    JOIN people a ON a.person_id = c.author_id
    JOIN people k ON k.person_id = c.committer_id;
CREATE VIEW commit_files AS
    SELECT f.commit_id >> 32 AS repo_id, lower(hex(c.sha)) AS sha, p.path, f.status,
           o.path AS old_path, f.added, f.removed
    FROM file_rows f
    JOIN commit_rows c ON c.id = f.commit_id
    JOIN paths p ON p.path_id = f.path_id
    LEFT JOIN paths o ON o.path_id = f.old_path_id;
CREATE VIEW commit_patches AS
    SELECT c.id >> 32 AS repo_id, lower(hex(c.sha)) AS sha, b.blob AS patch_blob
    FROM commit_rows c
    JOIN patch_rows b ON b.patch_id = c.patch_id;
CREATE VIRTUAL TABLE commits_fts USING fts5(
    subject, body, patch_preview, content='commits', content_rowid='rowid'
);
CREATE VIRTUAL TABLE search_fts USING fts5(
    subject, body, added, removed, context, paths, content=''
);
INSERT INTO search_fts (search_fts, rank) VALUES ('hashsize', 16777216);
