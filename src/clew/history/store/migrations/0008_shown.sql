-- What filters ask of the commits that match, without the rows of commits, which are long.

CREATE INDEX commit_shown ON commit_rows (id, author_id, author_time, commit_time)
    WHERE reachable;
