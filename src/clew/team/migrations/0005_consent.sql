-- Commands of a project that workers came upon, and whose word lets them run: nobody's, or a person's.
CREATE TABLE team_commands (
    project text NOT NULL,
    hash text NOT NULL,
    command text NOT NULL,
    place text NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT now(),
    approved_by text,
    approved_at timestamptz,
    PRIMARY KEY (project, hash)
);

-- An order that is paused until these are approved; then it waits for a worker again.
ALTER TABLE work_orders ADD COLUMN waits_for text[] NOT NULL DEFAULT '{}';
