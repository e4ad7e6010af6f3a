-- What servers know together, so that any of them can answer any client.
CREATE TABLE server_secrets (
    name text PRIMARY KEY,
    value bytea NOT NULL
);
-- A server that says nothing for a while is dead, and so are the tasks it ran.
CREATE TABLE servers (
    owner text PRIMARY KEY,
    alive_until timestamptz NOT NULL
);
CREATE TABLE tasks (
    task_id text PRIMARY KEY,
    owner text NOT NULL,
    principal text NOT NULL,
    expires timestamptz NOT NULL,
    state text NOT NULL,
    work text NOT NULL
);
CREATE INDEX task_expires ON tasks (expires);
CREATE TABLE mcp_sessions (
    session_id text PRIMARY KEY,
    principal text NOT NULL,
    agreed text NOT NULL,
    used timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX session_used ON mcp_sessions (used);
-- Messages of a session that another server has to pass on: to the client, or to a call it runs.
CREATE TABLE session_mail (
    mail_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id text NOT NULL REFERENCES mcp_sessions ON DELETE CASCADE,
    sender text NOT NULL,
    for_client boolean NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    message text NOT NULL
);
CREATE INDEX session_mail_session ON session_mail (session_id);
CREATE INDEX session_mail_at ON session_mail (at);

CREATE TABLE conversations (
    id text PRIMARY KEY,
    title text NOT NULL,
    project text NOT NULL,
    version integer NOT NULL,
    created text NOT NULL,
    updated text NOT NULL,
    facts text NOT NULL
);
CREATE INDEX conversation_updated ON conversations (updated);
CREATE TABLE turns (
    conversation text NOT NULL,
    version integer NOT NULL,
    at text NOT NULL,
    tool text NOT NULL,
    arguments text NOT NULL,
    summary text NOT NULL,
    PRIMARY KEY (conversation, version)
);
CREATE TABLE documents (
    conversation text NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    kind text NOT NULL,
    title text NOT NULL,
    project text NOT NULL,
    path text NOT NULL,
    draft text NOT NULL,
    text text NOT NULL,
    authors text NOT NULL,
    PRIMARY KEY (conversation, name, version)
);
CREATE INDEX documents_by_path ON documents (project, path);
