-- The quoter's tables as of the release v0.1.0, after those of the runtime. Released, so this file
-- does not change: later changes are revisions.

-- What the Treasury of a network can pay of a token, as the settler publishes it.
CREATE TABLE inventory (
  network text NOT NULL,
  token text NOT NULL,
  version bigint NOT NULL,
  available_base_units numeric(78,0) NOT NULL CHECK (available_base_units >= 0),
  PRIMARY KEY (network, token)
);

-- The newest completed swaps of each route; the use case that adds one deletes the oldest.
CREATE TABLE completion (
  swap_id uuid PRIMARY KEY,
  source_network text NOT NULL,
  source_token text NOT NULL,
  destination_network text NOT NULL,
  destination_token text NOT NULL,
  milliseconds bigint NOT NULL CHECK (milliseconds >= 0),
  closed_at timestamptz NOT NULL
);
CREATE INDEX completion_by_route ON completion
  (source_network, source_token, destination_network, destination_token, closed_at DESC);

-- The mean of the rows of `completion` for each route.
CREATE TABLE completion_average (
  source_network text NOT NULL,
  source_token text NOT NULL,
  destination_network text NOT NULL,
  destination_token text NOT NULL,
  milliseconds bigint NOT NULL,
  swaps int NOT NULL CHECK (swaps > 0),
  PRIMARY KEY (source_network, source_token, destination_network, destination_token)
);
