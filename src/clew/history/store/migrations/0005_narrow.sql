-- What sums of changes need, without the rows of commits, which are long, and of files.

DROP INDEX file_path;
CREATE INDEX file_path ON file_rows (path_id, commit_id, added, removed);
CREATE INDEX commit_counted ON commit_rows (id, author_id, author_time, commit_time)
    WHERE reachable AND length(parents) <= 20;
