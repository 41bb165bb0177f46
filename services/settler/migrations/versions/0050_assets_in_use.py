"""The assets that open swaps and unfinished payments need, as a view for services that start."""

from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

# Each part has the condition of a partial index: a start reads no history. What an operator pays
# of a token that has left needs its network alone.
SHOWN = """
CREATE VIEW asset_in_use AS
SELECT asset.network, asset.token FROM swap CROSS JOIN LATERAL (VALUES
  (source_network, source_token), (destination_network, destination_token)) AS asset(network, token)
WHERE status = 'user_transfer_pending'
UNION
SELECT asset.network, asset.token FROM swap CROSS JOIN LATERAL (VALUES
  (source_network, source_token), (destination_network, destination_token)) AS asset(network, token)
WHERE status IN ('ls_transfer_pending', 'pending_refund')
UNION
SELECT swap.source_network, swap.source_token FROM refund_due JOIN swap ON swap.id = swap_id
UNION
SELECT network, CASE WHEN kind NOT IN ('claim', 'partner_fee') THEN token END FROM intent
WHERE state IN ('reserved', 'assigned', 'broadcast', 'mined') AND kind <> 'sweep';
GRANT SELECT ON asset_in_use TO api, chain_watcher;
"""


def upgrade() -> None:
    op.execute(SHOWN)
