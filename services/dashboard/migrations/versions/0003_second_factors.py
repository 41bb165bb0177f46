"""Second factors of accounts: a sealed secret, recovery codes, and sign-ins that wait for a code."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# `last_step` is the latest half minute with a used code: no code is accepted twice.
# `begun_by` is the session that was shown the secret: no other one confirms it.
SECOND_FACTOR = """
CREATE TABLE second_factor (
  account_id uuid PRIMARY KEY REFERENCES account ON DELETE CASCADE,
  sealed_secret text NOT NULL,
  last_step bigint NOT NULL DEFAULT 0,
  begun_by uuid NOT NULL,
  created_at timestamptz NOT NULL,
  confirmed_at timestamptz
)
"""
RECOVERY_CODE = """
CREATE TABLE recovery_code (
  account_id uuid NOT NULL REFERENCES second_factor ON DELETE CASCADE,
  code_hash bytea NOT NULL,
  PRIMARY KEY (account_id, code_hash)
)
"""
PENDING = """
CREATE TABLE pending_sign_in (
  token_hash bytea PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account ON DELETE CASCADE,
  expires_at timestamptz NOT NULL
)
"""
PENDING_OF_ACCOUNT = "CREATE INDEX pending_sign_in_of_account ON pending_sign_in (account_id)"
PENDING_EXPIRED = "CREATE INDEX pending_sign_in_expired ON pending_sign_in (expires_at)"
HIDE = "REVOKE SELECT ON second_factor, recovery_code, pending_sign_in FROM auditor"
SHOW = "GRANT SELECT (account_id, created_at, confirmed_at) ON second_factor TO auditor"


def upgrade() -> None:
    for statement in (
        SECOND_FACTOR,
        RECOVERY_CODE,
        PENDING,
        PENDING_OF_ACCOUNT,
        PENDING_EXPIRED,
        HIDE,
        SHOW,
    ):
        op.execute(statement)
