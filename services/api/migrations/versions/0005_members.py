"""Members of organizations, their invitations and tokens, and the log of changes."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

KEY_LABELS = "ALTER TABLE api_key ADD COLUMN label text CHECK (label <> '')"

# A member belongs to one organization. One who left stays, for what the log says of them.
MEMBERS = """
CREATE TABLE member (
  id uuid PRIMARY KEY,
  partner_id uuid NOT NULL REFERENCES partner,
  name text NOT NULL CHECK (name <> ''),
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'viewer')),
  created_at timestamptz NOT NULL,
  removed_at timestamptz
);
CREATE INDEX member_partner ON member (partner_id, created_at, id) WHERE removed_at IS NULL;

CREATE TABLE invitation (
  id uuid PRIMARY KEY,
  partner_id uuid NOT NULL REFERENCES partner,
  name text NOT NULL CHECK (name <> ''),
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'viewer')),
  hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  invited_by uuid REFERENCES member,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  accepted_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX invitation_partner ON invitation (partner_id, created_at, id)
  WHERE accepted_at IS NULL AND revoked_at IS NULL;
CREATE INDEX invitation_inviter ON invitation (invited_by)
  WHERE accepted_at IS NULL AND revoked_at IS NULL;

-- As with API keys, the token itself is nowhere.
CREATE TABLE access_token (
  id uuid PRIMARY KEY,
  member_id uuid NOT NULL REFERENCES member,
  label text NOT NULL CHECK (label <> ''),
  hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  last_four text NOT NULL CHECK (length(last_four) = 4),
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz,
  last_used_at timestamptz
);
CREATE INDEX access_token_member ON access_token (member_id, created_at, id);
"""

# The log is append-only: the service itself may not change or remove a row.
AUDIT = """
CREATE TABLE audit_entry (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  partner_id uuid NOT NULL,
  at timestamptz NOT NULL,
  actor text NOT NULL,
  member_id uuid,
  request_id text NOT NULL,
  action text NOT NULL,
  subject_id uuid NOT NULL,
  details jsonb NOT NULL
);
CREATE INDEX audit_entry_partner ON audit_entry (partner_id, id DESC);

CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is only added to';
END $$;
CREATE TRIGGER audit_entry_stays BEFORE UPDATE OR DELETE ON audit_entry
  FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
"""


def upgrade() -> None:
    for part in (KEY_LABELS, MEMBERS, AUDIT):
        op.execute(part)
