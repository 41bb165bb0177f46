"""Why a swap changed, stored with each transition and shown in the view of its history."""

from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

# Earlier transitions have no cause, nor those that an older settler writes.
CAUSES = (
    # A reader locks the view, then its table. In the other order, this and a reader would wait for
    # each other. `LOCK` of a view locks the view, then its table.
    "LOCK TABLE swap_event IN ACCESS EXCLUSIVE MODE",
    "ALTER TABLE swap_transition ADD COLUMN cause text",
    """
CREATE OR REPLACE VIEW swap_event AS
SELECT swap_id, sequence, from_status, to_status, at, cause FROM swap_transition
""",
)


def upgrade() -> None:
    for statement in CAUSES:
        op.execute(statement)
