"""Inventory and completion statistics."""

from alembic import op

from swap_runtime.postgres.schema import create_runtime_tables

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

INVENTORY = """
CREATE TABLE inventory (
  network text NOT NULL,
  token text NOT NULL,
  version bigint NOT NULL,
  available_base_units numeric(78,0) NOT NULL CHECK (available_base_units >= 0),
  PRIMARY KEY (network, token)
)
"""
# The newest completed swaps of each route; what falls out of the window is deleted.
COMPLETION = """
CREATE TABLE completion (
  swap_id uuid PRIMARY KEY,
  source_network text NOT NULL,
  source_token text NOT NULL,
  destination_network text NOT NULL,
  destination_token text NOT NULL,
  milliseconds bigint NOT NULL CHECK (milliseconds >= 0),
  closed_at timestamptz NOT NULL
)
"""
COMPLETION_BY_ROUTE = """
CREATE INDEX completion_by_route ON completion
  (source_network, source_token, destination_network, destination_token, closed_at DESC)
"""
COMPLETION_AVERAGE = """
CREATE TABLE completion_average (
  source_network text NOT NULL,
  source_token text NOT NULL,
  destination_network text NOT NULL,
  destination_token text NOT NULL,
  milliseconds bigint NOT NULL,
  swaps int NOT NULL CHECK (swaps > 0),
  PRIMARY KEY (source_network, source_token, destination_network, destination_token)
)
"""


def upgrade() -> None:
    create_runtime_tables(op)
    for statement in (INVENTORY, COMPLETION, COMPLETION_BY_ROUTE, COMPLETION_AVERAGE):
        op.execute(statement)
