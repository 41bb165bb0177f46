"""Messages about swaps: the complete state of a swap after every fact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import orjson

from swap_contracts.public.absent_assets import NATIVE_DECIMALS
from swap_contracts.swaps import SwapChanged
from swap_contracts.topics import SWAP_CHANGED
from swap_contracts.tracing import trace_id_of
from swap_domain.catalogue import Catalogue, Network
from swap_domain.money import Asset
from swap_domain.transaction_status import TransactionStatus
from swap_runtime.messaging.outbox import Outgoing
from swap_settler.model.changes import Changes
from swap_settler.model.ports import Work
from swap_settler.model.swap import Deposit, DepositState, Intent, IntentKind, IntentState, Swap

# The transaction type of a payment. A claim that an operator pays is shown as a refund.
SHOWN: Final = {
    IntentKind.OUTPUT: "output",
    IntentKind.REFUEL: "refuel",
    IntentKind.REFUND: "refund",
    IntentKind.CLAIM: "refund",
}
Fields = dict[str, object]
SENT: Final = {
    IntentState.RESERVED: TransactionStatus.PENDING,
    IntentState.ASSIGNED: TransactionStatus.PENDING,
    IntentState.BROADCAST: TransactionStatus.INITIATED,
    IntentState.MINED: TransactionStatus.INITIATED,
    IntentState.CONFIRMED: TransactionStatus.COMPLETED,
}


class SwapMessages:
    """Renders changes of swaps as messages; one transaction saves both."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    async def flush(self, work: Work, changes: Sequence[Changes], *, at: datetime) -> None:
        """Save the changes of a transaction, with the messages about their swaps."""
        await work.flush(changes, self.outgoing(changes, at=at))

    def outgoing(self, changes: Iterable[Changes], *, at: datetime) -> Sequence[Outgoing]:
        """Return one message per sequence that was spent, in the order of the changes."""
        return [self._message(c.swap, c, at) for c in changes if c.swap is not None]

    def _message(self, swap: Swap, change: Changes, at: datetime) -> Outgoing:
        key = str(swap.id)
        message_id = SWAP_CHANGED.message_id(key, swap.sequence)
        envelope = {
            "message_id": message_id,
            "type": SwapChanged.__name__,
            "key": key,
            "occurred_at": at,
            "trace_id": trace_id_of(swap.id),
            "body": self._body(swap, change),
        }
        payload = orjson.dumps(envelope, option=orjson.OPT_UTC_Z)
        return Outgoing(message_id, SWAP_CHANGED.name, key.encode(), payload, change.trace_id)

    def _body(self, swap: Swap, change: Changes) -> Fields:
        """Return a SwapChanged. A test holds them together."""
        terms, quote = swap.terms, swap.quote
        return {
            "swap_id": swap.id,
            "app_id": terms.app_id,
            "sequence_number": terms.sequence_number,
            "reference_id": terms.reference_id,
            "method": terms.method.value,
            "source": _asset(terms.source),
            "destination": _asset(terms.destination),
            "source_address": terms.source_address,
            "destination_address": terms.destination_address,
            "refund_address": terms.refund_address,
            "created_at": terms.created_at,
            "expires_at": swap.expires_at,
            "sequence": swap.sequence,
            "status": swap.status.value,
            "previous_status": change.previous_status and change.previous_status.value,
            "cause": change.cause and change.cause.value,
            "changed_at": swap.changed_at,
            "closed_at": swap.closed_at,
            "fail_reason": swap.fail_reason and swap.fail_reason.value,
            "quote": orjson.Fragment(quote.document),
            "quote_revision": quote.revision,
            "quote_expires_at": quote.expires_at,
            "last_requoted_at": quote.last_requoted_at,
            "quote_locked_at": quote.locked_at,
            "transactions": self._transactions(swap),
            "authorization": self._authorization(swap),
        }

    def _authorization(self, swap: Swap) -> Fields | None:
        known, relay = swap.authorization, swap.relay
        if known is None:
            return None
        source = swap.terms.source
        mine = (d for d in swap.deposits.values() if d.is_live and _is_relayed(swap, d))
        network = self._catalogue.networks.get(source.network)
        finality = 1 if network is None else max(network.finality_blocks, 1)
        required = next((d.confirmations_required for d in mine), finality)
        return {
            "submission": known.submission,
            "status": known.status.value,
            "signer": known.signer,
            "nonce": known.nonce,
            "valid_before": known.valid_before,
            "detail": known.detail,
            "transaction_hash": known.transaction_hash,
            "block_number": relay and relay.block_number,
            "confirmations_required": required,
        }

    def _transactions(self, swap: Swap) -> Sequence[Fields]:
        there = sorted(
            (d for d in swap.deposits.values() if d.is_live), key=lambda d: (d.received_at, d.id)
        )
        inputs = [_input(swap, deposit) for deposit in there]
        sent = sorted(
            (i for i in swap.intents.values() if i.kind in SHOWN),
            key=lambda i: (i.created_at, i.id),
        )
        return [*inputs, *(self._sent_fields(swap, intent) for intent in sent)]

    def _sent_fields(self, swap: Swap, intent: Intent) -> Fields:
        # A payment outlives its network's place in the catalogue, which alone has these two.
        network = self._catalogue.networks.get(intent.network)
        treasury = None if network is None else network.contracts.treasury
        confirmations = 1 if network is None else _depth(network)
        return {
            "type": SHOWN[intent.kind],
            "status": SENT[intent.state].value,
            "transaction_hash": intent.transaction_hash,
            "from_address": treasury,
            "to_address": intent.to_address,
            "at": intent.block_time or intent.created_at,
            "asset": _asset(self._paid_asset(swap, intent)),
            "base_units": str(intent.base_units),
            "usd_e18": _price(swap, intent),
            "block_number": intent.block_number,
            "confirmations_required": confirmations,
            "fee_base_units": None,
        }

    def _paid_asset(self, swap: Swap, intent: Intent) -> Asset:
        """Return one of the swap's two assets, or the coin of a refuel."""
        for asset in (swap.terms.source, swap.terms.destination):
            if (asset.network, asset.token) == (intent.network, intent.token):
                return asset
        network = self._catalogue.networks.get(intent.network)
        decimals = NATIVE_DECIMALS if network is None else network.token(intent.token).decimals
        return Asset(intent.network, intent.token, decimals)


def _depth(network: Network) -> int:
    return max(network.payout_confirmations or network.finality_blocks, 1)


def _price(swap: Swap, intent: Intent) -> str | None:
    match intent.kind:
        case IntentKind.REFUND | IntentKind.CLAIM if swap.is_paid_for(intent):
            return str(swap.quote.source_usd_e18)
        case IntentKind.REFUEL:
            refuel = swap.quote.refuel
            return None if refuel is None else str(refuel.usd_e18)
        case IntentKind.OUTPUT:
            return str(swap.quote.destination_usd_e18)
        case _:
            return None


def _input(swap: Swap, deposit: Deposit) -> Fields:
    is_final = deposit.state is DepositState.CREDITED
    status = TransactionStatus.COMPLETED if is_final else TransactionStatus.INITIATED
    return {
        "type": "input",
        "status": status.value,
        "transaction_hash": deposit.transaction_hash,
        "from_address": _payer(swap, deposit),
        "to_address": deposit.to_address,
        "at": deposit.block_time,
        "asset": _asset(swap.terms.source),
        "base_units": str(deposit.base_units),
        "usd_e18": str(swap.quote.source_usd_e18),
        "block_number": deposit.block_number,
        "confirmations_required": deposit.confirmations_required,
        "fee_base_units": None,
    }


def _payer(swap: Swap, deposit: Deposit) -> str | None:
    """Return the owner of the money: of a gasless deposit the signer, not the sender of the
    transaction.
    """
    known = swap.authorization
    is_relayed = known is not None and _is_relayed(swap, deposit)
    return known.signer if known is not None and is_relayed else deposit.from_address


def _is_relayed(swap: Swap, deposit: Deposit) -> bool:
    known = swap.authorization
    known_hash = None if known is None else known.transaction_hash
    return known_hash is not None and known_hash == deposit.transaction_hash


def _asset(asset: Asset) -> Fields:
    return {"network": asset.network, "token": asset.token, "decimals": asset.decimals}
