-- Of patches over 1 MB the two ends are kept, so that a commit that no search sees whole may have one.

DROP INDEX commit_unsearched;
CREATE INDEX commit_unsearched ON commit_rows (id)
    WHERE patch_size > 1048576 OR problem IS NOT NULL;
