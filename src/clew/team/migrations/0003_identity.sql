-- Who may do what, and who did it.

-- Which repositories have a path or a person: whoever sees none of them does not see these either.
CREATE TABLE repo_paths (
    path_id bigint NOT NULL,
    repo_id integer NOT NULL,
    PRIMARY KEY (path_id, repo_id)
);
CREATE INDEX repo_paths_repo ON repo_paths (repo_id);
CREATE TABLE repo_people (
    person_id bigint NOT NULL,
    repo_id integer NOT NULL,
    PRIMARY KEY (person_id, repo_id)
);
CREATE INDEX repo_people_repo ON repo_people (repo_id);
INSERT INTO repo_paths
    SELECT DISTINCT p.path_id, f.commit_id >> 32 FROM file_rows f
    CROSS JOIN LATERAL (VALUES (f.path_id), (f.old_path_id)) AS p(path_id)
    WHERE p.path_id IS NOT NULL;
INSERT INTO repo_people
    SELECT DISTINCT p.person_id, c.id >> 32 FROM commit_rows c
    CROSS JOIN LATERAL (VALUES (c.author_id), (c.committer_id)) AS p(person_id);

-- How people sign in: at most one row.
CREATE TABLE sign_in (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    issuer text NOT NULL,
    resource text NOT NULL,
    audiences text[] NOT NULL,
    groups_claim text NOT NULL,
    scopes_claim text NOT NULL,
    asks text[] NOT NULL
);
CREATE TABLE team_groups (
    name text PRIMARY KEY,
    patterns text[] NOT NULL,
    scope text NOT NULL
);

-- Tokens of programs: only their digests, so that nobody can take one from here.
CREATE TABLE service_tokens (
    token_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    digest bytea NOT NULL UNIQUE,
    scope text NOT NULL,
    groups text[] NOT NULL,
    made_by text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE UNIQUE INDEX one_valid_token_of_a_name ON service_tokens (name) WHERE revoked_at IS NULL;

-- A row is there before what it tells of begins; an empty outcome is of a server that died.
CREATE TABLE audit (
    audit_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    person text NOT NULL,
    client text NOT NULL,
    tool text NOT NULL,
    arguments text NOT NULL,
    ended_at timestamptz,
    outcome text
);
CREATE INDEX audit_at ON audit (at);
