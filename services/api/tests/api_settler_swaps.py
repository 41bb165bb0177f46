"""Swaps in the settler's tables, for the views that the api reads."""

from typing import Final, LiteralString

INSERT_SWAPS: Final[LiteralString] = """
INSERT INTO settler.swap (
  id, app_id, sequence_number, match_key, sequence, status, method, source_network, source_token,
  source_decimals, destination_network, destination_token, destination_decimals,
  destination_address, requested_base_units, payout_base_units, fee_base_units, quote,
  quote_expires_at, created_at, expires_at, changed_at, trace_id)
"""
# The columns from `method` on, as in any swap.
OTHER_COLUMNS: Final[LiteralString] = (
    "'direct', 'A', '0x', 18, 'B', '0x', 18, '0x', 1, 1, 0, '{}', now(), now(), now(), now(), ''"
)
