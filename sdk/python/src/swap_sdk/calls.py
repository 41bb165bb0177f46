"""The calls of the service as data, for both clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from secrets import token_hex
from typing import Any, Final, Generic, TypedDict, TypeVar, cast
from urllib.parse import quote as quoted

import httpx

from swap_sdk.errors import error_of
from swap_sdk.models import (
    Authorization,
    DepositActionItem,
    ErrorFacts,
    ExplainedQuote,
    LedgerTransaction,
    Limits,
    LoneTransfer,
    NetworkWithTokens,
    PayLink,
    PreparedSwap,
    Quoted,
    ReachableNetwork,
    Status,
    SwapEvent,
    SwapStatus,
    TransactionStatus,
)

API: Final = "/api/v2"
KEY_HEADER: Final = "X-SVC-APIKEY"
TIMEOUT_SECONDS: Final = 10.0
POLL_SECONDS: Final = 1.0
CLOSED: Final = frozenset({"completed", "failed", "expired", "refunded"})
# Exact: never a float. The service cuts off digits beyond the token's precision.
Amount = Decimal | str | int
Answer = TypeVar("Answer")
Value = str | bool | int


class Route(TypedDict):
    """The source token and network, and the destination's."""

    source_network: str
    source_token: str
    destination_network: str
    destination_token: str


class FundingOptions(TypedDict, total=False):
    """Options that decide the price of a swap."""

    source_address: str
    slippage: str
    receive_amount: str  # in place of the amount
    refuel: bool
    use_depository: bool
    use_deposit_address: bool
    use_gasless: bool


class PriceOptions(FundingOptions, total=False):
    destination_address: str


class SwapOptions(FundingOptions, total=False):
    refund_address: str
    reference_id: str
    use_new_deposit_address: bool


class ReachOptions(TypedDict, total=False):
    network_types: str  # comma-joined
    include_unavailable: bool
    include_unmatched: bool
    include_swaps: bool
    has_deposit_address: bool
    include_swaps_via_deposit_address: bool


class SourceOptions(ReachOptions, total=False):
    destination_network: str
    destination_token: str


class DestinationOptions(ReachOptions, total=False):
    source_network: str
    source_token: str


class ListOptions(TypedDict, total=False):
    include_expired: bool
    reference_id: str
    page: int
    page_size: int


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    method: str
    path: str
    query: Sequence[tuple[str, Value | None]] = ()
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def request(self) -> dict[str, Any]:
        """Return the arguments for httpx."""
        return {
            "method": self.method,
            "url": self.path,
            "params": httpx.QueryParams([*self.query]),
            "json": self.body,
            "headers": dict(self.headers),
        }

    def read(self, answer: httpx.Response) -> Answer:
        """
        :raises SwapError: when the answer is no success, or not the service's.
        """
        if answer.status_code != httpx.codes.OK:
            raise error_of(answer)
        try:
            return cast(Answer, answer.json().get("data"))  # an answer without content has none
        except (ValueError, AttributeError):
            raise error_of(answer) from None


def _amount_text(amount: Amount) -> str:
    """
    :raises TypeError: for a float, which is not exact.
    """
    if isinstance(amount, float):
        raise TypeError("an amount is text, a Decimal or an int: a float is not exact")
    return str(amount)


def price(
    path: str, route: Route, amount: Amount | None, options: Mapping[str, Value | None]
) -> Call[Any]:
    parameters: dict[str, Value | None] = {**_ends(route), **options}
    if amount is not None:
        parameters["amount"] = _amount_text(amount)
    return Call("GET", f"{API}/{path}", _query(parameters))


def quote(route: Route, amount: Amount | None, options: Mapping[str, Value | None]) -> Call[Quoted]:
    return price("quote", route, amount, options)


def explained_quote(
    route: Route, amount: Amount | None, options: Mapping[str, Value | None]
) -> Call[ExplainedQuote]:
    return price("quote", route, amount, {**options, "explain": True})


def limits(
    route: Route, amount: Amount | None, options: Mapping[str, Value | None]
) -> Call[Limits]:
    return price("limits", route, amount, options)


def networks(types: Sequence[str]) -> Call[list[NetworkWithTokens]]:
    return Call("GET", f"{API}/networks", [("network_types", one) for one in types])


def create_swap(
    route: Route,
    destination_address: str,
    amount: Amount | None,
    idempotency_key: str | None,
    options: Mapping[str, Value | None],
) -> Call[PreparedSwap]:
    body = {
        **_ends(route),
        "destination_address": destination_address,
        "amount": None if amount is None else _amount_text(amount),
        **options,
    }
    return Call(
        "POST",
        f"{API}/swaps",
        body={name: value for name, value in body.items() if value is not None},
        headers=_once(idempotency_key),
    )


def swap(
    swap_id: str, *, exclude_deposit_actions: bool, source_address: str | None
) -> Call[PreparedSwap]:
    query = {
        "exclude_deposit_actions": exclude_deposit_actions or None,
        "source_address": source_address,
    }
    return Call("GET", f"{API}/swaps/{quoted(swap_id, safe='')}", _query(query))


def swap_by_transaction_hash(transaction_hash: str) -> Call[PreparedSwap]:
    return Call("GET", f"{API}/swaps/by_transaction_hash/{quoted(transaction_hash, safe='')}")


def swaps(
    *,
    addresses: Sequence[str],
    statuses: Sequence[SwapStatus],
    networks: Sequence[str],
    created_after: datetime | None,
    created_before: datetime | None,
    options: Mapping[str, Value | None],
) -> Call[list[PreparedSwap]]:
    query = [
        *(("address", one) for one in addresses),
        *(("statuses", one) for one in statuses),
        *(("networks", one) for one in networks),
    ]
    moments = {"created_after": created_after, "created_before": created_before}
    parameters = {name: at.isoformat() for name, at in moments.items() if at is not None}
    return Call("GET", f"{API}/swaps", [*query, *_query({**parameters, **options})])


def deposit_actions(swap_id: str, *, source_address: str | None) -> Call[list[DepositActionItem]]:
    path = _of(swap_id, "deposit_actions")
    return Call("GET", path, _query({"source_address": source_address}))


def reachable(side: str, options: Mapping[str, Value | None]) -> Call[list[ReachableNetwork]]:
    return Call("GET", f"{API}/{side}", _query(options))


def next_action(swap_id: str, *, source_address: str | None) -> Call[PreparedSwap]:
    path = f"{API}/experimental/swaps/{quoted(swap_id, safe='')}"
    return Call("GET", path, _query({"source_address": source_address}))


def authorize(swap_id: str, signature: str, signer_address: str) -> Call[Authorization]:
    body = {"signature": signature, "signer_address": signer_address}
    return _post(swap_id, "authorize", body)


def authorization(swap_id: str) -> Call[Authorization]:
    return Call("GET", _of(swap_id, "authorize"))


def speed_up_deposit(swap_id: str, transaction_id: str) -> Call[None]:
    return _post(swap_id, "deposit_speedup", {"transaction_id": transaction_id})


def lone_transfers(swap_id: str, transaction_id: str) -> Call[list[LoneTransfer]]:
    query = {"transaction_id": transaction_id}
    return Call("GET", _of(swap_id, "attach_deposit"), _query(query))


def attach_transfer(
    swap_id: str, transaction_id: str, signature: str, transfer_id: str | None
) -> Call[LoneTransfer]:
    body = {"transaction_id": transaction_id, "signature": signature}
    named = {} if transfer_id is None else {"transfer_id": transfer_id}
    return _post(swap_id, "attach_deposit", {**body, **named})


def events(swap_id: str) -> Call[list[SwapEvent]]:
    return Call("GET", _of(swap_id, "events"))


def pay_link(swap_id: str, *, may_set_refund_address: bool) -> Call[PayLink]:
    query = {"may_set_refund_address": may_set_refund_address or None}
    return Call("GET", _of(swap_id, "pay_link"), _query(query))


def ledger(swap_id: str) -> Call[list[LedgerTransaction]]:
    return Call("GET", _of(swap_id, "ledger"))


def transaction_status(network: str, transaction_id: str) -> Call[TransactionStatus]:
    query = {"network": network, "transaction_id": transaction_id}
    return Call("GET", f"{API}/transaction_status", _query(query))


def status() -> Call[Status]:
    return Call("GET", f"{API}/status")


def errors() -> Call[list[ErrorFacts]]:
    return Call("GET", f"{API}/errors")


def set_refund_address(swap_id: str, refund_address: str) -> Call[PreparedSwap]:
    return _post(swap_id, "refund_address", {"refund_address": refund_address})


def health() -> Call[Mapping[str, str]]:
    return Call("GET", f"{API}/health")


def _post(swap_id: str, what: str, body: Mapping[str, Any]) -> Call[Any]:
    return Call("POST", _of(swap_id, what), body=body, headers=_once())


def _once(key: str | None = None) -> Mapping[str, str]:
    """One idempotency key for all attempts of a call."""
    return {"Idempotency-Key": key or token_hex(16)}


def _of(swap_id: str, what: str) -> str:
    return f"{API}/swaps/{quoted(swap_id, safe='')}/{what}"


def _ends(route: Route) -> dict[str, str]:
    """
    :raises TypeError: for anything else, because an option here would be ignored without an error.
    """
    if others := sorted(set(route) - Route.__required_keys__):
        raise TypeError(f"{', '.join(others)}: give it in `options`")
    return {
        "source_network": route["source_network"],
        "source_token": route["source_token"],
        "destination_network": route["destination_network"],
        "destination_token": route["destination_token"],
    }


def _query(values: Mapping[str, Value | None]) -> list[tuple[str, Value | None]]:
    return [(name, value) for name, value in values.items() if value is not None]
