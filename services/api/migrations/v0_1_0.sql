-- The api's tables as of the release v0.1.0, after those of the runtime. Released, so this file does
-- not change: later changes are revisions.


-- Organizations, their apps and keys

CREATE TABLE partner (
  id uuid PRIMARY KEY,
  name text NOT NULL CHECK (name <> ''),
  created_at timestamptz NOT NULL
);

-- Limits of an app a minute; null: the settings of the deployment apply. Only test apps set the
-- deposit window of their swaps (`swap_lifetime`).
CREATE TABLE app (
  id uuid PRIMARY KEY,
  partner_id uuid NOT NULL REFERENCES partner,
  name text NOT NULL CHECK (name <> ''),
  environment text NOT NULL CHECK (environment IN ('live', 'test')),
  reads_per_minute int CHECK (reads_per_minute > 0),
  prices_per_minute int CHECK (prices_per_minute > 0),
  creates_per_minute int CHECK (creates_per_minute > 0),
  ceiling_factor int CHECK (ceiling_factor > 0),
  pending_swaps_max int CHECK (pending_swaps_max > 0),
  limits_lifted boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL,
  swap_lifetime interval
    CHECK (swap_lifetime IS NULL OR (swap_lifetime > interval '0' AND environment = 'test')),
  -- The fee that the app charges on its swaps.
  fee_basis_points int NOT NULL DEFAULT 0 CHECK (fee_basis_points BETWEEN 0 AND 1000)
);
CREATE INDEX app_partner ON app (partner_id);

-- The key itself is not stored: only its keyed hash, and what its owner recognizes it by.
CREATE TABLE api_key (
  id uuid PRIMARY KEY,
  app_id uuid NOT NULL REFERENCES app,
  kind text NOT NULL CHECK (kind IN ('secret', 'publishable')),
  hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  last_four text NOT NULL CHECK (length(last_four) = 4),
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  label text CHECK (label <> '')
);
CREATE INDEX api_key_app ON api_key (app_id);


-- Members of organizations, and the log of changes

-- A member belongs to one organization. A removed member stays, because the log refers to it.
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

-- As with API keys, the token itself is not stored.
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

-- The log is append-only: the service itself cannot change or remove a row.
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


-- Requests

-- `claim` names the request that is running. Its answer is stored in the transaction of its swap; an
-- answer may also be about no swap. A claim that runs out without an answer changed nothing, and the
-- next request takes it over.
CREATE TABLE idempotency (
  app_id uuid NOT NULL,
  key text NOT NULL,
  body_hash bytea NOT NULL,
  claim uuid NOT NULL,
  claimed_until timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  swap_id uuid,
  answer bytea,
  PRIMARY KEY (app_id, key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);


-- The read model of swaps

-- One row answers one read. `document` is the rendered answer with gaps for the confirmations of
-- transactions that are not final (`gaps` names the block of each) and for the deposit action.
-- Addresses are in lower case, for matching. The app is no reference: an insert would lock its row.
CREATE TABLE swap (
  id uuid PRIMARY KEY,
  app_id uuid NOT NULL,
  sequence_number bigint NOT NULL UNIQUE CHECK (sequence_number BETWEEN 1 AND 9007199254740991),
  sequence int NOT NULL CHECK (sequence >= 0),
  status text NOT NULL,
  client text, -- null: created with a secret key
  is_unpaid boolean NOT NULL,
  source_network text NOT NULL,
  destination_network text NOT NULL,
  source_address text,
  destination_address text NOT NULL,
  refund_address text,
  reference_id text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  document bytea NOT NULL,
  gaps text,
  action bytea,
  step_status text NOT NULL,
  gasless text,
  deposit_address text
) WITH (fillfactor = 80);
CREATE INDEX swap_listed ON swap (app_id, created_at DESC, id DESC);
CREATE INDEX swap_destination ON swap (app_id, destination_address, created_at DESC, id DESC);
CREATE INDEX swap_source ON swap (app_id, source_address, created_at DESC, id DESC)
  WHERE source_address IS NOT NULL;
CREATE INDEX swap_refund ON swap (app_id, refund_address, created_at DESC, id DESC)
  WHERE refund_address IS NOT NULL;
CREATE INDEX swap_reference ON swap (app_id, reference_id, created_at DESC, id DESC)
  WHERE reference_id IS NOT NULL;
-- The number of a caller's swaps that wait for money is limited.
CREATE INDEX swap_unpaid ON swap (app_id, client) WHERE is_unpaid;
-- The service's deposit addresses are refused as recipients and as refund addresses.
CREATE INDEX swap_deposit_address ON swap (deposit_address) WHERE deposit_address IS NOT NULL;

-- One transaction may belong to several swaps: payouts are sent in batches.
CREATE TABLE transaction_hash (
  app_id uuid NOT NULL,
  hash text NOT NULL,
  swap_id uuid NOT NULL,
  PRIMARY KEY (app_id, hash, swap_id)
);


-- What callers submit about the deposits of a swap

-- Signature requests of gasless swaps. A signer gets the same request until it is worthless, then the
-- next `issue`. `submission` counts the signatures of a swap, of any signer; one is in progress at a
-- time.
CREATE TABLE sign_request (
  swap_id uuid NOT NULL,
  signer text NOT NULL,
  issue int NOT NULL CHECK (issue > 0),
  standard text NOT NULL CHECK (standard IN ('eip3009', 'eip2612')),
  nonce numeric(78,0) NOT NULL,
  valid_after bigint NOT NULL,
  valid_before bigint NOT NULL,
  submission int CHECK (submission > 0),
  is_refused boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  submitted_at timestamptz,
  PRIMARY KEY (swap_id, signer, issue)
);
CREATE UNIQUE INDEX sign_request_submission ON sign_request (swap_id, submission)
  WHERE submission IS NOT NULL;

-- Transactions that callers name as payments of a swap.
CREATE TABLE deposit_hint (
  swap_id uuid NOT NULL,
  transaction_hash text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (swap_id, transaction_hash)
);

-- Deposits that their senders attached to a swap by signature.
CREATE TABLE deposit_attachment (
  swap_id uuid NOT NULL,
  deposit_id uuid NOT NULL,
  submission int NOT NULL CHECK (submission > 0),
  submitted_at timestamptz NOT NULL,
  PRIMARY KEY (swap_id, deposit_id)
);
