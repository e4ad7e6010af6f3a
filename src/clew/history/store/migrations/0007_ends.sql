-- Of patches over 1 MB the two ends are kept, so that a commit that no search sees whole may have one.

DROP INDEX commit_unsearched;
CREATE INDEX commit_unsearched ON commit_rows (id)
    WHERE patch_size > 1048576 OR problem IS NOT NULL;
DROP VIEW commit_patches;
CREATE VIEW commit_patches AS
    SELECT c.id >> 32 AS repo_id, lower(hex(c.sha)) AS sha, b.blob AS patch_blob
    FROM commit_rows c
    JOIN patch_rows b ON b.patch_id = c.patch_id
    WHERE c.patch_size <= 1048576;
