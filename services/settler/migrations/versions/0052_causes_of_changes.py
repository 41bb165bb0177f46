"""Why a swap changed, stored with each transition and shown in the view of its history."""

from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

# Transitions of before have none, nor have those of a settler of the version before.
CAUSES = (
    "ALTER TABLE swap_transition ADD COLUMN cause text",
    """
CREATE OR REPLACE VIEW swap_event AS
SELECT swap_id, sequence, from_status, to_status, at, cause FROM swap_transition
""",
)


def upgrade() -> None:
    for statement in CAUSES:
        op.execute(statement)
