"""The block up to which the coins of each deposit address were counted, as a shared view."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# With each batch all young addresses are counted: one row says so for all of them. counted_since:
# those assigned after it are the young ones. A target's own columns: its first count, later counts
# of old ones; null while part of a rise is not published. Checks of large tables are validated by
# 0015: here they would read the whole table while it is locked against everything.
COUNTED = """
ALTER TABLE watch_cursor
  ADD COLUMN counted_number bigint,
  ADD COLUMN counted_time timestamptz,
  ADD COLUMN counted_since timestamptz,
  ADD CONSTRAINT watch_cursor_counted
    CHECK (num_nulls(counted_number, counted_time, counted_since) IN (0, 3));
ALTER TABLE deposit_target
  ADD COLUMN counted_number bigint,
  ADD COLUMN counted_time timestamptz,
  ADD CONSTRAINT deposit_target_counted CHECK (num_nulls(counted_number, counted_time) <> 1)
    NOT VALID;
"""
# came_after: of a rise that may have come in any of several blocks, a time before all of them.
MOVEMENTS = """
ALTER TABLE movement
  ADD COLUMN counted_number bigint,
  ADD COLUMN came_after timestamptz,
  ADD CONSTRAINT movement_range CHECK
    (kind = 'balance_rose' OR num_nonnulls(counted_number, came_after) = 0) NOT VALID;
"""
TARGETS = """
CREATE VIEW watched_target AS
SELECT target.network, target.address, target.since,
  CASE WHEN target.counted_number IS NOT NULL AND target.since > cursor.counted_since
    THEN cursor.counted_number ELSE target.counted_number END AS counted_number,
  CASE WHEN target.counted_number IS NOT NULL AND target.since > cursor.counted_since
    THEN cursor.counted_time ELSE target.counted_time END AS counted_time
FROM deposit_target AS target JOIN watch_cursor AS cursor USING (network)
WHERE target.position IS NOT NULL;
GRANT SELECT ON watched_target TO settler;
"""


def upgrade() -> None:
    for part in (MOVEMENTS, COUNTED, TARGETS):
        op.execute(part)
