"""Whether the owner of an account chose its password, and sessions of provider sign-ins."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A sign-in by a provider replaces the password by an unknown one, so the earlier one is void.
    op.execute("ALTER TABLE account ADD COLUMN password_set_at timestamptz")
    for table in ("session", "pending_sign_in"):
        op.execute(f"ALTER TABLE {table} ADD COLUMN is_by_provider boolean NOT NULL DEFAULT false")
