"""Addresses that operators blocked; the api reads them."""

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

BLOCKED = """
CREATE TABLE blocked_address (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  address text NOT NULL CHECK (address = lower(address)),
  network text, -- null: on all of them
  blocked_at timestamptz NOT NULL DEFAULT now(),
  blocked_by text NOT NULL,
  blocked_because text NOT NULL,
  lifted_at timestamptz,
  lifted_by text,
  lifted_because text,
  CHECK ((lifted_at IS NULL) = (lifted_by IS NULL)
    AND (lifted_at IS NULL) = (lifted_because IS NULL))
);
CREATE UNIQUE INDEX one_block ON blocked_address (address, network) NULLS NOT DISTINCT
  WHERE lifted_at IS NULL;
CREATE TABLE blocked_list (id int PRIMARY KEY CHECK (id = 1), version bigint NOT NULL);
INSERT INTO blocked_list VALUES (1, 1);
CREATE VIEW blocked AS SELECT address, network FROM blocked_address WHERE lifted_at IS NULL;
CREATE VIEW blocked_version AS SELECT version FROM blocked_list;
GRANT SELECT ON blocked, blocked_version TO api;
"""


def upgrade() -> None:
    op.execute(BLOCKED)
