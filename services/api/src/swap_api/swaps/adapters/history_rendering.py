"""Events and ledger of a swap, and one of its transactions, as the public models say them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import orjson

from swap_api.swaps.decide.history import Posting, QuoteRevision, SwapEvent
from swap_chains.evm.transaction_lookup import LocatedTransaction, TransactionState
from swap_contracts.public.catalogue import PublicCatalogue
from swap_contracts.public.stored_amounts import amount_members, symbol_or_address
from swap_domain.catalogue import Network


def render_event(event: SwapEvent) -> bytes:
    is_move = event.from_status != event.to_status
    return orjson.dumps(
        {
            "sequence": event.sequence,
            "type": f"swap.{event.to_status}" if is_move else "swap.updated",
            "from_status": event.from_status,
            "to_status": event.to_status,
            "at": event.at.isoformat(),
            "cause": event.cause,
        }
    )


def render_ledger(postings: Sequence[Posting], public: PublicCatalogue) -> bytes:
    """Return the ledger's transactions, each with its postings."""
    return orjson.dumps(
        [
            {
                "id": str(transaction_id),
                "reason": lines[0].reason,
                "at": lines[0].at.isoformat(),
                "network": lines[0].network,
                "block_number": lines[0].block_number,
                "postings": [_posting(line, public) for line in lines],
            }
            for transaction_id, lines in (
                (key, list(group)) for key, group in groupby(postings, lambda p: p.transaction_id)
            )
        ]
    )


def render_quotes(quotes: Sequence[QuoteRevision]) -> bytes:
    """Return the figures of each quote in base units, which are exact."""
    return orjson.dumps([_quote(one) for one in quotes])


def render_transaction(
    document: bytes, *, network: str, transaction_id: str
) -> dict[str, Any] | None:
    """Return how far one transaction of a rendered swap is; None where it is not among them."""
    for shown in orjson.loads(document)["swap"]["transactions"]:
        is_queried = (shown["transaction_hash"] or "").lower() == transaction_id.lower()
        if is_queried and shown["network"]["name"] == network:
            return _transaction(shown)
    return None


def render_located(
    network: Network, transaction_hash: str, located: LocatedTransaction, head: int
) -> bytes:
    """Return how far a transaction is that no swap of the caller has.

    It never counts as completed: that is a swap's credit, and there is none.
    """
    enough, block = max(network.finality_blocks, 1), located.block_number
    # A node may be ahead of the watched head: what is in a block has one confirmation.
    depth = 0 if block is None else min(max(head - block + 1, 1), enough)
    has_reverted = located.state is TransactionState.REVERTED
    return orjson.dumps(
        {
            "status": "failed" if has_reverted else "pending",
            "network": network.name,
            "transaction_id": transaction_hash,
            "is_found": located.state is not TransactionState.UNKNOWN,
            "is_completed": False,
            "confirmations": depth,
            "max_confirmations": enough,
        }
    )


def _transaction(shown: Mapping[str, Any]) -> dict[str, Any]:
    is_completed = shown["status"] == "completed"
    return {
        "status": "completed" if is_completed else "pending",
        "network": shown["network"]["name"],
        "transaction_id": shown["transaction_hash"],
        "is_found": True,
        "is_completed": is_completed,
        "confirmations": shown["confirmations"],
        "max_confirmations": shown["max_confirmations"],
    }


def _quote(one: QuoteRevision) -> dict[str, Any]:
    return {
        "revision": one.revision,
        "source_decimals": one.source_decimals,
        "destination_decimals": one.destination_decimals,
        "requested_in_base_units": str(one.requested_base_units),
        "receive_in_base_units": str(one.receive_base_units),
        "min_receive_in_base_units": str(one.min_receive_base_units),
        "service_fee_in_base_units": str(one.service_fee_base_units),
        "blockchain_fee_in_base_units": str(one.blockchain_fee_base_units),
        "total_fee_in_base_units": str(one.total_fee_base_units),
    }


def _posting(line: Posting, public: PublicCatalogue) -> dict[str, Any]:
    asset = line.asset_network, line.asset_token
    return {
        "account": line.account,
        "network": line.asset_network,
        "token": symbol_or_address(*asset, public),
        **amount_members(line.base_units, *asset, public),
    }
