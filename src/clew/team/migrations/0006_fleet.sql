-- A command that a person refused: orders that need it end, instead of waiting for a word.
ALTER TABLE team_commands ADD COLUMN refused_by text;
ALTER TABLE team_commands ADD COLUMN refused_at timestamptz;

-- Since when the worker that has an order has it.
ALTER TABLE work_orders ADD COLUMN leased_at timestamptz;
