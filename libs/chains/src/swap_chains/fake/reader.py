"""The reading door of a chain in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from swap_chains.errors import (
    BlockUnknown,
    CallReverted,
    ChainError,
    ChainUnavailable,
    ReorgBeyondFinality,
)
from swap_chains.events import (
    Block,
    BlockAdded,
    BlocksFinalized,
    BlocksReverted,
    ChainEvent,
    TokenTransfer,
)
from swap_chains.evm.memos import with_proven_memos
from swap_chains.evm.movements import Log, LogScope, to_movements
from swap_chains.evm.reported_transfers import in_logs
from swap_chains.evm.wallet_calls import Transaction
from swap_chains.fake.chain import NODE, PRIORITY_FEE, FakeChain
from swap_chains.fake.execution import ExecutionResult, World, execute
from swap_chains.ports import (
    BlockReport,
    Call,
    CallSimulation,
    Fees,
    FoundTransaction,
    Holding,
    NodeReceipt,
    Receipt,
    ReportedTransfers,
)


class FakeReader:
    """A ChainReader of a FakeChain."""

    def __init__(
        self,
        chain: FakeChain,
        watched: AbstractSet[str] = frozenset(),
        *,
        provider: str = NODE,
    ) -> None:
        """
        :param provider: of the one node that is queried.
        """
        contracts = chain.contracts
        self._chain = chain
        self._provider = provider
        self._scope = LogScope.of(
            contracts.depository,
            contracts.treasury,
            list(contracts.decimals),
            watched,
            contracts.factory,
        )

    @property
    def network(self) -> str:
        return self._chain.network

    async def follow_batches(
        self, *, after: Block, recent: Sequence[Block] = ()
    ) -> AsyncGenerator[Sequence[ChainEvent], None]:
        tail = [*(b for b in recent if b.number < after.number), after]
        finalized = -1
        while True:
            events: list[ChainEvent] = []
            if self._chain.is_reachable:
                events += self._reverts(tail) + self._additions(tail)
                newest = self._chain.blocks[self._chain.finalized_number]
                if newest in tail and newest.number > finalized:
                    finalized = newest.number
                    tail = [block for block in tail if block.number >= finalized]
                    events.append(BlocksFinalized(newest))
            if events:
                yield events
            else:
                await self._chain.wait_for_change()

    def _reverts(self, tail: list[Block]) -> list[ChainEvent]:
        reverted = [block for block in tail if not self._chain.has(block)]
        if len(reverted) == len(tail):
            raise ReorgBeyondFinality(self.network, tail[0].number)
        del tail[len(tail) - len(reverted) :]
        return [BlocksReverted(tail[-1], tuple(reverted))] if reverted else []

    def _additions(self, tail: list[Block]) -> list[ChainEvent]:
        new = self._chain.blocks[tail[-1].number + 1 :]
        tail += new
        return [self._block_added(block) for block in new]

    def _block_added(self, block: Block, *, scope: LogScope | None = None) -> BlockAdded:
        scope = scope or self._scope
        mined = self._chain.mined_at(block)
        logs: list[Log] = []
        senders: dict[str, str] = {}
        sent: dict[str, Transaction] = {}
        for transaction_hash, (transaction, outcome) in mined.outcomes.items():
            senders[transaction_hash] = transaction.sender
            call = transaction.call
            sent[transaction_hash] = Transaction(transaction.sender, call.to, call.value, call.data)
            for log in outcome.logs:
                place = (block.number, block.hash, transaction_hash, len(logs))
                logs.append(Log(log.address, log.topics, log.data, *place))
        receivers = scope.receivers()
        wanted = [log for log in logs if scope.includes(log, receivers)]
        movements = to_movements(NODE, scope, wanted, senders)
        reported = replace(block, provider=self._provider)
        return BlockAdded(reported, with_proven_memos(movements, scope.treasury, sent))

    async def head(self, *, at_least: int = 0) -> Block:
        self._chain.check_reachable()
        return self._chain.blocks[-1]

    async def final_block(self) -> Block:
        self._chain.check_reachable()
        return self._chain.blocks[self._chain.finalized_number]

    async def block_at(self, number: int) -> Block:
        self._chain.check_reachable()
        if number >= len(self._chain.blocks):
            raise BlockUnknown(self.network, number)
        return self._chain.blocks[number]

    async def movements(
        self,
        *,
        first: int,
        last: Block,
        to: Collection[str] | None = None,
        excluded_providers: Collection[str] = (),
    ) -> Sequence[BlockAdded]:
        if self._provider in excluded_providers:
            raise ChainUnavailable(self.network)
        self._chain.mined_at(last)
        blocks = self._chain.blocks[first : last.number + 1]
        if to is None:
            everything = [self._block_added(block) for block in blocks]
            return [added for added in everything if added.movements]
        receivers = frozenset(address.lower() for address in to)
        wide = replace(self._scope, watched=receivers)
        found = []
        for block in blocks:
            movements = tuple(
                movement
                for movement in self._block_added(block, scope=wide).movements
                if isinstance(movement, TokenTransfer) and movement.to_address.lower() in receivers
            )
            if movements:
                found.append(BlockAdded(block, movements))
        return found

    async def block_of_each_provider(
        self, block: Block, *, transaction_hashes: Collection[str]
    ) -> Sequence[BlockReport]:
        try:
            found = await self.movements(first=block.number, last=block)
        except ChainError as error:
            return [BlockReport(self._provider, None, str(error))]
        movements = (movement for added in found for movement in added.movements)
        return [BlockReport(self._provider, tuple(movements))]

    async def reported_transfers(self, transaction_hash: str) -> ReportedTransfers | None:
        self._chain.check_reachable()
        found = self._chain.find(transaction_hash)
        if found is None:
            return None
        return ReportedTransfers(found[0].block, found[2].succeeded, in_logs(found[2].logs))

    async def nonce(self, account: str, *, at: Block) -> int:
        return self._chain.mined_at(at).world.nonces.get(account, 0)

    async def pending_nonce(self, account: str) -> int:
        self._chain.check_reachable()
        nonce = self._chain.world.nonces.get(account, 0)
        waiting = {t.nonce for t in self._chain.pool.values() if t.sender == account}
        while nonce in waiting:
            nonce += 1
        return nonce

    async def highest_nonce(self, account: str) -> int:
        return await self.pending_nonce(account)

    async def balances(self, holdings: Collection[Holding], *, at: Block) -> Mapping[Holding, int]:
        balances = self._chain.mined_at(at).world.balances
        return {holding: balances.get((holding.account, holding.token), 0) for holding in holdings}

    async def balances_of_each_provider(
        self, holdings: Collection[Holding], *, at: Block
    ) -> Mapping[str, Mapping[Holding, int]]:
        try:
            return {self._provider: await self.balances(holdings, at=at)}
        except ChainUnavailable:
            return {}

    async def call(self, call: Call, *, sender: str, at: Block) -> bytes:
        outcome = self._try(self._chain.mined_at(at).world, sender, call)
        if not outcome.succeeded:
            raise CallReverted(outcome.data, "execution reverted")
        return outcome.data

    async def estimate_gas(self, call: Call, *, sender: str) -> int:
        self._chain.check_reachable()
        outcome = self._try(self._chain.world, sender, call)
        if not outcome.succeeded:
            raise CallReverted(outcome.data, "execution reverted")
        return outcome.gas_used

    async def simulate(
        self, calls: Sequence[Call], *, sender: str, at: Block | None = None
    ) -> Sequence[CallSimulation]:
        self._chain.check_reachable()
        world = self._chain.world if at is None else self._chain.mined_at(at).world
        outcomes = [self._try(world, sender, call) for call in calls]
        return [
            CallSimulation(
                succeeded=outcome.succeeded,
                is_revert=not outcome.succeeded,
                data=outcome.data,
                text="" if outcome.succeeded else "execution reverted",
            )
            for outcome in outcomes
        ]

    async def with_code(self, accounts: Collection[str]) -> frozenset[str]:
        self._chain.check_reachable()
        return frozenset(accounts) & self._chain.contracts.addresses

    def _try(self, world: World, sender: str, call: Call) -> ExecutionResult:
        return execute(self._chain.contracts, world, sender, call)

    async def receipts(self, transaction_hashes: Collection[str]) -> Mapping[str, Receipt]:
        self._chain.check_reachable()
        found = {h: self._chain.find(h) for h in transaction_hashes}
        return {
            h: Receipt(
                block=place[0].block,
                succeeded=place[2].succeeded,
                gas_used=place[2].gas_used,
                fee_base_units=place[2].gas_used * self._chain.base_fee,
            )
            for h, place in found.items()
            if place is not None
        }

    async def receipts_of_each_node(
        self, transaction_hashes: Collection[str]
    ) -> Mapping[str, Sequence[NodeReceipt]]:
        receipts = await self.receipts(transaction_hashes)
        return {
            h: (NodeReceipt(NODE, has_answered=True, receipt=receipts.get(h)),)
            for h in transaction_hashes
        }

    async def transactions(
        self, transaction_hashes: Collection[str]
    ) -> Mapping[str, FoundTransaction]:
        self._chain.check_reachable()
        found = {h: self._find_transaction(h) for h in transaction_hashes}
        return {h: transaction for h, transaction in found.items() if transaction is not None}

    def _find_transaction(self, transaction_hash: str) -> FoundTransaction | None:
        place = self._chain.find(transaction_hash)
        transaction = place[1] if place else self._chain.pool.get(transaction_hash)
        if transaction is None:
            return None
        return FoundTransaction(
            transaction_hash=transaction_hash,
            from_address=transaction.sender,
            to_address=transaction.call.to,
            nonce=transaction.nonce,
            value=transaction.call.value,
            data=transaction.call.data,
            block_number=place[0].block.number if place else None,
            block_hash=place[0].block.hash if place else None,
        )

    async def transactions_between(self, *, first: int, last: Block) -> Sequence[FoundTransaction]:
        self._chain.mined_at(last)
        mined = [self._chain.mined_at(b) for b in self._chain.blocks[first : last.number + 1]]
        found = [self._find_transaction(h) for one in mined for h in one.outcomes]
        return [transaction for transaction in found if transaction is not None]

    async def fees(self) -> Fees:
        self._chain.check_reachable()
        return Fees(2 * self._chain.base_fee + PRIORITY_FEE, PRIORITY_FEE)
