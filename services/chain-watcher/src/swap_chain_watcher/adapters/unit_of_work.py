"""The watcher's transaction on Postgres: one statement per table, the cursor last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from swap_chain_watcher.adapters import statements
from swap_chain_watcher.adapters.evidence_statements import (
    SINGLE_PROVIDER_SUMS,
    SWEPT_COINS,
    TRUST,
    UNVERIFIED_RISES_OF,
    UNVERIFIED_SUMS,
    VERIFIED_KEYS,
    VERIFY,
    WITHHOLD,
)
from swap_chain_watcher.adapters.messages import to_outgoing
from swap_chain_watcher.adapters.rows import (
    block_row,
    movement_row,
    state_row,
    to_counted,
    to_known,
    to_tracked,
)
from swap_chain_watcher.domain.balance_rises import AddressTotals, PublishedRise, Rise
from swap_chain_watcher.domain.deposit_addresses import CountedAddresses, Target
from swap_chain_watcher.domain.evidence import (
    NO_EVIDENCE_QUERY,
    BatchContext,
    Evidence,
    EvidenceQuery,
    Key,
)
from swap_chain_watcher.domain.hints import HintBackoff, HintedTransaction
from swap_chain_watcher.domain.movements import Subject, TrackedMovement
from swap_chain_watcher.domain.second_look import MissedMovements, StoredMovements
from swap_chain_watcher.domain.take_back import StoredClaim
from swap_chain_watcher.domain.watch import CursorMoved, Halt, NetworkHalted, NotHalted, Step, Watch
from swap_chains.events import BlockAdded
from swap_domain.catalogue import NATIVE
from swap_runtime.crashpoint import crashpoint
from swap_runtime.messaging.outbox import add_to_outbox
from swap_runtime.messaging.unit_of_work import ConsumerWork, UnitOfWork
from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.leases import require_epoch
from swap_runtime.postgres.sql import Rows, Statement


def lease_name(network: str) -> str:
    """Return the lease that the follower of a network holds."""
    return f"watch:{network}"


def hint_channel(network: str) -> str:
    """Return what wakes the follower of a network, to look at it now."""
    return f"watch_{network}"


def verification_channel(network: str) -> str:
    """Return what wakes the verification of a network's deposits."""
    return f"verify_{network}"


class PostgresWork(ConsumerWork):
    """One open transaction on the watcher's schema."""

    async def lock_cursor(
        self,
        watch: Watch,
        *,
        epoch: int,
        subjects: Collection[Subject],
        senders: Collection[str],
        evidence: EvidenceQuery = NO_EVIDENCE_QUERY,
    ) -> BatchContext:
        """Lock the network's cursor for this follower; recall behind it, in the same round trip.

        :raises LeaseLost: when the epoch is not the lease's any more.
        :raises CursorMoved: when the cursor, or what is open, is not as the watch was left.
        :raises NetworkHalted: when the second look has stopped the network meanwhile.
        """
        questions = _questions(watch.network, subjects, senders, evidence)
        # Behind the lock: each statement sees what was committed before it began.
        locked, *answers = await require_epoch(
            self._connection,
            lease_name(watch.network),
            epoch,
            (statements.LOCK_CURSOR, {"network": watch.network}),
            *questions.items(),
        )
        stored = locked.one_or_none()
        if stored is None or (stored.hash, stored.revision) != (watch.cursor.hash, watch.revision):
            raise CursorMoved(watch.network)
        if stored.halt_reason is not None:
            raise NetworkHalted(stored.halt_reason)
        return _to_context(questions, answers)

    async def load_context(
        self,
        network: str,
        *,
        subjects: Collection[Subject],
        senders: Collection[str] = (),
        evidence: EvidenceQuery = NO_EVIDENCE_QUERY,
    ) -> BatchContext:
        """Return what was published about the subjects, and which senders are deposit addresses.

        :param senders: in lower case.
        """
        questions = _questions(network, subjects, senders, evidence)
        answers = await self._connection.ask(*questions.items()) if questions else ()
        return _to_context(questions, answers)

    async def advance(self, step: Step, *, at: datetime) -> None:
        """Save the changes of the step, its messages and the cursor: one statement per table."""
        network = step.after.network
        self._save_blocks(step)
        self._save_movements(step, at)
        self._publish(step.publications, at)
        cursor = {
            "network": network,
            **block_row(step.after.cursor),
            "finalized_number": step.after.finalized_number,
            "start_number": step.after.start_number,
            "has_published": bool(step.publications),
        }
        self._connection.post(statements.ADVANCE, cursor)
        crashpoint("chain_watcher.before_commit")

    async def load_stored(
        self,
        network: str,
        found: Sequence[BlockAdded],
        keys: Collection[Key],
        *,
        first: int,
        last: int,
    ) -> StoredMovements:
        """Lock the network's cursor; return what is stored of the blocks that were found.

        `first` and `last` are the range they were found in, `keys` the movements in them.
        """
        values = {"network": network}
        found_keys = {
            **values,
            "ids": [movement_id for _, movement_id in keys],
            "block_hashes": [block_hash for block_hash, _ in keys],
        }
        _, hashes, stored, in_other_blocks, published = await self._connection.ask(
            (statements.LOCK_CURSOR, values),
            (
                statements.CANONICAL_HASHES,
                {**values, "numbers": [added.block.number for added in found]},
            ),
            (statements.STORED_HERE, found_keys),
            (statements.PUBLISHED_IN_OTHER_BLOCKS, found_keys),
            (statements.PUBLISHED_BETWEEN, {**values, "first": first, "last": last}),
        )
        return StoredMovements(
            frozenset(row.id for row in stored),
            {row.number: row.hash for row in hashes},
            tuple(to_tracked(row).movement for row in published),
            frozenset((r.block_hash, r.id) for r in published if r.providers_required is not None),
            tuple(to_tracked(row).movement for row in in_other_blocks),
        )

    async def add_missed(
        self, network: str, missed: MissedMovements, *, at: datetime, checked_number: int
    ) -> None:
        """Save what a second look found, and how far it got."""
        place = {"network": network, "finalized_number": checked_number}
        blocks = [{**block_row(block), "state": "canonical"} for block in missed.blocks]
        self._save(statements.SAVE_BLOCKS, place, blocks)
        self._save(statements.SAVE_MOVEMENTS, place, map(movement_row, missed.new_movements))
        self._mark(VERIFY, network, missed.verified, at)
        self._publish(missed.publications, at)
        self._connection.post(
            statements.MARK_CHECKED,
            {
                "network": network,
                "checked_number": checked_number,
                "has_published": bool(missed.publications),
                "leaves_open": missed.leaves_open,
            },
        )
        if missed.leaves_open:
            self._connection.wake(verification_channel(network))

    async def verify(self, network: str, keys: Collection[Key], *, at: datetime) -> None:
        """Lock the network's cursor; mark the movements as reported by a second provider."""
        await self._connection.execute(statements.LOCK_CURSOR, {"network": network})
        self._mark(VERIFY, network, keys, at)

    async def load_swept_coins(self, network: str, addresses: Collection[str]) -> Mapping[str, int]:
        """Return the sweeps of each address's coins that were read twice."""
        values = {"network": network, "addresses": sorted(addresses), "native": NATIVE}
        rows = await self._connection.execute(SWEPT_COINS, values)
        return {row.address: int(row.swept) for row in rows}

    async def lock_rises(
        self, network: str, addresses: Collection[str]
    ) -> Sequence[TrackedMovement]:
        """Lock the network's cursor; return the published rises that one provider has reported.

        Those of one address follow each other in the order in which they came.
        """
        values = {"network": network}
        _, rows = await self._connection.ask(
            (statements.LOCK_CURSOR, values),
            (UNVERIFIED_RISES_OF, {**values, "addresses": sorted(addresses)}),
        )
        return [to_tracked(row) for row in rows]

    async def revert_and_halt(
        self, network: str, reverted: Sequence[TrackedMovement], *, halt: Halt
    ) -> None:
        """Publish that movements are gone from final blocks, and halt the network with it.

        The coins of their addresses are counted again.
        """
        place = {"network": network}
        if reverted:
            self._save(statements.MOVE_MOVEMENTS, place, map(state_row, reverted))
            addresses = sorted({tracked.movement.to_address for tracked in reverted})
            self._connection.post(statements.MARK_INCOMPLETE, {**place, "addresses": addresses})
            self._publish(reverted, halt.at)
            self._connection.post(statements.MARK_REVERTED, {**place, "has_published": True})
        self._connection.post(statements.HALT, {**place, "at": halt.at, "reason": halt.reason})

    async def lock_logs(
        self, network: str, transaction_hashes: Collection[str]
    ) -> Sequence[TrackedMovement]:
        """Lock the network's cursor; return what was published of the transactions' logs.

        :raises NotHalted: when the network is not halted.
        """
        values = {"network": network}
        locked, rows = await self._connection.ask(
            (statements.LOCK_CURSOR, values),
            (
                statements.PUBLISHED_LOGS,
                {**values, "transaction_hashes": sorted(transaction_hashes)},
            ),
        )
        cursor = locked.one_or_none()
        if cursor is None or cursor.halt_reason is None:
            raise NotHalted(network)
        return [to_tracked(row) for row in rows]

    async def load_blocks(
        self, network: str, block_hashes: Collection[str], transaction_hashes: Collection[str]
    ) -> Mapping[Key, StoredClaim]:
        """Return every movement of the transactions in these blocks, published or not."""
        values = {
            "network": network,
            "block_hashes": sorted(block_hashes),
            "transaction_hashes": sorted(transaction_hashes),
        }
        rows = await self._connection.execute(statements.MOVEMENTS_OF_BLOCKS, values)
        return {
            (row.block_hash, row.id): StoredClaim(
                is_published=row.state is not None,
                claimed_by=row.claimed_by and (row.block_hash, row.claimed_by),
            )
            for row in rows
        }

    async def take_back_logs(
        self,
        network: str,
        reverted: Sequence[TrackedMovement],
        replacements: Sequence[TrackedMovement],
        *,
        silent: Sequence[TrackedMovement],
        restated: Sequence[TrackedMovement],
        at: datetime,
    ) -> None:
        """Publish that logs were made up, and what their transactions really moved.

        `silent` is reverted without a message, `restated` is published again as it is.

        The order that is carried out is logged; a later transaction completes it.
        """
        place = {"network": network}
        moved = (*reverted, *silent, *restated)
        self._save(statements.MOVE_MOVEMENTS, place, map(state_row, moved))
        self._save(statements.SAVE_MOVEMENTS, place, map(movement_row, replacements))
        if replacements:
            self._connection.wake(verification_channel(network))
        published = (*reverted, *replacements, *restated)
        self._publish(published, at)
        self._connection.post(statements.MARK_REVERTED, {**place, "has_published": bool(published)})
        await log_order(self._connection, is_final=False)
        crashpoint("chain_watcher.before_commit")

    async def stored_ids(self, network: str, ids: Collection[UUID]) -> frozenset[UUID]:
        """Return which of the movements are in canonical blocks."""
        values = {"network": network, "ids": list(ids)}
        return frozenset(await self._connection.scalars(statements.STORED_MOVEMENTS, values))

    async def find_totals(
        self, network: str, addresses: Collection[str]
    ) -> Sequence[AddressTotals]:
        """Return what is stored, also by this transaction, of the coins of these addresses."""
        values = {"network": network, "addresses": sorted(addresses)}
        rises, rows = await self._connection.ask(
            (statements.PUBLISHED_RISES, values),
            (statements.ADDRESS_TOTALS, {**values, "native": NATIVE}),
        )
        published: defaultdict[str, list[PublishedRise]] = defaultdict(list)
        for row in rises:
            before = int(row.total_before)
            rise = Rise(before, before + int(row.base_units))
            published[row.to_address].append(PublishedRise(rise, row.block_number))
        return [
            AddressTotals(
                row.address,
                int(row.risen),
                int(row.swept),
                tuple(published[row.address]),
                to_counted(row),
            )
            for row in rows
        ]

    async def add_found(self, step: Step, *, at: datetime) -> None:
        """Save and publish what was found in stored blocks."""
        network = {"network": step.after.network}
        self._save_blocks(step)
        self._save_movements(step, at)
        if step.publications:
            self._publish(step.publications, at)
            self._connection.post(statements.MARK_PUBLISHED, network)

    async def explain(
        self, network: str, explained: Sequence[TrackedMovement], *, at: datetime
    ) -> None:
        """Save and publish the transactions of rises of coins."""
        place = {"network": network}
        self._save(statements.SAVE_RISE_TRANSACTIONS, place, map(movement_row, explained))
        self._publish(explained, at)
        self._connection.post(statements.MARK_PUBLISHED, place)

    async def mark_activated(self, network: str, addresses: Collection[str]) -> None:
        """Mark the addresses as followed from the cursor on, under its lock."""
        values = {"network": network, "addresses": list(addresses)}
        self._connection.post(statements.ACTIVATE_TARGETS, values)

    async def mark_counted(self, network: str, counted: CountedAddresses, *, at: datetime) -> None:
        """Record up to which block the coins of addresses were counted, and by when.

        `received` answers from the count before this one, so ask it first.
        """
        block = counted.block
        place = {"network": network, "number": block.number, "time": block.time}
        self._connection.post(
            statements.MARK_COUNTED, {**place, "young_since": counted.young_since}
        )
        for statement, addresses, more in (
            (statements.MARK_COUNTED_FIRST, counted.first - counted.incomplete, {}),
            (statements.MARK_COUNTED_OLD, counted.old, {"at": at}),
            (statements.MARK_INCOMPLETE, counted.incomplete, {}),
        ):
            if addresses:
                values = {**place, **more, "addresses": sorted(addresses)}
                self._connection.post(statement, {n: values[n] for n in statement.names})

    async def add_targets(self, targets: Sequence[Target]) -> None:
        """Keep the addresses; those that are known stay as they are."""
        self._save(statements.ADD_TARGETS, {}, map(asdict, targets))

    async def add_hints(
        self, hints: Collection[HintedTransaction], *, backoff: HintBackoff
    ) -> None:
        """Store what is to be looked up again; stored rows stay unchanged."""
        if hints:
            places = sorted(hints)
            values = {
                "network": [network for network, _ in places],
                "transaction_hash": [known_as for _, known_as in places],
                "pause": backoff.first_pause,
                "ends_after": backoff.ends_after,
            }
            self._connection.post(statements.ADD_HINTS, values)

    async def repeat_hints(self, *, backoff: HintBackoff, limit: int) -> frozenset[str]:
        """Return the networks to read again; delete hints that were seen or took too long."""
        self._connection.post(statements.END_HINTS)
        values = {"pause_max": backoff.pause_max, "limit": limit}
        again = await self._connection.scalars(statements.REPEAT_HINTS, values)
        return frozenset(again)

    async def notify_followers(self, networks: Collection[str]) -> None:
        """Wake the followers of these networks, after the commit."""
        for network in networks:
            self._connection.wake(hint_channel(network))

    def _save_movements(self, step: Step, at: datetime) -> None:
        network = step.after.network
        place = {"network": network}
        self._save(statements.SAVE_MOVEMENTS, place, map(movement_row, step.new_movements))
        self._save(statements.MOVE_MOVEMENTS, place, map(state_row, step.changed_movements))
        self._mark(WITHHOLD, network, [tracked.key for tracked in step.withheld_movements], at)
        self._mark(TRUST, network, [tracked.key for tracked in step.trusted_movements], at)
        if any(tracked.awaits_second_provider for tracked in step.publications):
            self._connection.wake(verification_channel(network))

    def _mark(
        self, statement: Statement, network: str, keys: Collection[Key], at: datetime
    ) -> None:
        rows = [{"block_hash": block_hash, "id": id_} for block_hash, id_ in sorted(keys)]
        self._save(statement, {"network": network, "at": at}, rows)

    def _save(
        self,
        statement: Statement,
        values: Mapping[str, object],
        rows: Iterable[Mapping[str, object]],
    ) -> None:
        """Post a statement that saves all rows; none without rows."""
        if listed := list(rows):
            self._connection.post(statement, {**values, **columns(listed)})

    def _publish(self, publications: Iterable[TrackedMovement], at: datetime) -> None:
        add_to_outbox(self._connection, [to_outgoing(one, at=at) for one in publications])

    def _save_blocks(self, step: Step) -> None:
        place = {
            "network": step.after.network,
            "finalized_number": step.after.finalized_number,
        }
        if step.orphaned_blocks:
            hashes = {"network": place["network"], "hashes": [b.hash for b in step.orphaned_blocks]}
            self._connection.post(statements.ORPHAN_BLOCKS, hashes)
        # Movements of a block that came and went within the batch refer to it all the same.
        rows = [
            {**block_row(block), "state": state}
            for state, blocks in (
                ("canonical", step.added_blocks),
                ("orphan", step.orphaned_blocks),
            )
            for block in blocks
        ]
        if step.after.finalized_number > step.before.finalized_number:
            self._connection.post(statements.FINALIZE_BLOCKS, place)
        self._save(statements.SAVE_BLOCKS, place, rows)


def _questions(
    network: str,
    subjects: Collection[Subject],
    senders: Collection[str],
    evidence: EvidenceQuery,
) -> Mapping[Statement, Mapping[str, Any]]:
    """Return the queries: none without addresses."""
    questions: dict[Statement, Mapping[str, Any]] = {}
    if subjects:
        questions[statements.PUBLISHED_VERSIONS] = {
            "network": network,
            "ids": [subject for subject in subjects if not isinstance(subject, int)],
            "paid_ids": [str(subject) for subject in subjects if isinstance(subject, int)],
        }
    if senders:
        questions[statements.TARGETS_AMONG] = {"network": network, "addresses": list(senders)}
    of_network = {"network": network}
    if evidence.awaiting_second_provider:
        ids = list(evidence.awaiting_second_provider)
        questions[VERIFIED_KEYS] = {**of_network, "ids": ids}
    if evidence.needs_unverified_sums:
        questions[UNVERIFIED_SUMS] = of_network
    if evidence.single_provider_since is not None:
        since = {**of_network, "single_provider_since": evidence.single_provider_since}
        questions[SINGLE_PROVIDER_SUMS] = since
    return questions


def _to_context(questions: Iterable[Statement], answers: Sequence[Rows]) -> BatchContext:
    rows = dict(zip(questions, answers, strict=True))
    return BatchContext(
        # In the order of their versions: the last one stays.
        dict(to_known(row) for row in rows.get(statements.PUBLISHED_VERSIONS, ())),
        frozenset(row.address for row in rows.get(statements.TARGETS_AMONG, ())),
        Evidence(
            frozenset((row.block_hash, row.id) for row in rows.get(VERIFIED_KEYS, ())),
            {row.token: int(row.base_units) for row in rows.get(UNVERIFIED_SUMS, ())},
            {row.token: int(row.base_units) for row in rows.get(SINGLE_PROVIDER_SUMS, ())},
        ),
    )


class PostgresUnitOfWork(UnitOfWork[PostgresWork]):
    _opens = PostgresWork
