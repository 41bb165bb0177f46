"""Accounts, their memberships, sessions, sign-in links and failed sign-ins."""

from alembic import op

from swap_runtime.postgres.schema import (
    create_runtime_tables,
    log_operator_orders,
    store_proposals,
    verify_messages,
)

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ACCOUNT = """
CREATE TABLE account (
  id uuid PRIMARY KEY,
  email text NOT NULL UNIQUE,
  password_hash text NOT NULL,
  created_at timestamptz NOT NULL
)
"""
# The token acts in the api as the member; it is sealed, bound to the membership.
MEMBERSHIP = """
CREATE TABLE membership (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account ON DELETE CASCADE,
  organization_id uuid NOT NULL,
  organization_name text NOT NULL,
  member_id uuid NOT NULL,
  sealed_token text NOT NULL,
  token_id uuid NOT NULL,
  token_expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  UNIQUE (account_id, organization_id)
)
"""
# Only the hash of a token is stored, so a reader of the table cannot sign in.
SESSION = """
CREATE TABLE session (
  token_hash bytea PRIMARY KEY,
  id uuid NOT NULL UNIQUE,
  account_id uuid NOT NULL REFERENCES account ON DELETE CASCADE,
  membership_id uuid REFERENCES membership ON DELETE SET NULL,
  created_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  browser text NOT NULL,
  address text NOT NULL
)
"""
SESSION_OF_ACCOUNT = "CREATE INDEX session_of_account ON session (account_id, last_seen_at)"
SESSION_OF_MEMBERSHIP = "CREATE INDEX session_of_membership ON session (membership_id)"
SESSION_EXPIRED = "CREATE INDEX session_expired ON session (expires_at)"
SIGN_IN_LINK = """
CREATE TABLE sign_in_link (
  token_hash bytea PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account ON DELETE CASCADE,
  expires_at timestamptz NOT NULL
)
"""
SIGN_IN_LINK_OF_ACCOUNT = "CREATE INDEX sign_in_link_of_account ON sign_in_link (account_id)"
# The key is a hash of an email or an address: unknown emails are counted as well.
SIGN_IN_FAILURE = """
CREATE TABLE sign_in_failure (
  key bytea PRIMARY KEY,
  failures int NOT NULL CHECK (failures >= 0),
  blocked_until timestamptz NOT NULL,
  last_at timestamptz NOT NULL
)
"""
SIGN_IN_FAILURE_LAST = "CREATE INDEX sign_in_failure_last ON sign_in_failure (last_at)"
# The auditor reads events. It may not read hashes of passwords and encrypted tokens.
HIDE = "REVOKE SELECT ON account, membership, session, sign_in_link FROM auditor"
SHOW = (
    "GRANT SELECT (id, email, created_at) ON account TO auditor",
    "GRANT SELECT (id, account_id, organization_id, organization_name, member_id, token_id, "
    "token_expires_at, created_at) ON membership TO auditor",
    "GRANT SELECT (id, account_id, membership_id, created_at, last_seen_at, expires_at) "
    "ON session TO auditor",
)


def upgrade() -> None:
    create_runtime_tables(op)
    verify_messages(op)
    log_operator_orders(op)
    store_proposals(op)
    for statement in (
        ACCOUNT,
        MEMBERSHIP,
        SESSION,
        SESSION_OF_ACCOUNT,
        SESSION_OF_MEMBERSHIP,
        SESSION_EXPIRED,
        SIGN_IN_LINK,
        SIGN_IN_LINK_OF_ACCOUNT,
        SIGN_IN_FAILURE,
        SIGN_IN_FAILURE_LAST,
        HIDE,
        *SHOW,
    ):
        op.execute(statement)
