-- What a fleet is to work on. The lease decides who has it: one that ended is anybody's.
CREATE TABLE work_orders (
    order_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project text NOT NULL,
    spec_id text NOT NULL,
    agent text NOT NULL,
    labels text[] NOT NULL DEFAULT '{}',
    state text NOT NULL DEFAULT 'waiting',
    turn integer NOT NULL DEFAULT 0,
    worker text,
    leased_until timestamptz,
    request text,
    branch text,
    snapshot text,
    note text,
    created_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz
);
CREATE UNIQUE INDEX one_open_order_per_spec ON work_orders (project, spec_id)
    WHERE state IN ('waiting', 'leased', 'paused');
CREATE INDEX waiting_orders ON work_orders (order_id) WHERE state = 'waiting';
CREATE INDEX leased_orders ON work_orders (leased_until) WHERE state = 'leased';

-- What agents say, in the order they said it: a turn is one worker's time with an order.
CREATE TABLE work_log (
    order_id bigint NOT NULL,
    turn integer NOT NULL,
    number integer NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    text text NOT NULL,
    PRIMARY KEY (order_id, turn, number)
);
