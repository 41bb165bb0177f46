"""Validates the checks of 0010 and 0013, under a lock that lets rows be read and written."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE movement VALIDATE CONSTRAINT movement_range",
    "ALTER TABLE movement VALIDATE CONSTRAINT movement_providers_required_check",
    "ALTER TABLE deposit_target VALIDATE CONSTRAINT deposit_target_counted",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
