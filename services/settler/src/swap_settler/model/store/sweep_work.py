"""What a settler's transaction does about deposit addresses and their sweeps, on Postgres."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Transaction
from swap_runtime.postgres.sql import Row
from swap_settler.model.chain_facts import SweptFact
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.accounts import Holder, LedgerTransaction
from swap_settler.model.ports import Place
from swap_settler.model.store import sweep_statements as statements
from swap_settler.model.treasury import DueSweep, Unbooked

MINED = ("seen", "confirmed")


class SweepWork:
    """The part of the unit of work that knows deposit addresses."""

    _connection: Transaction

    async def numbers_at(self, places: Collection[Place]) -> Mapping[Place, int]:
        if not places:
            return {}
        ordered_places = sorted(places)
        values = {
            "networks": [n for n, _ in ordered_places],
            "addresses": [a for _, a in ordered_places],
        }
        rows = await self._connection.execute(statements.NUMBERS_AT, values)
        return {(row.network, row.address): row.sequence_number for row in rows}

    async def save_swept(self, swept: Sequence[SweptFact]) -> None:
        newest = {one.id: one for one in sorted(swept, key=lambda one: one.version)}
        rows = [_swept_row(one) for one in newest.values()]
        saved = set(await self._connection.scalars(statements.SAVE_SWEPT, columns(rows)))
        newest_saved = {one.transaction_hash: one for one in newest.values() if one.id in saved}
        if not newest_saved:
            return
        mined = [
            {
                "transaction_hash": one.transaction_hash,
                "is_mined": one.state in MINED,
                "block_number": one.block_number,
                "block_hash": one.block_hash,
                "block_time": one.block_time,
            }
            for one in newest_saved.values()
        ]
        self._connection.post(statements.SWEEPS_MINED, columns(mined))
        gone = [
            (one.network, one.from_address, one.token)
            for one in newest.values()
            if one.id in saved and one.state not in MINED
        ]
        self._add_due(gone)

    async def lock_unbooked_sweeps(self, network: str, *, limit: int) -> Sequence[Unbooked]:
        """Load the final sweeps that the ledger does not have and that nothing is missing of;
        those somebody holds are left.
        """
        values = {"network": network, "limit": limit}
        rows = await self._connection.execute(statements.UNBOOKED, values)
        return [_to_unbooked(row) for row in rows]

    async def addresses_without_swap(self, network: str, *, limit: int) -> frozenset[Place]:
        """Return from where the first final sweeps came that are not booked, and no swap has."""
        values = {"network": network, "limit": limit}
        rows = await self._connection.execute(statements.ADDRESSES_WITHOUT_SWAP, values)
        return frozenset((row.network, row.from_address) for row in rows)

    async def take_over_swept(self, places: Collection[Place]) -> Sequence[Unbooked]:
        if not places:
            return ()
        ordered_places = sorted(places)
        values = {
            "networks": [n for n, _ in ordered_places],
            "addresses": [a for _, a in ordered_places],
        }
        rows = await self._connection.execute(statements.TAKE_OVER, values)
        return [_to_unbooked(row) for row in rows]

    async def mark_swept_booked(self, booked: Mapping[UUID, bool]) -> None:
        """Keep that sweeps are booked, and whether as nobody's."""
        rows = [{"id": id, "is_nobodys": has_no_swap} for id, has_no_swap in booked.items()]
        self._connection.post(statements.MARK_BOOKED, columns(rows))

    async def confirm_sweeps(self, network: str) -> None:
        """Mark our sweeps confirmed that are final, and whose bookings are made."""
        self._connection.post(statements.CONFIRM_SWEEPS, {"network": network})

    async def lock_due_sweeps(self, network: str, *, limit: int) -> Sequence[DueSweep]:
        """Load what is due at deposit addresses; what somebody else holds is left."""
        values = {"network": network, "limit": limit}
        rows = await self._connection.execute(statements.LOCK_DUE, values)
        return [_to_due(row) for row in rows]

    async def order_sweeps(self, ordered: Mapping[UUID, DueSweep]) -> None:
        """Say what intents are to empty, and forget that it is due. After the flush of them."""
        if not ordered:
            return
        rows = [
            {
                "intent_id": intent_id,
                "network": due.network,
                "address": due.address,
                "token": due.token,
                "sequence_number": due.sequence_number,
            }
            for intent_id, due in ordered.items()
        ]
        self._connection.post(statements.ADD_SWEEPS, columns(rows))

    async def settle_sweeps_due(
        self, done: Sequence[DueSweep], again: Sequence[DueSweep], *, pause: timedelta
    ) -> None:
        """Forget what is not due any more, and let wait what is not worth it now."""
        if done:
            self._connection.post(statements.DROP_DUE, _places(done))
        if again:
            values = {**_places(again), "pause": pause}
            self._connection.post(statements.POSTPONE_DUE, values)

    async def postpone_refunds(self, ids: Sequence[int], *, pause: timedelta) -> None:
        if ids:
            values = {"ids": list(ids), "pause": pause}
            self._connection.post(statements.POSTPONE_REFUNDS, values)

    def add_targets(self, changes: Iterable[Changes]) -> None:
        """Save the deposit addresses of swaps that begin."""
        rows = [
            {
                "network": c.target.network,
                "address": c.target.address,
                "sequence_number": c.target.sequence_number,
                "swap_id": c.swap.id,
            }
            for c in changes
            if c.target is not None and c.swap is not None
        ]
        if rows:
            self._connection.post(statements.ADD_DEPOSIT_ADDRESSES, columns(rows))

    def add_sweeps_due(self, entries: Iterable[LedgerTransaction]) -> None:
        """What has come to a deposit address is to be swept: it follows from the booking."""
        risen = {
            (posting.account.network, posting.account.address or "", posting.account.token)
            for entry in entries
            for posting in entry.postings
            if posting.account.holder is Holder.DEPOSIT_ADDRESS and posting.base_units > 0
        }
        self._add_due(sorted(risen))

    def _add_due(self, places: Sequence[tuple[str, str, str]]) -> None:
        if places:
            rows = [{"network": n, "address": a, "token": t} for n, a, t in places]
            self._connection.post(statements.ADD_SWEEPS_DUE, columns(rows))


def _swept_row(swept: SweptFact) -> dict[str, object]:
    return {
        "id": swept.id,
        "version": swept.version,
        "state": swept.state,
        "network": swept.network,
        "token": swept.token,
        "from_address": swept.from_address,
        "base_units": str(swept.base_units),
        "transaction_hash": swept.transaction_hash,
        "block_number": swept.block_number,
        "block_hash": swept.block_hash,
        "block_time": swept.block_time,
        "is_quarantined": swept.is_quarantined,
    }


def _to_unbooked(row: Row) -> Unbooked:
    return Unbooked(
        row.id,
        row.network,
        row.token,
        row.from_address,
        int(row.base_units),
        row.block_number,
        int(row.booked),
        is_assigned=row.is_assigned,
        transaction_hash=row.transaction_hash,
        block_hash=row.block_hash,
        block_time=row.block_time,
    )


def _to_due(row: Row) -> DueSweep:
    return DueSweep(
        network=row.network,
        address=row.address,
        token=row.token,
        sequence_number=row.sequence_number,
        base_units=int(row.base_units),
        is_out=row.is_out,
        decimals=row.decimals,
        token_usd_e18=int(row.token_usd_e18),
        native_usd_e18=int(row.native_usd_e18),
        is_ordered=row.is_ordered,
    )


def _places(due: Sequence[DueSweep]) -> dict[str, object]:
    return {
        "network": [one.network for one in due],
        "address": [one.address for one in due],
        "token": [one.token for one in due],
    }
