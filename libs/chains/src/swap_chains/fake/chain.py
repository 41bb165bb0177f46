"""A chain in memory: blocks, reorgs, a pool, nonces, finality.

Its pool replaces a transaction only for a tenth more of both fees, as public nodes do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import orjson

from swap_chains.errors import ChainUnavailable
from swap_chains.events import Block
from swap_chains.evm import codec
from swap_chains.fake.execution import Contracts, ExecutionResult, World, execute
from swap_chains.ports import Call, Fees, NodeAnswer, Reaction, SignedTransaction

_GENESIS: Final = datetime(2026, 1, 1, tzinfo=UTC)
_GWEI: Final = 10**9
PRIORITY_FEE: Final = _GWEI
NODE: Final = "0:fake"


@dataclass(frozen=True, slots=True)
class FakeTransaction:
    transaction_hash: str
    sender: str
    call: Call
    nonce: int
    fees: Fees


@dataclass(frozen=True, slots=True)
class MinedBlock:
    """One block with what is in it, and the state after it."""

    block: Block
    outcomes: Mapping[str, tuple[FakeTransaction, ExecutionResult]]
    world: World


class FakeChain:
    """The chain itself, and what a test does to it."""

    def __init__(
        self,
        network: str,
        *,
        depository: str,
        treasury: str,
        decimals: Mapping[str, int],
        wallets: Collection[str] = (),
        factory: str | None = None,
        paymaster: str | None = None,
        finality_depth: int = 2,
        block_time: timedelta = timedelta(seconds=1),
    ) -> None:
        self.network = network
        self.contracts = Contracts(
            depository, treasury, decimals, frozenset(wallets), factory, paymaster
        )
        self.base_fee = _GWEI
        self.is_reachable = True
        self._finality_depth = finality_depth
        self._block_time = block_time
        self.pool: dict[str, FakeTransaction] = {}
        self._salt = 0
        genesis = Block(0, "0x" + codec.keccak(network.encode()).hex(), "0x" + "0" * 64, _GENESIS)
        self._chain = [MinedBlock(genesis, {}, World())]
        self._changed = asyncio.Event()

    # What a test does

    @property
    def world(self) -> World:
        """The state at the head."""
        return self._chain[-1].world

    def give(self, account: str, token: str, base_units: int) -> None:
        """Make money out of nothing, as if it had always been there."""
        for world in self._worlds():
            held = world.balances.get((account, token), 0)
            world.balances[account, token] = held + base_units

    def authorize(self, operator: str) -> None:
        """Let an account pay from the Treasury."""
        for world in self._worlds():
            world.operators.add(operator)

    def own(self, owner: str) -> None:
        """Let an account take inventory out of the Treasury."""
        for world in self._worlds():
            world.owners.add(owner)

    def refuse(self, recipient: str, *, refuses: bool = True) -> None:
        """Let a recipient revert on everything it is sent, or no longer."""
        for world in self._worlds():
            (world.refusing.add if refuses else world.refusing.discard)(recipient)

    def invalidate_signatures(self, signer: str) -> None:
        """Let no token take this signer's signatures any more."""
        for world in self._worlds():
            world.invalid_signers.add(signer)

    def pause(self, *, is_paused: bool = True) -> None:
        """Pause the Treasury."""
        for world in self._worlds():
            world.is_paused = is_paused

    def limit(self, token: str, *, capacity: int, available: int) -> None:
        """Let the Treasury pay only so much of a token; nothing refills it but this."""
        for world in self._worlds():
            world.outflows[token] = capacity, available

    def make_unavailable(self) -> None:
        """Answer no request. Followers wait, all other callers get ChainUnavailable."""
        self.is_reachable = False

    def make_available(self) -> None:
        """Answer again."""
        self.is_reachable = True
        self._notify_followers()

    def mine(self, count: int = 1) -> None:
        """Add blocks; the pool goes into the first, each sender's nonces in order."""
        for _ in range(count):
            chosen = sorted(self.pool.values(), key=lambda t: (t.sender, t.nonce))
            self._add_block(chosen)
        self._notify_followers()

    def reorg(
        self, depth: int, transactions: Collection[tuple[SignedTransaction, int]] = ()
    ) -> None:
        """Replace the last `depth` blocks by as many others.

        What was in them is gone from chain and pool. `(transaction, n)` puts one into the n-th new
        block: one that was there before, or another in its place.
        """
        if depth >= len(self._chain):
            raise ValueError(f"there are no {depth} blocks")
        del self._chain[-depth:]
        self._salt += 1
        for place in range(depth):
            self._add_block([read_transaction(t) for t, nth in transactions if nth == place])
        self._notify_followers()

    def drop(self, transaction_hash: str) -> None:
        """Remove a pending transaction."""
        del self.pool[transaction_hash]

    # What the doors see

    @property
    def blocks(self) -> list[Block]:
        return [mined.block for mined in self._chain]

    @property
    def finalized_number(self) -> int:
        return max(len(self._chain) - 1 - self._finality_depth, 0)

    def has(self, block: Block) -> bool:
        return block.number < len(self._chain) and self._chain[block.number].block == block

    def mined_at(self, block: Block) -> MinedBlock:
        self.check_reachable()
        if not self.has(block):
            raise ChainUnavailable(self.network, [f"{NODE}: block {block.hash} is unknown"])
        return self._chain[block.number]

    def find(
        self, transaction_hash: str
    ) -> tuple[MinedBlock, FakeTransaction, ExecutionResult] | None:
        for mined in reversed(self._chain):
            if transaction_hash in mined.outcomes:
                return mined, *mined.outcomes[transaction_hash]
        return None

    def check_reachable(self) -> None:
        if not self.is_reachable:
            raise ChainUnavailable(self.network, [f"{NODE}: down"])

    async def wait_for_change(self) -> None:
        await self._changed.wait()

    def submit(self, transaction: FakeTransaction) -> NodeAnswer:
        """Take a transaction into the pool, or say why not."""
        h = transaction.transaction_hash
        if h in self.pool or self.find(h):
            return NodeAnswer(NODE, Reaction.KNOWN, "already known")
        if transaction.nonce < self.world.nonces.get(transaction.sender, 0):
            return NodeAnswer(NODE, Reaction.REJECTED, "nonce too low")
        same_nonce = [
            t
            for t in self.pool.values()
            if (t.sender, t.nonce) == (transaction.sender, transaction.nonce)
        ]
        if any(not _outbids(transaction.fees, pooled.fees) for pooled in same_nonce):
            text = "replacement transaction underpriced"
            return NodeAnswer(NODE, Reaction.REJECTED, text)
        for pooled in same_nonce:
            del self.pool[pooled.transaction_hash]
        self.pool[h] = transaction
        return NodeAnswer(NODE, Reaction.ACCEPTED, "")

    def _worlds(self) -> list[World]:
        return [mined.world for mined in self._chain]

    def _notify_followers(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _add_block(self, chosen: Sequence[FakeTransaction]) -> None:
        parent = self._chain[-1]
        world = parent.world.copy()
        outcomes: dict[str, tuple[FakeTransaction, ExecutionResult]] = {}
        for transaction in chosen:
            is_next = world.nonces.get(transaction.sender, 0) == transaction.nonce
            if not is_next or transaction.fees.max_fee_per_gas < self.base_fee:
                continue
            outcome = execute(self.contracts, world, transaction.sender, transaction.call)
            world = outcome.world
            world.nonces[transaction.sender] = transaction.nonce + 1
            outcomes[transaction.transaction_hash] = (transaction, outcome)
            self.pool.pop(transaction.transaction_hash, None)
        number = parent.block.number + 1
        content = f"{parent.block.hash}{number}{self._salt}{''.join(outcomes)}"
        block_hash = "0x" + codec.keccak(content.encode()).hex()
        time = parent.block.time + self._block_time
        block = Block(number, block_hash, parent.block.hash, time)
        self._chain.append(MinedBlock(block, outcomes, world))


def _outbids(fees: Fees, other: Fees) -> bool:
    return (
        fees.max_fee_per_gas * 10 >= other.max_fee_per_gas * 11
        and fees.max_priority_fee_per_gas * 10 >= other.max_priority_fee_per_gas * 11
    )


def read_transaction(transaction: SignedTransaction) -> FakeTransaction:
    """Read what FakeSender signed."""
    fields = orjson.loads(transaction.raw)
    return FakeTransaction(
        transaction_hash=transaction.transaction_hash,
        sender=fields["from"],
        call=Call(fields["to"], int(fields["value"]), bytes.fromhex(fields["data"]), fields["gas"]),
        nonce=fields["nonce"],
        fees=Fees(*map(int, fields["fees"])),
    )
