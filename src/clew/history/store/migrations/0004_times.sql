-- Commits by the time they were committed, and those whose changes no search can see.

CREATE INDEX commit_commit_time ON commit_rows (commit_time);
CREATE INDEX commit_unsearched ON commit_rows (id)
    WHERE patch_id IS NULL AND (patch_size > 1048576 OR problem IS NOT NULL);
