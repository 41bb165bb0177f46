"""The tables of every service: sent, received and parked messages, and leases.

The first migration of a service makes them as they were released. What was added since has a
migration in each service, and is here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Protocol


class Operations(Protocol):
    """The part of Alembic's `op` that this module uses."""

    def execute(self, sqltext: str) -> object: ...


DAYS_AHEAD: Final = 7
FIRST_XID: Final = "3"  # Postgres hands it out before all others; a restored dump's rows get it

RELEASED: Final = Path(__file__).with_name("runtime_tables.sql")


def create_runtime_tables(op: Operations) -> None:
    """Make the shared tables of v0.1.0 in the schema of the role that migrates."""
    op.execute(RELEASED.read_text())


# What Kafka brought and its sender's outbox does not hold is shown with what is parked, and is no
# message of its key. `claimed_id` and `outbox_id` are what its headers say.
UNVERIFIED: Final = (
    "ALTER TABLE parked ADD COLUMN claimed_id uuid, ADD COLUMN outbox_id bigint",
    "ALTER TABLE parked DROP CONSTRAINT parked_state_check",
    """
ALTER TABLE parked ADD CONSTRAINT parked_state_check
CHECK (state IN ('parked', 'releasing', 'released', 'dropped', 'unverified'))
""",
    "CREATE INDEX parked_unverified ON parked (consumer, topic) WHERE state = 'unverified'",
)


def verify_messages(op: Operations) -> None:
    """Let the service keep messages from Kafka that their sender's outbox does not hold."""
    for statement in UNVERIFIED:
        op.execute(statement)


# Who ordered what, in the transaction of the order. Rows are only added.
OPERATOR_ORDERS: Final = (
    """
CREATE TABLE operator_order (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_id uuid NOT NULL, -- of one request
  at timestamptz NOT NULL DEFAULT now(),
  operator text NOT NULL, -- by the token
  role text NOT NULL,
  action text NOT NULL,
  parameters jsonb NOT NULL,
  reason text,
  outcome text NOT NULL CHECK (outcome IN ('done', 'refused', 'proposed', 'failed')),
  detail text,
  proposal_id uuid
)
""",
    """
CREATE FUNCTION refuse_operator_order_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the log of operators'' orders is only added to';
END $$
""",
    """
CREATE TRIGGER operator_order_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON operator_order
FOR EACH STATEMENT EXECUTE FUNCTION refuse_operator_order_change()
""",
)
# An order that awaits a second operator. The operator who ordered it cannot approve it.
OPERATOR_PROPOSALS: Final = (
    """
CREATE TABLE operator_proposal (
  id uuid PRIMARY KEY,
  action text NOT NULL,
  target jsonb NOT NULL,
  body text NOT NULL,
  why text NOT NULL,
  reason text,
  proposed_by text NOT NULL,
  proposed_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  ended_by text,
  ended_at timestamptz,
  outcome text CHECK (outcome IN ('approved', 'rejected')),
  CHECK ((outcome IS NULL) = (ended_by IS NULL) AND (outcome IS NULL) = (ended_at IS NULL)),
  CHECK (outcome <> 'approved' OR ended_by <> proposed_by)
)
""",
    "CREATE INDEX operator_proposal_open ON operator_proposal (proposed_at, id) "
    "WHERE ended_at IS NULL",
)


def log_operator_orders(op: Operations) -> None:
    """Make the log of what operators order in this service."""
    for statement in OPERATOR_ORDERS:
        op.execute(statement)


def store_proposals(op: Operations) -> None:
    """Let orders of this service wait for a second operator."""
    for statement in OPERATOR_PROPOSALS:
        op.execute(statement)
