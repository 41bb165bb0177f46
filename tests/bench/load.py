"""Swaps of external clients: a partner creates, a user pays, a receiver gets webhooks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, cycle
from typing import Any
from urllib.parse import urlencode

import orjson

from swap_chains.evm.codec import encode_approve, keccak
from tests.bench.clients import Client, Node
from tests.bench.receiver import ReceivedWebhooks
from tests.bench.wallets import Wallet

STATUSES = frozenset({"user_transfer_pending", "ls_transfer_pending", "completed"})
GAS_MAX = 300_000
BATCH_MAX = 200
FLUSH_SECONDS = 0.02
WEBHOOK_TIMEOUT_SECONDS = 45.0  # after this time without any webhook, the rest is lost
APPROVAL_MAX = 2**255
BLOCK_SECONDS = 1
QUICK_BLOCK_SECONDS = 0.25  # as in fast rollups
SIGNING_SECONDS = 2.0  # at a pace; at full load all users pay at once
BUSY = 503
BUSY_PAUSE_SECONDS = 0.2


class LoadFailed(RuntimeError):
    """The service gave an answer that a client cannot continue with."""


@dataclass(frozen=True, slots=True)
class Route:
    """One kind of swap."""

    source_network: str
    source_token: str
    destination_network: str
    destination_token: str
    amount: str

    @property
    def parameters(self) -> dict[str, str]:
        return {
            "source_network": self.source_network,
            "source_token": self.source_token,
            "destination_network": self.destination_network,
            "destination_token": self.destination_token,
            "amount": self.amount,
            "use_depository": "true",
        }


# Coins and tokens, with every chain as source and as destination.
ROUTES = (
    Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.01"),
    Route("BASE_DEVNET", "USDC", "POLYGON_DEVNET", "USDC", "25"),
    Route("BASE_DEVNET", "ETH", "ETHEREUM_DEVNET", "ETH", "0.01"),
    Route("POLYGON_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", "25"),
)


@dataclass(slots=True)
class SwapProgress:
    """The load's state of one swap."""

    created_at: float
    create_seconds: float
    done_at: float = 0.0  # the time of its last webhook


class Chain:
    """The node and the users of one network; deposits are sent in batches."""

    def __init__(self, node: Node, wallets: Sequence[Wallet]) -> None:
        self.node = node
        self.wallets = wallets
        self._next = cycle(wallets)
        self._waiting: list[bytes] = []

    def deposit(self, action: Mapping[str, Any]) -> None:
        """Sign the transaction of a deposit action and send it with the next batch."""
        signed = next(self._next).sign(
            action["to_address"],
            value=int(action["amount_in_base_units"]),
            data=bytes.fromhex(action["call_data"][2:]),
            gas=min(int(action["gas_limit"] or GAS_MAX), GAS_MAX),
        )
        self._waiting.append(signed)

    async def mine_every(self, seconds: float, *, after: float) -> None:
        """Make blocks until cancelled, as chains with several blocks a second do."""
        await self.node.call_one("evm_setIntervalMining", 0)
        try:
            await asyncio.sleep(after)
            while True:
                await self.node.call_one("evm_mine", {"timestamp": int(time.time())})
                await asyncio.sleep(seconds)
        finally:
            await asyncio.shield(self.node.call_one("evm_setIntervalMining", BLOCK_SECONDS))

    async def flush_forever(self) -> None:
        while True:
            while self._waiting:
                batch, self._waiting = self._waiting[:BATCH_MAX], self._waiting[BATCH_MAX:]
                await self.node.send(batch)
            await asyncio.sleep(FLUSH_SECONDS)


async def open_chain(network: Mapping[str, Any]) -> Chain:
    """Open the users' wallets on a network, and approve their tokens for its Depository."""
    node = Node(network["rpc_urls"][0])
    wallets = [
        Wallet.from_key(
            user["private_key"],
            user["address"],
            chain_id=int(network["chain_id"]),
            nonce=await node.number("eth_getTransactionCount", user["address"], "pending"),
        )
        for user in network["users"]
    ]
    approve = encode_approve(network["contracts"]["depository"], APPROVAL_MAX)
    tokens = [token["contract"] for token in network["tokens"] if token["contract"]]
    await node.send([w.sign(token, data=approve, gas=GAS_MAX) for w in wallets for token in tokens])
    return Chain(node, wallets)


@dataclass(slots=True)
class Load:
    """All clients of the system."""

    gateway: Client
    chains: Mapping[str, Chain]
    received: ReceivedWebhooks
    made: dict[str, SwapProgress] = field(default_factory=dict)
    done: int = 0
    busy: int = 0  # answers that asked for a retry
    last_webhook_at: float = 0.0
    quotes: list[float] = field(default_factory=list)
    _routes: Any = field(default_factory=lambda: cycle(ROUTES))
    _numbers: Any = field(default_factory=count)
    _slots: asyncio.Semaphore | None = None

    def record_webhook(self, swap_id: str) -> None:
        """Record a webhook; it may arrive before the answer to the request."""
        self.last_webhook_at = time.time()
        made = self.made.get(swap_id)
        if made is not None:
            self._finish(swap_id, made)

    async def create(self, *, pays_after: float = 0.0) -> str:
        """Create one swap and pay for it; return its id.

        :param pays_after: the seconds until its user has signed.
        """
        route: Route = next(self._routes)
        chain = self.chains[route.source_network]
        recipient = "0x" + keccak(b"%d" % next(self._numbers))[12:].hex()
        body = orjson.dumps(
            {
                **route.parameters,
                "amount": float(route.amount),
                "use_depository": True,
                "destination_address": recipient,
                "refund_address": chain.wallets[0].address,
            }
        )
        began = time.time()
        status, answer = await self.gateway.post("/api/v2/swaps", body)
        while status == BUSY:
            self.busy += 1
            await asyncio.sleep(BUSY_PAUSE_SECONDS)
            status, answer = await self.gateway.post("/api/v2/swaps", body)
        ended = time.time()
        if status != 200:
            raise LoadFailed(f"create: {status} {answer[:300]!r}")
        prepared = orjson.loads(answer)["data"]
        swap_id = str(prepared["swap"]["id"])
        self.made[swap_id] = made = SwapProgress(began, ended - began)
        if pays_after:
            await asyncio.sleep(pays_after)
        chain.deposit(prepared["deposit_actions"][0])
        self._finish(swap_id, made)
        return swap_id

    async def quote(self) -> None:
        """Request a quote and record its latency."""
        route: Route = next(self._routes)
        began = time.perf_counter()
        status, answer = await self.gateway.get(f"/api/v2/quote?{urlencode(route.parameters)}")
        if status == BUSY:
            self.busy += 1
            return
        if status != 200:
            raise LoadFailed(f"quote: {status} {answer[:300]!r}")
        self.quotes.append(time.perf_counter() - began)

    async def run_at_pace(self, *, swaps: int, rate: int, quotes_per_second: int = 20) -> list[str]:
        """Create swaps at an even pace, and request quotes meanwhile."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.TaskGroup() as group:
            quoting = group.create_task(self._quote_at_pace(quotes_per_second))
            creating = []
            for number in range(swaps):
                await asyncio.sleep(max(began + number / rate - loop.time(), 0))
                creating.append(group.create_task(self.create(pays_after=SIGNING_SECONDS)))
            await asyncio.wait(creating)
            quoting.cancel()
        return [task.result() for task in creating]

    async def run_full_load(self, *, until: float, under_way: int, creators: int) -> list[str]:
        """Keep this many swaps in progress until a time, then stop creating."""
        self._slots = asyncio.Semaphore(under_way)
        ids: list[str] = []

        async def create_until_end() -> None:
            assert self._slots is not None
            while time.time() < until:
                try:
                    async with asyncio.timeout(max(until - time.time(), 0.001)):
                        await self._slots.acquire()
                except TimeoutError:
                    return
                ids.append(await self.create())

        async with asyncio.TaskGroup() as group:
            for _ in range(creators):
                group.create_task(create_until_end())
        return ids

    async def wait_until_done(self) -> bool:
        """Wait until every swap is done; False if no webhook arrived for long."""
        self.last_webhook_at = time.time()
        while self.done < len(self.made):
            if time.time() - self.last_webhook_at > WEBHOOK_TIMEOUT_SECONDS:
                return False
            await asyncio.sleep(0.1)
        return True

    async def _quote_at_pace(self, rate: int) -> None:
        while True:
            await self.quote()
            await asyncio.sleep(1 / rate)

    def _finish(self, swap_id: str, made: SwapProgress) -> None:
        first_at = self.received.first_at[swap_id]
        if not made.done_at and first_at.keys() >= STATUSES:
            made.done_at = max(first_at.values())
            self.done += 1
            if self._slots is not None:
                self._slots.release()
