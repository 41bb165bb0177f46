"""Swaps with a received amount that differs from the quote, until the quoter has requoted it."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

REQUOTES_DUE = """
CREATE TABLE requote_due (
  swap_id uuid PRIMARY KEY REFERENCES swap,
  due_at timestamptz NOT NULL DEFAULT now(),
  since timestamptz NOT NULL DEFAULT now() -- that it holds what it holds
);
CREATE INDEX requote_due_next ON requote_due (due_at, swap_id);
CREATE FUNCTION notify_requote() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NOTIFY requote_due;
  RETURN NULL;
END $$;
CREATE TRIGGER requote_written AFTER INSERT ON requote_due
FOR EACH STATEMENT EXECUTE FUNCTION notify_requote();
"""


def upgrade() -> None:
    op.execute(REQUOTES_DUE)
