-- The index of commits. Commits, their texts, files and patches are partitioned by repository:
-- a commit's id begins with its repository's number, so a partition is a range of ids.

CREATE TABLE repos (
    repo_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    local_path text NOT NULL,
    remote_url text,
    default_branch text,
    all_refs boolean NOT NULL DEFAULT false,
    exclude_prefixes text[] NOT NULL DEFAULT '{}',
    author_filter text,
    managed_clone boolean NOT NULL DEFAULT false,
    next_place bigint NOT NULL DEFAULT 1,
    next_patch bigint NOT NULL DEFAULT 1
);
-- One row for each repository that was ever written to: what readers remember is made again
-- when a number changes. Not a column of `repos`: a removed repository counts too.
CREATE TABLE repo_changes (
    repo_id integer PRIMARY KEY,
    number bigint NOT NULL DEFAULT 1
);
CREATE TABLE people (
    person_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL
);
-- By a digest, because an entry of such an index may not be as long as a name or a path may.
CREATE UNIQUE INDEX person_key ON people (md5(name || E'\n' || email));
CREATE TABLE paths (
    path_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    path text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX path_key ON paths (md5(path));
CREATE INDEX path_order ON paths ((left(path, 400)));

-- Three letters in a row, each once: how parts of paths are looked up where pg_trgm is not.
CREATE FUNCTION trigrams(given text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT substr(lower(given), n, 3)), '{}')
    FROM generate_series(1, length(given) - 2) n
$$;
CREATE INDEX path_parts ON paths USING gin (trigrams(path)) WITH (fastupdate = off);

CREATE TABLE commit_rows (
    id bigint PRIMARY KEY,
    sha bytea NOT NULL,
    author_id bigint NOT NULL,
    committer_id bigint NOT NULL,
    author_time bigint NOT NULL,
    author_zone text NOT NULL,
    commit_time bigint NOT NULL,
    subject text NOT NULL,
    body text,
    parents bytea NOT NULL,
    reachable boolean NOT NULL DEFAULT true,
    patch_id bigint,
    patch_size bigint NOT NULL DEFAULT 0,
    preview text NOT NULL DEFAULT '',
    problem text
) PARTITION BY RANGE (id);
CREATE INDEX commit_sha ON commit_rows (sha);
CREATE INDEX commit_author_time ON commit_rows (author_time, id);
CREATE INDEX commit_commit_time ON commit_rows (commit_time);
CREATE INDEX commit_unsearched ON commit_rows (id)
    WHERE patch_id IS NULL AND (patch_size > 1048576 OR problem IS NOT NULL);
CREATE INDEX commit_problem ON commit_rows (id) WHERE problem IS NOT NULL;
CREATE INDEX commit_hidden ON commit_rows (commit_time) WHERE NOT reachable;

CREATE TABLE commit_text (
    id bigint PRIMARY KEY,
    words tsvector NOT NULL
) PARTITION BY RANGE (id);
-- What waits to be sorted in is read whole by every question: little of it.
CREATE INDEX commit_words ON commit_text USING gin (words) WITH (gin_pending_list_limit = 1024);

CREATE TABLE file_rows (
    commit_id bigint NOT NULL,
    number integer NOT NULL,
    path_id bigint NOT NULL,
    status text NOT NULL,
    old_path_id bigint,
    added bigint NOT NULL,
    removed bigint NOT NULL,
    PRIMARY KEY (commit_id, number)
) PARTITION BY RANGE (commit_id);
CREATE INDEX file_path ON file_rows (path_id, commit_id);
CREATE INDEX file_old_path ON file_rows (old_path_id, commit_id) WHERE old_path_id IS NOT NULL;

CREATE TABLE patch_rows (
    patch_id bigint PRIMARY KEY,
    digest bytea NOT NULL,
    size bigint NOT NULL,
    blob bytea NOT NULL
) PARTITION BY RANGE (patch_id);
ALTER TABLE patch_rows ALTER COLUMN blob SET STORAGE EXTERNAL; -- it is compressed already
CREATE INDEX patch_digest ON patch_rows (digest);

CREATE TABLE redactions (
    commit_id bigint NOT NULL,
    number integer NOT NULL,
    kind text NOT NULL,
    hint text NOT NULL,
    PRIMARY KEY (commit_id, number)
);
CREATE TABLE ingest_state (
    repo_id integer PRIMARY KEY,
    last_synced_at bigint,
    last_synced_sha text,
    last_error text
);
CREATE TABLE ref_tips (
    repo_id integer NOT NULL,
    ref text NOT NULL,
    sha text NOT NULL,
    PRIMARY KEY (repo_id, ref)
);
