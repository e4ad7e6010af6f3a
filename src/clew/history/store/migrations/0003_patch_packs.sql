-- Patches lie in packs, and `patch_rows` shows them one by one. That view is not a join: one
-- to the right of a LEFT JOIN would be computed whole for every row.

DROP VIEW commit_patches;
ALTER TABLE patch_rows RENAME TO single_patches;
CREATE TABLE patch_packs (
    pack_id INTEGER PRIMARY KEY,
    frames BLOB NOT NULL
);
CREATE TABLE patch_places (
    patch_id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    pack_id INTEGER NOT NULL,
    start INTEGER NOT NULL,
    length INTEGER NOT NULL
);
INSERT INTO patch_packs SELECT patch_id, blob FROM single_patches;
INSERT INTO patch_places
    SELECT patch_id, digest, size, patch_id, 0, length(blob) FROM single_patches;
DROP TABLE single_patches;
CREATE INDEX patch_pack ON patch_places (pack_id);
CREATE VIEW patch_rows AS
    SELECT p.patch_id, p.digest, p.size,
           (SELECT substr(k.frames, p.start + 1, p.length)
            FROM patch_packs k WHERE k.pack_id = p.pack_id) AS blob
    FROM patch_places p;
CREATE VIEW commit_patches AS
    SELECT c.id >> 32 AS repo_id, lower(hex(c.sha)) AS sha, b.blob AS patch_blob
    FROM commit_rows c
    JOIN patch_rows b ON b.patch_id = c.patch_id;
CREATE INDEX commit_problem ON commit_rows (id) WHERE problem IS NOT NULL;
CREATE INDEX commit_reached ON commit_rows (reachable);
