CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    version TEXT NOT NULL,
    time INTEGER NOT NULL,
    UNIQUE (kind, key)
);
CREATE VIRTUAL TABLE texts USING fts5(
    title, body, refs, tokenize = "unicode61 remove_diacritics 0"
);
CREATE VIRTUAL TABLE words USING fts5vocab(texts, row);
INSERT INTO texts (texts, rank) VALUES ('hashsize', 16000000);
