"""The synchronous client. Generated from `swap_sdk.awaited` by `make generate`."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, cast

import httpx

from swap_sdk import calls
from swap_sdk.calls import (
    CLOSED,
    KEY_HEADER,
    POLL_SECONDS,
    TIMEOUT_SECONDS,
    Amount,
    Call,
    DestinationOptions,
    ListOptions,
    PriceOptions,
    Route,
    SourceOptions,
    SwapOptions,
    Value,
)
from swap_sdk.conditional import CachedAnswers
from swap_sdk.errors import SwapError, as_failure, error_of
from swap_sdk.models import (
    Authorization,
    DepositActionItem,
    DetailedQuote,
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
from swap_sdk.retries import Retries
from swap_sdk.stream import COME_AGAIN_SECONDS, TIMEOUT, EventReader

Answer = TypeVar("Answer")


class Client:
    """One API key against one deployment. Close it, or use it in a `with`."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        key_header: str = KEY_HEADER,
        timeout: float = TIMEOUT_SECONDS,
        retries: Retries | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._retries = retries or Retries()
        self._cached = CachedAnswers()
        self._http = httpx.Client(
            base_url=base_url, headers={key_header: api_key}, timeout=timeout, transport=transport
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def networks(self, *types: str) -> list[NetworkWithTokens]:
        """Return every network of these types (all by default) with its tokens."""
        return self._ask(calls.networks(types))

    def quote(
        self,
        *,
        amount: Amount | None = None,
        options: PriceOptions | None = None,
        **route: Unpack[Route],
    ) -> Quoted:
        """Price a swap. The service stores nothing."""
        return self._ask(calls.quote(route, amount, _parameters(options)))

    def explained_quote(
        self,
        *,
        amount: Amount | None = None,
        options: PriceOptions | None = None,
        **route: Unpack[Route],
    ) -> ExplainedQuote:
        """Price a swap with an explanation: prices, their ages, every step, missing offers.

        It needs a secret key.
        """
        return self._ask(calls.explained_quote(route, amount, _parameters(options)))

    def limits(
        self,
        *,
        amount: Amount | None = None,
        options: PriceOptions | None = None,
        **route: Unpack[Route],
    ) -> Limits:
        """Return the smallest and the largest amount of a route."""
        return self._ask(calls.limits(route, amount, _parameters(options)))

    def create_swap(
        self,
        *,
        destination_address: str,
        amount: Amount | None = None,
        options: SwapOptions | None = None,
        idempotency_key: str | None = None,
        **route: Unpack[Route],
    ) -> PreparedSwap:
        """Create a swap once. All attempts of a call share an idempotency key.

        :param idempotency_key: with the same key a later call returns the same swap, for 24 hours.
        """
        return self._ask(
            calls.create_swap(
                route, destination_address, amount, idempotency_key, _parameters(options)
            )
        )

    def swap(
        self,
        swap_id: str,
        *,
        exclude_deposit_actions: bool = False,
        source_address: str | None = None,
    ) -> PreparedSwap:
        return self._ask(
            calls.swap(
                swap_id,
                exclude_deposit_actions=exclude_deposit_actions,
                source_address=source_address,
            )
        )

    def swap_by_transaction_hash(self, transaction_hash: str) -> PreparedSwap:
        """Find a swap by its deposit, payout, refuel or refund."""
        return self._ask(calls.swap_by_transaction_hash(transaction_hash))

    def swaps(
        self,
        *addresses: str,
        statuses: Sequence[SwapStatus] = (),
        networks: Sequence[str] = (),
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        **options: Unpack[ListOptions],
    ) -> list[PreparedSwap]:
        """Return one page of the app's swaps, or of those with one of these addresses."""
        return self._ask(
            calls.swaps(
                addresses=addresses,
                statuses=statuses,
                networks=networks,
                created_after=created_after,
                created_before=created_before,
                options=_parameters(options),
            )
        )

    def deposit_actions(
        self, swap_id: str, *, source_address: str | None = None
    ) -> list[DepositActionItem]:
        """Return the steps that the user has to take."""
        return self._ask(calls.deposit_actions(swap_id, source_address=source_address))

    def set_refund_address(self, swap_id: str, refund_address: str) -> PreparedSwap:
        """Set the refund address of a swap that has none."""
        return self._ask(calls.set_refund_address(swap_id, refund_address))

    def detailed_quote(
        self,
        *,
        amount: Amount | None = None,
        options: PriceOptions | None = None,
        **route: Unpack[Route],
    ) -> list[DetailedQuote]:
        """Return the costs of a route, by ranges of amounts."""
        return self._ask(calls.price("detailed_quote", route, amount, _parameters(options)))

    def sources(self, **options: Unpack[SourceOptions]) -> list[ReachableNetwork]:
        """Return the networks and tokens that a swap can start from."""
        return self._ask(calls.reachable("sources", _parameters(options)))

    def destinations(self, **options: Unpack[DestinationOptions]) -> list[ReachableNetwork]:
        """Return the networks and tokens that a swap can end at."""
        return self._ask(calls.reachable("destinations", _parameters(options)))

    def next_action(self, swap_id: str, *, source_address: str | None = None) -> PreparedSwap:
        """Read a swap with its next action (experimental)."""
        return self._ask(calls.next_action(swap_id, source_address=source_address))

    def authorize(self, swap_id: str, *, signature: str, signer_address: str) -> Authorization:
        """Submit the user's signature."""
        return self._ask(calls.authorize(swap_id, signature, signer_address))

    def authorization(self, swap_id: str) -> Authorization:
        """Return the state of the signed deposit."""
        return self._ask(calls.authorization(swap_id))

    def speed_up_deposit(self, swap_id: str, transaction_id: str) -> None:
        """Name the transaction of the deposit, so that it is looked up at once."""
        return self._ask(calls.speed_up_deposit(swap_id, transaction_id))

    def lone_transfers(self, swap_id: str, transaction_id: str) -> list[LoneTransfer]:
        """Return transfers without a swap, each with the text that its sender signs."""
        return self._ask(calls.lone_transfers(swap_id, transaction_id))

    def attach_transfer(
        self,
        swap_id: str,
        transaction_id: str,
        *,
        signature: str,
        transfer_id: str | None = None,
    ) -> LoneTransfer:
        """Attach a transfer without a swap to this one, by its sender's signature."""
        return self._ask(calls.attach_transfer(swap_id, transaction_id, signature, transfer_id))

    def events(self, swap_id: str) -> list[SwapEvent]:
        """Return the events of a swap in order."""
        return self._ask(calls.events(swap_id))

    def follow(self, swap_id: str, *, after: int = 0) -> Iterator[SwapEvent]:
        """Yield the events of a swap as they happen, until it is closed.

        :param after: the sequence number of the last event that is known already.
        :raises SwapError: when the service does not answer for longer than the retries allow.
        """
        reader, attempts = EventReader(after), 0
        while True:
            try:
                with self._listen(swap_id, reader) as lines:
                    for line in lines:
                        attempts = 0
                        event = reader.read(line)
                        if event is None:
                            continue
                        yield event
                        if event["to_status"] in CLOSED:
                            return
                pause = COME_AGAIN_SECONDS
            except (httpx.TransportError, SwapError) as error:
                attempts += 1
                failure = as_failure(error)
                wait = self._retries.pause_after(attempts, failure, random.random)
                if wait is None:
                    raise failure from error
                pause = wait
            time.sleep(pause)

    @contextmanager
    def _listen(self, swap_id: str, reader: EventReader) -> Iterator[Iterator[str]]:
        path = calls.events(swap_id).path
        with self._http.stream("GET", path, headers=reader.headers(), timeout=TIMEOUT) as answer:
            if answer.status_code != httpx.codes.OK:
                answer.read()
                raise error_of(answer)
            yield answer.iter_lines()

    def pay_link(self, swap_id: str, *, may_set_refund_address: bool = False) -> PayLink:
        """Return the link to the page on which the payer of a swap sees and pays it.

        :param may_set_refund_address: whether its holder may set the refund address, while none is
            set; needs a secret key.
        """
        return self._ask(calls.pay_link(swap_id, may_set_refund_address=may_set_refund_address))

    def ledger(self, swap_id: str) -> list[LedgerTransaction]:
        """Return the ledger transactions of a swap."""
        return self._ask(calls.ledger(swap_id))

    def transaction_status(self, network: str, transaction_id: str) -> TransactionStatus:
        return self._ask(calls.transaction_status(network, transaction_id))

    def status(self) -> Status:
        """Return the state of every network."""
        return self._ask(calls.status())

    def errors(self) -> list[ErrorFacts]:
        """Return all error codes."""
        return self._ask(calls.errors())

    def health(self) -> Mapping[str, str]:
        return self._ask(calls.health())

    def wait_until_closed(self, swap_id: str, *, within: float) -> PreparedSwap:
        """Read a swap until it is closed.

        :raises TimeoutError: when it is not closed `within` this many seconds.
        """
        until = time.monotonic() + within
        while (read := self.swap(swap_id))["swap"]["status"] not in CLOSED:
            if time.monotonic() >= until:
                raise TimeoutError(f"swap {swap_id} is {read['swap']['status']}")
            time.sleep(POLL_SECONDS)
        return read

    def _ask(self, call: Call[Answer]) -> Answer:
        attempts = 0
        while True:
            attempts += 1
            try:
                request = call.request()
                answer = self._http.request(**self._cached.add_etag(request))
                return call.read(self._cached.resolve_unchanged(request, answer))
            except (httpx.TransportError, SwapError) as error:
                failure = as_failure(error)
            pause = self._retries.pause_after(attempts, failure, random.random)
            if pause is None:
                raise failure
            time.sleep(pause)


def _parameters(options: Mapping[str, Any] | None) -> Mapping[str, Value | None]:
    return cast(Mapping[str, Value | None], options or {})
