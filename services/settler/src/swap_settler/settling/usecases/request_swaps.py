from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from swap_contracts.deposits import DepositTargetAssigned
from swap_contracts.envelope import Body, Envelope
from swap_contracts.swaps import (
    AuthorizationSubmitted,
    DepositAttached,
    RefundAddressSet,
    SwapRequest,
    SwapRequested,
)
from swap_contracts.topics import DEPOSIT_TARGET_ASSIGNED
from swap_contracts.tracing import trace_id_of
from swap_domain.catalogue import NATIVE, Catalogue, UnknownNetwork
from swap_runtime.clock import Clock
from swap_runtime.errors import Unavailable, Unprocessable
from swap_runtime.messaging.outbox import Outgoing
from swap_settler.gasless.decide.relaying import submit
from swap_settler.gasless.usecases.submissions import to_submitted_signature
from swap_settler.model import observe_changes
from swap_settler.model.batch_state import BatchState, assets_of
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.inventory import AssetKey
from swap_settler.model.messages.message_mapping import MessageMapper, paid_id_of, to_swap
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.ports import OpenedRequests, Place, UnitOfWork
from swap_settler.model.swap import Deposit, match_key
from swap_settler.model.targets import DepositTarget
from swap_settler.model.treasury import UnbookedSweep
from swap_settler.settling.decide.deposits import attach
from swap_settler.settling.decide.requests import begin, set_refund_address
from swap_settler.settling.ports import RequestWork
from swap_settler.settling.usecases.attaching import Attaching
from swap_settler.settling.usecases.settle_deposits import key_of
from swap_settler.sweeping.decide.sweeps import (
    address_key,
    booking_without_swap,
    quarantined_deposit,
)

Message = Envelope[SwapRequest]
SWEPT_WITHIN: Final = timedelta(minutes=1)  # what a topic lost is brought by then


@dataclass(frozen=True, slots=True)
class WaitingDeposits:
    """Deposits that arrived before their swap, or that a message attaches; locked."""

    waiting: Sequence[Deposit]  # of the numbers of new swaps
    named: Mapping[UUID, Deposit]  # by who sent them
    taken_over: Sequence[UnbookedSweep]  # from the addresses of new swaps
    paid: Collection[UUID]  # what of it went back to its owner, or is on its way


class RequestSwaps:
    """Begin the swaps that partners created, and find the deposits that came before them."""

    def __init__(
        self,
        unit_of_work: UnitOfWork[RequestWork],
        *,
        clock: Clock,
        swap_messages: SwapMessages,
        catalogue: Catalogue,
    ) -> None:
        self._catalogue = catalogue
        self._unit_of_work = unit_of_work
        self._clock = clock
        self._mapper = MessageMapper(catalogue)
        self._swap_messages = swap_messages

    async def __call__(self, messages: Sequence[Message]) -> None:
        """
        :raises Unprocessable: when a request can never be served.
        :raises Unavailable: while its swap may still arrive.
        """
        async with self._unit_of_work() as work:
            targets = self._targets(messages)
            opened = await _open(work, messages, targets.values())
            new_messages = [message for message in messages if message.message_id in opened.fresh]
            batch_state = await self._apply(work, new_messages, opened, targets)
        observe_changes.changes_committed(batch_state.changes)

    def _targets(self, messages: Sequence[Message]) -> Mapping[UUID, DepositTarget]:
        """Return the deposit addresses of swaps; an impossible one is refused at its beginning."""
        targets = {}
        for body in _bodies_of(messages, SwapRequested):
            with suppress(Unprocessable, UnknownNetwork):
                targets[body.swap_id] = self._mapper.target(body)
        return {id: target for id, target in targets.items() if target is not None}

    async def _apply(
        self,
        work: RequestWork,
        messages: Sequence[Message],
        opened: OpenedRequests,
        targets: Mapping[UUID, DepositTarget],
    ) -> BatchState:
        now = self._clock()
        _require_swaps(messages, opened.swaps, at=now)
        requested, attached = (
            _bodies_of(messages, SwapRequested),
            _bodies_of(messages, DepositAttached),
        )
        known = opened.swaps
        there = await _find_deposits(
            work,
            opened.waiting,
            keys={_key(body) for body in requested},
            named={body.deposit_id for body in attached},
            targets={targets[b.swap_id].place for b in requested if b.swap_id in targets},
        )
        booked = {deposit.match_key for deposit in there.waiting if deposit.is_booked}
        funded = {body.swap_id for body in attached}
        assets = _assets(b for b in requested if _key(b) in booked or b.swap_id in funded)
        assets.update(*(assets_of(known[id]) for id in funded & known.keys()))
        reverts = await self._reverts(work, messages)
        batch_state = BatchState(known, await work.lock_inventory(assets))
        by_key = _by_key(there.waiting)
        attaching = Attaching(batch_state, there.named, there.paid)
        if there.taken_over:
            batch_state.add(_taken_over(there.taken_over, self._mapper, at=now), trace_id="")
        for message in messages:
            if isinstance(message.body, AuthorizationSubmitted):
                self._submit(batch_state, message.body, message.trace_id, reverts, now)
            elif isinstance(message.body, DepositAttached):
                attaching.add(message.body, self._catalogue, trace_id=message.trace_id, at=now)
            else:
                self._add(batch_state, message, by_key, now)
        outgoing = self._swap_messages.outgoing(batch_state.changes, at=now)
        await work.flush(
            batch_state.changes, [*outgoing, *_target_messages(batch_state.changes, at=now)]
        )
        await attaching.store(work)
        return batch_state

    def _add(
        self,
        batch_state: BatchState,
        message: Message,
        waiting: Mapping[str, Sequence[Deposit]],
        now: datetime,
    ) -> None:
        body, known = message.body, batch_state.swaps.get(message.body.swap_id)
        if isinstance(body, SwapRequested):
            if known is None:
                swap = to_swap(body, at=now)
                batch_state.add(begin(swap, self._mapper.target(body)), trace_id=message.trace_id)
                self._attach(batch_state, message, waiting.get(_key(body), ()), now)
        elif known is None:
            raise Unprocessable(f"no swap {body.swap_id}")
        elif isinstance(body, RefundAddressSet):
            change = set_refund_address(known, body.refund_address, at=now)
            batch_state.add(change, trace_id=message.trace_id)

    async def _reverts(self, work: RequestWork, messages: Sequence[Message]) -> Mapping[str, int]:
        """Return how often each signer of the batch cost us gas for nothing lately."""
        bodies = (message.body for message in messages)
        signers = {b.signer for b in bodies if isinstance(b, AuthorizationSubmitted)}
        return await work.reverted_relays(signers) if signers else {}

    def _submit(
        self,
        batch_state: BatchState,
        body: AuthorizationSubmitted,
        trace_id: str,
        reverts: Mapping[str, int],
        now: datetime,
    ) -> None:
        known = batch_state.swaps.get(body.swap_id)
        if known is None:
            raise Unprocessable(f"no swap {body.swap_id}")
        network = self._catalogue.network(known.terms.source.network)
        signature = to_submitted_signature(body, known, network)
        change = submit(known, signature, at=now, reverts=reverts.get(signature.signer, 0))
        batch_state.add(change, trace_id=trace_id)

    def _attach(
        self, batch_state: BatchState, message: Message, deposits: Sequence[Deposit], now: datetime
    ) -> None:
        if not deposits:
            return
        swap = batch_state.swaps[message.body.swap_id]
        resources = batch_state.payout_resources(swap, paid_id=paid_id_of(swap))
        change = attach(swap, deposits, at=now, **resources)
        batch_state.add(change, trace_id=message.trace_id)


async def _open(
    work: RequestWork, messages: Sequence[Message], targets: Iterable[DepositTarget]
) -> OpenedRequests:
    """Hold all that is decided about, and load it."""
    attached_ids = {body.deposit_id for body in _bodies_of(messages, DepositAttached)}
    named = await work.unmatched_deposits(attached_ids, ())
    keys = {_key(body) for body in _bodies_of(messages, SwapRequested)}
    addresses = {address_key(target.place) for target in targets}
    return await work.open_requests(
        [message.message_id for message in messages],
        keys=keys | addresses | {key_of(deposit) for deposit in named.values()},
        swap_ids={message.body.swap_id for message in messages},
        deposit_ids=named.keys(),
    )


def _require_swaps(messages: Iterable[Message], known: Collection[UUID], *, at: datetime) -> None:
    """A request for a swap waits for the swap.

    A recreated topic may deliver it first; the sweep delivers the swap.

    :raises Unavailable: while that may be so.
    """
    existing = set(known)
    for message in messages:
        if isinstance(message.body, SwapRequested):
            existing.add(message.body.swap_id)
        elif message.body.swap_id not in existing and at - message.occurred_at < SWEPT_WITHIN:
            raise Unavailable(f"swap {message.body.swap_id} is still to come")


def _by_key(waiting: Iterable[Deposit]) -> Mapping[str, Sequence[Deposit]]:
    found: defaultdict[str, list[Deposit]] = defaultdict(list)
    for deposit in waiting:
        if deposit.match_key is not None:
            found[deposit.match_key].append(deposit)
    return found


async def _find_deposits(
    work: RequestWork,
    there: Mapping[UUID, Deposit],
    *,
    keys: Collection[str],
    named: Collection[UUID],
    targets: Collection[Place],
) -> WaitingDeposits:
    """
    :raises Unprocessable: when what a new swap is to have went back to its owner.
    """
    waiting = [d for d in there.values() if d.match_key in keys]
    # A deposit with the number of a swap that begins here belongs to it, even if a message attaches
    # it to another.
    held = {id: d for id, d in there.items() if id in named and d.match_key not in keys}
    taken_over = await work.take_over_swept(targets)
    news = {*(d.id for d in waiting), *(one.id for one in taken_over)}
    paid = await work.live_standalone_intents(news | held.keys())
    if gone := paid.keys() & news:
        raise Unprocessable(f"deposits {sorted(map(str, gone))} went back to their owners")
    return WaitingDeposits(waiting, held, taken_over, paid.keys())


def _target_messages(changes: Iterable[Changes], *, at: datetime) -> Sequence[Outgoing]:
    """Return the messages by which the watcher follows the deposit addresses of new swaps."""
    targets = [
        (c.target, c.swap.id) for c in changes if c.target is not None and c.swap is not None
    ]
    return [
        Outgoing.of(
            DEPOSIT_TARGET_ASSIGNED,
            DEPOSIT_TARGET_ASSIGNED.seal(
                DepositTargetAssigned(
                    network=target.network, address=target.address, since=target.since
                ),
                version=target.address,
                occurred_at=at,
                trace_id=trace_id_of(swap_id),
            ),
        )
        for target, swap_id in targets
    ]


def _taken_over(swept: Sequence[UnbookedSweep], mapper: MessageMapper, *, at: datetime) -> Changes:
    """Return the changes when earlier sweeps came from the deposit address of a new swap."""
    return Changes(
        deposits=tuple(quarantined_deposit(one, at=at, is_reversed=True) for one in swept),
        ledger=tuple(
            booking_without_swap(one, mapper.treasury_of(one.network), is_reversed=True)
            for one in swept
        ),
    )


def _bodies_of(messages: Iterable[Message], kind: type[Body]) -> Sequence[Body]:
    return [message.body for message in messages if isinstance(message.body, kind)]


def _key(body: SwapRequested) -> str:
    return match_key(body.source.network, body.source.token, body.sequence_number)


def _assets(bodies: Iterable[SwapRequested]) -> set[AssetKey]:
    funded = list(bodies)
    refs = (ref for body in funded for ref in (body.source, body.destination))
    coins = {(b.destination.network, NATIVE) for b in funded if b.quote.refuel_base_units}
    return coins | {(ref.network, ref.token) for ref in refs}
