-- Notes on commits that were imported lead from a commit to the turns that they name.
CREATE INDEX commits_by_sha ON commits (sha);
