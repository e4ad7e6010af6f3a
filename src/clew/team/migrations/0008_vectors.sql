-- What commits mean: vectors in chunks of one repository each, and what made them.

CREATE TABLE vector_about (key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE vector_chunks (
    chunk_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    repo_id integer NOT NULL REFERENCES repos ON DELETE CASCADE,
    count integer NOT NULL,
    last_id bigint NOT NULL,
    ids bytea NOT NULL,
    marks bytea NOT NULL,
    times bytea NOT NULL,
    scales bytea NOT NULL,
    vectors bytea NOT NULL
);
ALTER TABLE vector_chunks ALTER COLUMN vectors SET STORAGE EXTERNAL; -- noise is not compressible
CREATE INDEX vector_chunk_repo ON vector_chunks (repo_id, chunk_id);
-- The same vectors one by one where pgvector compares them: then it has a column `embedding` too.
CREATE TABLE vector_points (
    id bigint PRIMARY KEY,
    repo_id integer NOT NULL,
    chunk_id bigint NOT NULL REFERENCES vector_chunks ON DELETE CASCADE,
    mark bigint NOT NULL,
    made_at bigint NOT NULL
);
CREATE INDEX vector_point_repo ON vector_points (repo_id);
CREATE INDEX vector_point_chunk ON vector_points (chunk_id);
