"""Sessions opened by an operator's sign-in link.

One such session may set a new password without the lost one, once, soon after it was opened.
"""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("session", "pending_sign_in"):
        op.execute(f"ALTER TABLE {table} ADD COLUMN is_by_link boolean NOT NULL DEFAULT false")
