"""The asynchronous client. `make generate` makes `swap_sdk.blocking` from it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
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


class AsyncClient:
    """One API key against one deployment. Close it, or use it in an `async with`."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        key_header: str = KEY_HEADER,
        timeout: float = TIMEOUT_SECONDS,
        retries: Retries | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._retries = retries or Retries()
        self._cached = CachedAnswers()
        self._http = httpx.AsyncClient(
            base_url=base_url, headers={key_header: api_key}, timeout=timeout, transport=transport
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def networks(self, *types: str) -> list[NetworkWithTokens]:
        """Return every network of these types (all by default) with its tokens."""
        return await self._ask(calls.networks(types))

    async def quote(
        self,
        *,
        amount: Amount | None = None,
        options: PriceOptions | None = None,
        **route: Unpack[Route],
    ) -> Quoted:
        """Price a swap. The service stores nothing."""
        return await self._ask(calls.quote(route, amount, _parameters(options)))

    async def explained_quote(
        self,
        *,
        amount: Amount | None = None,
        options: PriceOptions | None = None,
        **route: Unpack[Route],
    ) -> ExplainedQuote:
        """Price a swap with an explanation: prices, their ages, every step, missing offers.

        It needs a secret key.
        """
        return await self._ask(calls.explained_quote(route, amount, _parameters(options)))

    async def limits(
        self,
        *,
        amount: Amount | None = None,
        options: PriceOptions | None = None,
        **route: Unpack[Route],
    ) -> Limits:
        """Return the smallest and the largest amount of a route."""
        return await self._ask(calls.limits(route, amount, _parameters(options)))

    async def create_swap(
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
        return await self._ask(
            calls.create_swap(
                route, destination_address, amount, idempotency_key, _parameters(options)
            )
        )

    async def swap(
        self,
        swap_id: str,
        *,
        exclude_deposit_actions: bool = False,
        source_address: str | None = None,
    ) -> PreparedSwap:
        return await self._ask(
            calls.swap(
                swap_id,
                exclude_deposit_actions=exclude_deposit_actions,
                source_address=source_address,
            )
        )

    async def swap_by_transaction_hash(self, transaction_hash: str) -> PreparedSwap:
        """Find a swap by its deposit, payout, refuel or refund."""
        return await self._ask(calls.swap_by_transaction_hash(transaction_hash))

    async def swaps(
        self,
        *addresses: str,
        statuses: Sequence[SwapStatus] = (),
        networks: Sequence[str] = (),
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        **options: Unpack[ListOptions],
    ) -> list[PreparedSwap]:
        """Return one page of the app's swaps, or of those with one of these addresses."""
        return await self._ask(
            calls.swaps(
                addresses=addresses,
                statuses=statuses,
                networks=networks,
                created_after=created_after,
                created_before=created_before,
                options=_parameters(options),
            )
        )

    async def deposit_actions(
        self, swap_id: str, *, source_address: str | None = None
    ) -> list[DepositActionItem]:
        """Return the steps that the user has to take."""
        return await self._ask(calls.deposit_actions(swap_id, source_address=source_address))

    async def set_refund_address(self, swap_id: str, refund_address: str) -> PreparedSwap:
        """Set the refund address of a swap that has none."""
        return await self._ask(calls.set_refund_address(swap_id, refund_address))

    async def detailed_quote(
        self,
        *,
        amount: Amount | None = None,
        options: PriceOptions | None = None,
        **route: Unpack[Route],
    ) -> list[DetailedQuote]:
        """Return the costs of a route, by ranges of amounts."""
        return await self._ask(calls.price("detailed_quote", route, amount, _parameters(options)))

    async def sources(self, **options: Unpack[SourceOptions]) -> list[ReachableNetwork]:
        """Return the networks and tokens that a swap can start from."""
        return await self._ask(calls.reachable("sources", _parameters(options)))

    async def destinations(self, **options: Unpack[DestinationOptions]) -> list[ReachableNetwork]:
        """Return the networks and tokens that a swap can end at."""
        return await self._ask(calls.reachable("destinations", _parameters(options)))

    async def next_action(self, swap_id: str, *, source_address: str | None = None) -> PreparedSwap:
        """Read a swap with its next action (experimental)."""
        return await self._ask(calls.next_action(swap_id, source_address=source_address))

    async def authorize(
        self, swap_id: str, *, signature: str, signer_address: str
    ) -> Authorization:
        """Submit the user's signature."""
        return await self._ask(calls.authorize(swap_id, signature, signer_address))

    async def authorization(self, swap_id: str) -> Authorization:
        """Return the state of the signed deposit."""
        return await self._ask(calls.authorization(swap_id))

    async def speed_up_deposit(self, swap_id: str, transaction_id: str) -> None:
        """Name the transaction of the deposit, so that it is looked up at once."""
        return await self._ask(calls.speed_up_deposit(swap_id, transaction_id))

    async def lone_transfers(self, swap_id: str, transaction_id: str) -> list[LoneTransfer]:
        """Return transfers without a swap, each with the text that its sender signs."""
        return await self._ask(calls.lone_transfers(swap_id, transaction_id))

    async def attach_transfer(
        self,
        swap_id: str,
        transaction_id: str,
        *,
        signature: str,
        transfer_id: str | None = None,
    ) -> LoneTransfer:
        """Attach a transfer without a swap to this one, by its sender's signature."""
        return await self._ask(
            calls.attach_transfer(swap_id, transaction_id, signature, transfer_id)
        )

    async def events(self, swap_id: str) -> list[SwapEvent]:
        """Return the events of a swap in order."""
        return await self._ask(calls.events(swap_id))

    async def follow(self, swap_id: str, *, after: int = 0) -> AsyncIterator[SwapEvent]:
        """Yield the events of a swap as they happen, until it is closed.

        :param after: the sequence number of the last event that is known already.
        :raises SwapError: when the service does not answer for longer than the retries allow.
        """
        reader, attempts = EventReader(after), 0
        while True:
            try:
                async with self._listen(swap_id, reader) as lines:
                    async for line in lines:
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
            await asyncio.sleep(pause)

    @asynccontextmanager
    async def _listen(self, swap_id: str, reader: EventReader) -> AsyncIterator[AsyncIterator[str]]:
        path = calls.events(swap_id).path
        async with self._http.stream(
            "GET", path, headers=reader.headers(), timeout=TIMEOUT
        ) as answer:
            if answer.status_code != httpx.codes.OK:
                await answer.aread()
                raise error_of(answer)
            yield answer.aiter_lines()

    async def pay_link(self, swap_id: str, *, may_set_refund_address: bool = False) -> PayLink:
        """Return the link to the page on which the payer of a swap sees and pays it.

        :param may_set_refund_address: whether its holder may set the refund address, while none is
            set; needs a secret key.
        """
        return await self._ask(
            calls.pay_link(swap_id, may_set_refund_address=may_set_refund_address)
        )

    async def ledger(self, swap_id: str) -> list[LedgerTransaction]:
        """Return the ledger transactions of a swap."""
        return await self._ask(calls.ledger(swap_id))

    async def transaction_status(self, network: str, transaction_id: str) -> TransactionStatus:
        return await self._ask(calls.transaction_status(network, transaction_id))

    async def status(self) -> Status:
        """Return the state of every network."""
        return await self._ask(calls.status())

    async def errors(self) -> list[ErrorFacts]:
        """Return all error codes."""
        return await self._ask(calls.errors())

    async def health(self) -> Mapping[str, str]:
        return await self._ask(calls.health())

    async def wait_until_closed(self, swap_id: str, *, within: float) -> PreparedSwap:
        """Read a swap until it is closed.

        :raises TimeoutError: when it is not closed `within` this many seconds.
        """
        until = time.monotonic() + within
        while (read := await self.swap(swap_id))["swap"]["status"] not in CLOSED:
            if time.monotonic() >= until:
                raise TimeoutError(f"swap {swap_id} is {read['swap']['status']}")
            await asyncio.sleep(POLL_SECONDS)
        return read

    async def _ask(self, call: Call[Answer]) -> Answer:
        attempts = 0
        while True:
            attempts += 1
            try:
                request = call.request()
                answer = await self._http.request(**self._cached.add_etag(request))
                return call.read(self._cached.resolve_unchanged(request, answer))
            except (httpx.TransportError, SwapError) as error:
                failure = as_failure(error)
            pause = self._retries.pause_after(attempts, failure, random.random)
            if pause is None:
                raise failure
            await asyncio.sleep(pause)


def _parameters(options: Mapping[str, Any] | None) -> Mapping[str, Value | None]:
    return cast(Mapping[str, Value | None], options or {})
