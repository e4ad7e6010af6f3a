-- Transcripts: how far each was read.
CREATE TABLE sources (
  key TEXT PRIMARY KEY,
  program TEXT NOT NULL,
  project TEXT,
  size INTEGER NOT NULL,
  stamp INTEGER NOT NULL,
  read_from INTEGER NOT NULL DEFAULT 0,
  told INTEGER NOT NULL DEFAULT 0,
  tail TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL DEFAULT '{}'
);

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  program TEXT NOT NULL,
  uid TEXT NOT NULL,
  project TEXT NOT NULL,
  cwd TEXT NOT NULL DEFAULT '',
  title TEXT NOT NULL DEFAULT '',
  branch TEXT,
  model TEXT,
  version TEXT,
  started REAL NOT NULL DEFAULT 0,
  ended REAL NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cost REAL,
  origin TEXT NOT NULL DEFAULT 'local',
  UNIQUE (program, uid, origin)
);
CREATE INDEX sessions_by_project ON sessions (project, ended);

CREATE TABLE turns (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  uid TEXT NOT NULL,
  time REAL NOT NULL,
  request TEXT NOT NULL,
  words TEXT NOT NULL DEFAULT '',
  plan TEXT NOT NULL DEFAULT '',
  UNIQUE (session, number)
);
CREATE INDEX turns_by_uid ON turns (uid);

CREATE VIRTUAL TABLE turn_text USING fts5 (
  request, words, content='turns', content_rowid='id', tokenize='unicode61'
);
CREATE TRIGGER turn_text_insert AFTER INSERT ON turns BEGIN
  INSERT INTO turn_text (rowid, request, words) VALUES (new.id, new.request, new.words);
END;
CREATE TRIGGER turn_text_delete AFTER DELETE ON turns BEGIN
  INSERT INTO turn_text (turn_text, rowid, request, words)
  VALUES ('delete', old.id, old.request, old.words);
END;
CREATE TRIGGER turn_text_update AFTER UPDATE OF request, words ON turns BEGIN
  INSERT INTO turn_text (turn_text, rowid, request, words)
  VALUES ('delete', old.id, old.request, old.words);
  INSERT INTO turn_text (rowid, request, words) VALUES (new.id, new.request, new.words);
END;

-- No text: fingerprints of lines only.
CREATE TABLE edits (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  turn INTEGER NOT NULL,
  uid TEXT NOT NULL,
  time REAL NOT NULL,
  project TEXT NOT NULL,
  path TEXT NOT NULL,
  is_blind INTEGER NOT NULL DEFAULT 0,
  exact BLOB NOT NULL,
  normal BLOB NOT NULL,
  flags BLOB NOT NULL,
  words BLOB NOT NULL,
  removed BLOB NOT NULL
);
CREATE INDEX edits_by_path ON edits (project, path);
CREATE INDEX edits_by_session ON edits (session, turn);
CREATE UNIQUE INDEX edits_by_uid ON edits (uid);

CREATE TABLE commands (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  turn INTEGER NOT NULL,
  uid TEXT NOT NULL UNIQUE,
  time REAL NOT NULL,
  text TEXT NOT NULL,
  exit_code INTEGER
);
CREATE INDEX commands_by_session ON commands (session, turn);

CREATE TABLE commits (
  session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  turn INTEGER NOT NULL,
  sha TEXT NOT NULL,
  PRIMARY KEY (session, turn, sha)
);

-- Which edits explain the lines of a blob, as long as the edits of its paths are these.
CREATE TABLE explained (
  blob TEXT NOT NULL,
  paths TEXT NOT NULL,
  edits TEXT NOT NULL,
  found BLOB NOT NULL,
  PRIMARY KEY (blob, paths)
);

CREATE TABLE projects (
  root TEXT PRIMARY KEY,
  opened REAL NOT NULL
);

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

CREATE TABLE forgotten (
  program TEXT NOT NULL,
  uid TEXT NOT NULL,
  PRIMARY KEY (program, uid)
);
