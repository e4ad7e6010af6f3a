-- Secrets that were kept out of the index: of which commit, of what kind, how they began.

CREATE TABLE redactions (
    commit_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    hint TEXT NOT NULL
);
CREATE INDEX redaction_commit ON redactions (commit_id);
