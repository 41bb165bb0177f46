"""An index for open gasless deposits of a signer: they are sent one after another."""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
CREATE INDEX relay_out ON intent (payer)
  WHERE kind = 'gasless' AND state IN ('assigned', 'broadcast')
""")
