"""Deposits that a second provider reports or must report, and the caps of single providers."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

# revision: raised when something else than the follower adds to what it keeps open.
CURSORS = "ALTER TABLE watch_cursor ADD COLUMN revision bigint NOT NULL DEFAULT 0"
# provider: who reported it first. providers_required: by its tier; null: no deposit that could be
# credited, or stored before this revision. verified_at: another provider reports it as well.
# withheld_at: deep enough, and waiting for a provider since. trusted_at: confirmed by one
# provider's report, which counts under that network's cap.
MOVEMENTS = """
ALTER TABLE movement
  ADD COLUMN provider text,
  ADD COLUMN providers_required smallint,
  ADD COLUMN verified_at timestamptz,
  ADD COLUMN withheld_at timestamptz,
  ADD COLUMN trusted_at timestamptz,
  ADD CONSTRAINT movement_providers_required_check
    CHECK (providers_required IN (1, 2)) NOT VALID; -- validated by 0015
"""
# The configuration of the watcher at its last start.
CAPS = """
CREATE TABLE one_provider_cap (
  network text NOT NULL,
  token text NOT NULL,
  base_units numeric(78,0) NOT NULL,
  span interval NOT NULL,
  PRIMARY KEY (network, token)
);
"""
VIEWS = """
CREATE VIEW withheld_deposits AS
SELECT network, count(*) AS deposits, min(withheld_at) AS since FROM movement
WHERE withheld_at IS NOT NULL AND state = 'seen' GROUP BY network;
CREATE VIEW one_provider_exposure AS
SELECT cap.network, cap.token, cap.base_units AS cap_base_units, cap.span,
       used.base_units AS used_base_units
FROM one_provider_cap AS cap CROSS JOIN LATERAL (
    SELECT coalesce(sum(movement.base_units), 0) AS base_units FROM movement
    WHERE movement.network = cap.network AND trusted_at > now() - cap.span
      AND state = 'confirmed' AND verified_at IS NULL AND movement.token = cap.token) AS used;
GRANT SELECT ON withheld_deposits, one_provider_exposure TO api;
"""


def upgrade() -> None:
    for part in (CURSORS, MOVEMENTS, CAPS, VIEWS):
        op.execute(part)
