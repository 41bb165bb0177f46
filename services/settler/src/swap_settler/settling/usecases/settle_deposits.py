"""Applies `deposit.changed.v1` to swaps: lock and load, decide each message, write all at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from swap_contracts.deposits import DepositChanged
from swap_contracts.envelope import Envelope
from swap_runtime.clock import Clock
from swap_settler.model import observe_changes
from swap_settler.model.batch_state import BatchState, assets_of
from swap_settler.model.chain_facts import DepositFact, FactState
from swap_settler.model.ledger.inventory import AssetKey
from swap_settler.model.messages.message_mapping import (
    NO_DEPOSITS,
    SWEPT,
    WITHDRAWN,
    MessageMapper,
    paid_id_of,
)
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.ports import OpenedDeposits, UnitOfWork
from swap_settler.model.swap import SWEPT_WITHOUT_SWAP, Deposit, Swap
from swap_settler.settling.decide.deposits import (
    decide,
    decide_unmatched,
    require_released,
)
from swap_settler.settling.ports import DepositWork
from swap_settler.sweeping.decide.sweeps import address_key

Message = Envelope[DepositChanged]


@dataclass(frozen=True, slots=True)
class DecodedMessage:
    """A message about a deposit with its fact."""

    fact: DepositFact
    trace_id: str

    @property
    def deposit(self) -> Deposit:
        return self.fact.deposit

    @property
    def key(self) -> str:
        """Return the key to lock."""
        return key_of(self.deposit)


def key_of(deposit: Deposit) -> str:
    """Return the key that is locked to decide about a deposit: its match key, or a separate one."""
    if deposit.quarantine_reason == SWEPT_WITHOUT_SWAP:
        return address_key((deposit.network, deposit.to_address))
    return deposit.match_key or f"deposit/{deposit.id}"


class SettleDeposits:
    """Apply facts about deposits to their swaps, one transaction per batch."""

    def __init__(
        self,
        unit_of_work: UnitOfWork[DepositWork],
        *,
        clock: Clock,
        mapper: MessageMapper,
        swap_messages: SwapMessages,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._clock = clock
        self._mapper = mapper
        self._swap_messages = swap_messages

    async def __call__(self, messages: Sequence[Message]) -> None:
        now = self._clock()
        async with self._unit_of_work() as work:
            decoded = await self._decode(work, messages, now)
            opened = await work.open_deposits(
                [message.message_id for message in messages],
                keys={one.key for one in decoded.values()},
                deposit_ids={one.deposit.id for one in decoded.values()},
                assets=self._own_assets(_moving(decoded.values())),
            )
            new_messages = self._new_messages(messages, opened.fresh)
            await self._save_others(work, new_messages)
            new_facts = [decoded[m.message_id] for m in new_messages if m.message_id in decoded]
            batch_state = await self._apply(work, new_facts, opened, now)
        observe_changes.changes_committed(batch_state.changes)

    async def _decode(
        self, work: DepositWork, messages: Sequence[Message], now: datetime
    ) -> Mapping[UUID, DecodedMessage]:
        """Decode messages about deposits on known networks.

        Redelivered messages are skipped here; `_new_messages` raises for unknown networks of new
        ones.
        """
        deposits = [
            message
            for message in messages
            if message.body.kind not in NO_DEPOSITS
            and self._mapper.serves_network(message.body.network)
        ]
        places = {place for m in deposits if (place := self._mapper.place(m.body)) is not None}
        numbers = await work.numbers_at(places)
        return {
            m.message_id: DecodedMessage(
                self._mapper.deposit(m.body, received_at=now, numbers=numbers), m.trace_id
            )
            for m in deposits
        }

    def _new_messages(
        self, messages: Sequence[Message], fresh: Collection[UUID]
    ) -> Sequence[Message]:
        """Return the messages that were not processed before.

        :raises UnknownNetwork: when the catalogue does not name the network of one.
        """
        new_messages = [message for message in messages if message.message_id in fresh]
        for message in new_messages:
            self._mapper.require(message.body.network)
        return new_messages

    async def _save_others(self, work: DepositWork, new_messages: Sequence[Message]) -> None:
        """Save sweeps and withdrawals, which are no deposits."""
        swept = [self._mapper.to_swept_fact(m.body) for m in new_messages if m.body.kind == SWEPT]
        if sweeps := [one for one in swept if one is not None]:
            await work.save_swept(sweeps)
        withdrawals = [
            self._mapper.withdrawal(m.body) for m in new_messages if m.body.kind == WITHDRAWN
        ]
        if known := [one for one in withdrawals if one is not None]:
            await work.save_withdrawals(known)

    async def _apply(
        self,
        work: DepositWork,
        decoded: Sequence[DecodedMessage],
        opened: OpenedDeposits,
        now: datetime,
    ) -> BatchState:
        owners = _Owners(opened.swaps)
        unmatched_ids = {one.deposit.id for one in decoded if owners.find(one.fact) is None}
        unmatched = await work.unmatched_deposits(unmatched_ids, ())
        paid = await work.live_standalone_intents([d.id for d in unmatched.values() if d.is_booked])
        standalone_intents = await work.lock_standalone_intents(set(paid.values()))
        inventory = await work.lock_inventory(self._assets(decoded, owners, opened))
        known = {s.id: s for s in opened.swaps.values()}
        batch_state = BatchState(known, inventory, unmatched, standalone_intents, held=opened.held)
        for one in decoded:
            self._add(batch_state, one, owners, paid.get(one.deposit.id), now)
        await self._swap_messages.flush(work, batch_state.changes, at=now)
        return batch_state

    def _add(
        self,
        batch_state: BatchState,
        one: DecodedMessage,
        owners: _Owners,
        claim_id: UUID | None,
        now: datetime,
    ) -> None:
        """
        :raises NotReversible: when a reorg removes a deposit that is paid for in part.
        :raises StillBooked: when another swap has the deposit.
        """
        swap_id, holder_id = owners.find(one.fact), owners.holder_of(one.deposit)
        if holder_id is not None and holder_id != swap_id:
            holder = batch_state.swaps[holder_id]
            if holder.deposits[one.deposit.id].version >= one.deposit.version:
                return
            require_released(holder, one.deposit.id)
        if swap_id is None:
            change = decide_unmatched(
                batch_state.unmatched.get(one.deposit.id),
                one.fact,
                is_ours=self._mapper.is_ours(one.deposit),
                claim=None if claim_id is None else batch_state.standalone_intents.get(claim_id),
            )
        else:
            swap = batch_state.swaps[swap_id]
            resources = batch_state.payout_resources(swap, paid_id=paid_id_of(swap))
            change = decide(swap, one.fact, at=now, **resources)
        batch_state.add(change, trace_id=one.trace_id)
        owners.note(change.deposits)

    def _assets(
        self, decoded: Sequence[DecodedMessage], owners: _Owners, opened: OpenedDeposits
    ) -> set[AssetKey]:
        """Return the assets that the facts may move, of deposits and of their swaps."""
        moving_owners = {owners.find(one.fact) for one in decoded if _moves(one)}
        swaps = [swap for swap in opened.swaps.values() if swap.id in moving_owners]
        return self._own_assets(_moving(decoded)).union(*map(assets_of, swaps))

    def _own_assets(self, deposits: Iterable[Deposit]) -> set[AssetKey]:
        return {(d.network, d.token) for d in deposits if self._mapper.is_ours(d)}


class _Owners:
    """The swap of each deposit while a batch is applied. A later message may name another swap."""

    def __init__(self, swaps: Mapping[str, Swap]) -> None:
        self._by_key = {key: swap.id for key, swap in swaps.items()}
        deposits = [(d, s.id) for s in swaps.values() for d in s.deposits.values()]
        self._holders = {d.id: swap_id for d, swap_id in deposits}
        # An attached deposit belongs to that swap, whatever its own number or memo names.
        self._attached = {d.id for d, _ in deposits if d.attached_at}

    def find(self, fact: DepositFact) -> UUID | None:
        """Return the swap that a fact is about: if reverted, the one that has the deposit."""
        deposit, holder_id = fact.deposit, self._holders.get(fact.deposit.id)
        is_reorged_out = fact.state is FactState.REVERTED
        if holder_id is not None and (is_reorged_out or deposit.id in self._attached):
            return holder_id
        return self._by_key.get(deposit.match_key or "")

    def holder_of(self, deposit: Deposit) -> UUID | None:
        """Return the swap that the deposit is stored with."""
        return self._holders.get(deposit.id)

    def note(self, deposits: Iterable[Deposit]) -> None:
        """Record in memory which swaps hold these deposits from now on."""
        for deposit in deposits:
            self._holders.pop(deposit.id, None)
            if deposit.swap_id is not None:
                self._holders[deposit.id] = deposit.swap_id


def _moves(one: DecodedMessage) -> bool:
    """Whether the fact moves money; being seen moves none."""
    return one.fact.state is not FactState.SEEN


def _moving(decoded: Iterable[DecodedMessage]) -> Sequence[Deposit]:
    return [one.deposit for one in decoded if _moves(one)]
