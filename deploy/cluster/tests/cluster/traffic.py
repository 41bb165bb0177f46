"""Swaps that run while pods start and stop, and the result of each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, LiteralString

import psycopg
from eth_account import Account

from swap_sdk import AsyncClient
from swap_stack.node import Node
from swap_stack.places import ROOT
from swapctl.commands.invariants import read_queries
from tests.support.waiting import until

STATUS: LiteralString = """
SELECT CAST(id AS text), status, extract(epoch FROM closed_at - created_at)
FROM settler.swap WHERE id = ANY(%s)
"""
DELIVERED: LiteralString = """
SELECT CAST(swap_id AS text) FROM notifier.webhook_message WHERE swap_id = ANY(%s)
AND state = 'delivered' AND convert_from(body, 'UTF8')::jsonb #>> '{swap,status}' = 'completed'
"""
QUERIES = ROOT / "deploy/postgres/invariants/queries.sql"
TIMEOUT_SECONDS = 180
POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class SentSwap:
    """A swap that was created and paid by its user."""

    id: str
    destination: str
    quoted: Decimal  # in whole coins


@dataclass(frozen=True, slots=True)
class ClosedSwap:
    """How a swap ended, and its duration by the database's clock."""

    sent: SentSwap
    status: str
    seconds: float
    received: Decimal


class Traffic:
    """One partner's users: one swap after the other, at a steady pace."""

    def __init__(self, stack: Mapping[str, Any], partner: AsyncClient) -> None:
        """
        :param partner: without retries, so that each failed request is seen.
        """
        self._networks = {network["name"]: network for network in stack["networks"]}
        self._auditor_url = stack["postgres"]["auditor_url"]
        self._partner = partner
        # The node chooses the nonce, and gives one nonce to two deposits that arrive at once.
        self._deposit_lock = asyncio.Lock()
        self._sending: list[asyncio.Task[SentSwap]] = []
        self._sent: list[SentSwap] = []
        self.failures: list[str] = []

    @property
    def sent_count(self) -> int:
        """Return the number of swaps that were created and paid by their users, or failed."""
        return sum(task.done() for task in self._sending)

    async def until_sent(self, more: int) -> None:
        """Return when this many more swaps are in progress."""
        enough = self.sent_count + more

        async def is_enough() -> bool:
            return self.sent_count >= enough

        await until(is_enough, what="swaps on their way", within=TIMEOUT_SECONDS)

    @asynccontextmanager
    async def every(self, seconds: float) -> AsyncIterator[None]:
        """Start a swap at this interval, while the body runs."""

        async def start_swaps() -> None:
            while True:
                self._sending.append(asyncio.create_task(self.send()))
                await asyncio.sleep(seconds)

        pace = asyncio.create_task(start_swaps())
        try:
            yield
        finally:
            pace.cancel()

    async def send(self) -> SentSwap:
        """Create one swap, and make its deposit."""
        source = self._networks["ETHEREUM_DEVNET"]
        user = source["users"][0]["address"]  # the chain has its key
        destination = str(Account.create().address)
        prepared = await self._partner.create_swap(
            source_network="ETHEREUM_DEVNET",
            source_token="ETH",
            destination_network="BASE_DEVNET",
            destination_token="ETH",
            destination_address=destination,
            amount="0.01",
            options={"refund_address": user, "use_depository": True},
        )
        [action] = prepared["deposit_actions"]
        transaction = {
            "from": user,
            "to": action["to_address"],
            "value": hex(int(action["amount_in_base_units"])),
            "data": action["call_data"],
        }
        async with self._deposit_lock:
            await Node(source["rpc_urls"][0]).call("eth_sendTransaction", transaction)
        quoted = Decimal(str(prepared["quote"]["receive_amount"]))
        return SentSwap(prepared["swap"]["id"], destination, quoted)

    def add(self, swaps: Iterable[SentSwap]) -> None:
        """Wait for these swaps too."""
        self._sent += swaps

    async def close(self) -> list[ClosedSwap]:
        """Wait until every sent swap has ended. A failed request is a failure."""
        results = await asyncio.gather(*self._sending, return_exceptions=True)
        self._sending.clear()
        self.failures += [repr(each) for each in results if isinstance(each, BaseException)]
        self.add(each for each in results if isinstance(each, SentSwap))
        sent = {each.id: each for each in self._sent}
        self._sent.clear()
        rows = await self._until_closed(list(sent))
        return [
            ClosedSwap(sent[swap_id], status, seconds, await self._received_amount(sent[swap_id]))
            for swap_id, (status, seconds) in rows.items()
        ]

    async def violations(self) -> dict[str, int]:
        """Count the rows that contradict each SQL invariant; empty when all hold."""
        found = {}
        async with await psycopg.AsyncConnection.connect(self._auditor_url) as connection:
            await connection.execute("SET search_path = invariant")
            for name, query in read_queries(QUERIES).items():
                rows = await (await connection.execute(query.encode())).fetchall()
                found[name] = len(rows)
        return {name: count for name, count in found.items() if count}

    async def without_webhook(self, swaps: Iterable[ClosedSwap]) -> set[str]:
        """Return the completed swaps without a last webhook at the receiver in time."""
        missing = {swap.sent.id for swap in swaps}
        deadline = asyncio.get_running_loop().time() + TIMEOUT_SECONDS
        async with await psycopg.AsyncConnection.connect(
            self._auditor_url, autocommit=True
        ) as connection:
            while missing and asyncio.get_running_loop().time() < deadline:
                found = await connection.execute(DELIVERED, [list(missing)])
                missing -= {swap_id for (swap_id,) in await found.fetchall()}
                await asyncio.sleep(POLL_SECONDS)
        return missing

    async def _until_closed(self, ids: list[str]) -> dict[str, tuple[str, float]]:
        deadline = asyncio.get_running_loop().time() + TIMEOUT_SECONDS
        async with await psycopg.AsyncConnection.connect(
            self._auditor_url, autocommit=True
        ) as connection:
            while True:
                found = await connection.execute(STATUS, [ids])
                rows = {
                    swap_id: (status, float(seconds) if seconds is not None else float("inf"))
                    for swap_id, status, seconds in await found.fetchall()
                }
                is_closed = len(rows) == len(ids) and all(
                    seconds != float("inf") for _, seconds in rows.values()
                )
                if is_closed or asyncio.get_running_loop().time() > deadline:
                    return rows
                await asyncio.sleep(POLL_SECONDS)

    async def _received_amount(self, swap: SentSwap) -> Decimal:
        node = Node(self._networks["BASE_DEVNET"]["rpc_urls"][0])
        return Decimal(await node.number("eth_getBalance", swap.destination, "latest")) / 10**18
