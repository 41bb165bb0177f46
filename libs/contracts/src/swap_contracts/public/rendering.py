"""The one renderer of swaps and quotes: api answers and webhook payloads are made here.

It returns plain mappings in the shape of `swap_contracts.public.models`;
a test holds them together.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from swap_contracts.public.absent_assets import absent_network, absent_token
from swap_contracts.public.catalogue import NetworkFacts, PublicCatalogue, TokenFacts
from swap_contracts.public.doubles import (
    amount_down,
    amount_up,
    dollars,
    fraction,
    parts_up,
    price,
    ratio,
)
from swap_contracts.quoting import AssetRef, Quote
from swap_contracts.swaps import SwapChanged, SwapTransaction

Fragment = dict[str, Any]
WAITING: Final = "user_transfer_pending"


def render_prepared_swap(
    swap: SwapChanged,
    catalogue: PublicCatalogue,
    *,
    heads: Mapping[str, int],
    prices: Prices | None = None,
) -> Fragment:
    """Return a PreparedSwapModel; the api adds what is to be done now.

    :param heads: the newest watched block of each network, for confirmations that are not final.
    :param prices: those of the swap's quote, where they are at hand.
    """
    prices = prices or Prices(swap.quote, catalogue)
    return {
        "quote": _quote(swap.quote, prices),
        "refuel": _refuel(swap.quote, prices),
        "reward": None,
        "swap": _swap(swap, prices, heads),
        "deposit_actions": [],
        "next_action": None,
    }


def render_quoted(
    quote: Quote, catalogue: PublicCatalogue, *, prices: Prices | None = None
) -> Fragment:
    """Return a QuotedModel."""
    prices = prices or Prices(quote, catalogue)
    return {"quote": _quote(quote, prices), "refuel": _refuel(quote, prices), "reward": None}


def render_webhook(swap: SwapChanged, catalogue: PublicCatalogue) -> Fragment:
    """Return the payload of a webhook: the swap as it was when the message was created."""
    prices = Prices(swap.quote, catalogue)
    rendered = _swap(swap, prices, heads={})
    metadata = {**rendered["metadata"], "sequence": swap.sequence}
    return {
        "swap": {**rendered, "metadata": metadata},
        "quote": _quote(swap.quote, prices),
        "deposit_actions": [],
    }


class Prices:
    """Networks and tokens of one quote, with the prices that it was computed with.

    A swap outlives the catalogue's entries: what has left it is shown by what the swap stores.
    """

    def __init__(self, quote: Quote, catalogue: PublicCatalogue) -> None:
        source, destination = quote.source, quote.destination
        self.catalogue = catalogue
        self._usd = {
            (source.network, self._native(source)): int(quote.source_native_usd_e18),
            (destination.network, self._native(destination)): int(quote.destination_native_usd_e18),
            (source.network, source.token): int(quote.source_usd_e18),
            (destination.network, destination.token): int(quote.destination_usd_e18),
        }
        self._networks: dict[str, Any] = {}
        self._tokens: dict[tuple[str, str], Any] = {}

    def usd_e18(self, asset: AssetRef) -> int:
        return self._usd[asset.network, asset.token]

    def network(self, name: str) -> Any:
        if name not in self._networks:
            facts = self._network_facts(name)
            native = self._with_price(facts.tokens[facts.native], (name, facts.native))
            self._networks[name] = self._to_answer({**facts.members, "token": native})
        return self._networks[name]

    def token(self, asset: AssetRef) -> Any:
        key = asset.network, asset.token
        if key not in self._tokens:
            self._tokens[key] = self._to_answer(self._with_price(self._token_facts(asset), key))
        return self._tokens[key]

    def native(self, asset: AssetRef) -> AssetRef:
        """Return the native token of the asset's network."""
        facts = self._network_facts(asset.network)
        decimals = facts.tokens[facts.native].decimals
        return AssetRef(network=asset.network, token=facts.native, decimals=decimals)

    def down(self, asset: AssetRef, base_units: str) -> float:
        precision = self._token_facts(asset).precision
        return amount_down(int(base_units), decimals=asset.decimals, precision=precision)

    def up(self, asset: AssetRef, base_units: str) -> float:
        precision = self._token_facts(asset).precision
        return amount_up(int(base_units), decimals=asset.decimals, precision=precision)

    def fees(self, quote: Quote) -> tuple[float, float, float]:
        """Return the total fee and its two parts, the blockchain's and the service's."""
        return parts_up(
            int(quote.total_fee_base_units),
            int(quote.blockchain_fee_base_units),
            decimals=quote.source.decimals,
            precision=self._token_facts(quote.source).precision,
        )

    def _to_answer(self, members: Fragment) -> Any:
        """Return what stands for a network or a token in an answer."""
        return members

    def _with_price(self, facts: TokenFacts, key: tuple[str, str]) -> Fragment:
        return {**facts.members, "price_in_usd": price(self._usd[key])}

    def _native(self, asset: AssetRef) -> str:
        return self._network_facts(asset.network).native

    def _network_facts(self, name: str) -> NetworkFacts:
        known = self.catalogue.networks.get(name)
        return absent_network(name) if known is None else known

    def _token_facts(self, asset: AssetRef) -> TokenFacts:
        known = self.catalogue.find_token(asset.network, asset.token)
        return absent_token(asset.token, asset.decimals) if known is None else known


def _quote(quote: Quote, prices: Prices) -> Fragment:
    source, destination = quote.source, quote.destination
    refuel = quote.refuel_in_source_base_units
    usd_e18 = int(quote.source_usd_e18)
    fee = int(quote.total_fee_base_units)
    total_fee, blockchain_fee, service_fee = prices.fees(quote)
    return {
        "total_fee": total_fee,
        "total_fee_in_usd": dollars(fee, decimals=source.decimals, usd_e18=usd_e18),
        "source_network": prices.network(source.network),
        "source_token": prices.token(source),
        "destination_network": prices.network(destination.network),
        "destination_token": prices.token(destination),
        "requested_amount": prices.down(source, quote.requested_base_units),
        "receive_amount": prices.down(destination, quote.receive_base_units),
        "fee_discount": prices.down(source, quote.fee_discount_base_units),
        "min_receive_amount": prices.down(destination, quote.min_receive_base_units),
        "blockchain_fee": blockchain_fee,
        "service_fee": service_fee,
        "avg_completion_time": clock_form(timedelta(milliseconds=quote.completion_milliseconds)),
        "refuel_in_source": None if refuel is None else prices.up(source, refuel),
        "slippage": fraction(quote.slippage_ppm),
        "rate": ratio(usd_e18, int(quote.destination_usd_e18)),
        "path": [{"provider": step.provider, "order": step.order} for step in quote.path],
    }


def _refuel(quote: Quote, prices: Prices) -> Fragment | None:
    if quote.refuel_base_units is None:
        return None
    native = prices.native(quote.destination)
    base_units = int(quote.refuel_base_units)
    usd_e18 = prices.usd_e18(native)
    return {
        "token": prices.token(native),
        "network": prices.network(native.network),
        "amount": prices.down(native, quote.refuel_base_units),
        "amount_in_usd": dollars(base_units, decimals=native.decimals, usd_e18=usd_e18),
    }


def _swap(swap: SwapChanged, prices: Prices, heads: Mapping[str, int]) -> Fragment:
    source, destination = swap.source, swap.destination
    is_waiting = swap.status == WAITING and swap.quote_locked_at is None
    return {
        "id": str(swap.swap_id),
        "created_date": swap.created_at.isoformat(),
        "close_date": _moment(swap.closed_at),
        "source_network": prices.network(source.network),
        "source_token": prices.token(source),
        "source_exchange": None,
        "destination_network": prices.network(destination.network),
        "destination_token": prices.token(destination),
        "destination_exchange": None,
        "requested_amount": prices.down(source, _requested_base_units(swap)),
        "destination_address": swap.destination_address,
        "source_address": swap.source_address,
        "status": swap.status,
        "fail_reason": swap.fail_reason,
        "use_deposit_address": swap.method == "deposit_address",
        "metadata": {
            "sequence_number": swap.sequence_number,
            "reference_id": swap.reference_id,
            "exchange_account": None,
        },
        "transactions": [_transaction(item, prices, heads) for item in swap.transactions],
        "quote_revision": swap.quote_revision,
        "quote_expires_at": _moment(swap.quote_expires_at),
        "last_requoted_at": _moment(swap.last_requoted_at),
        "quote_locked_at": _moment(swap.quote_locked_at),
        "quote_refreshable": is_waiting,
    }


def _requested_base_units(swap: SwapChanged) -> str:
    """Return what was asked for; of a swap that takes any amount, what has come."""
    if int(swap.quote.requested_base_units):
        return swap.quote.requested_base_units
    return str(sum(int(item.base_units) for item in swap.transactions if item.type == "input"))


def _transaction(item: SwapTransaction, prices: Prices, heads: Mapping[str, int]) -> Fragment:
    fee_token = prices.native(item.asset)
    amount, usd, fee = int(item.base_units), item.usd_e18, item.fee_base_units
    return {
        "from": item.from_address,
        "to": item.to_address,
        "timestamp": item.at.isoformat(),
        "transaction_hash": item.transaction_hash,
        "confirmations": confirmations(item, heads.get(item.asset.network)),
        "max_confirmations": item.confirmations_required,
        "amount": prices.down(item.asset, item.base_units),
        "amount_in_usd": (
            None if usd is None else dollars(amount, decimals=item.asset.decimals, usd_e18=int(usd))
        ),
        "type": item.type,
        "status": item.status,
        "token": prices.token(item.asset),
        "network": prices.network(item.asset.network),
        "fee_amount": None if fee is None else prices.up(fee_token, fee),
        "fee_token": prices.token(fee_token),
    }


def confirmations(item: SwapTransaction, head: int | None) -> int:
    """Return how deep the transaction is: nothing before it is mined, all of it once final."""
    if item.status == "completed":
        return item.confirmations_required
    if item.block_number is None or head is None:
        return 0
    return min(max(head - item.block_number + 1, 0), item.confirmations_required)


@lru_cache(maxsize=1024)
def clock_form(duration: timedelta) -> str:
    """Return `HH:MM:SS` with milliseconds where there are any; clients split it at the colons."""
    milliseconds = duration // timedelta(milliseconds=1)
    seconds, rest = divmod(milliseconds, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    whole = f"{hour:02}:{minute:02}:{second:02}"
    return f"{whole}.{rest:03}" if rest else whole


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()
