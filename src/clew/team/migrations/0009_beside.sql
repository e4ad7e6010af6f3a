-- Words lie beside their row, not in another table, as far as they fit on its page: a search reads
-- those of hundreds of commits, a page for each instead of four. Rows that are there stay as they are.

ALTER TABLE commit_text ALTER COLUMN words SET STORAGE MAIN;
