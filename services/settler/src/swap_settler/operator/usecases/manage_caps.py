"""The caps on what may leave, and what waits for them: set, shown, and let through."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from swap_domain.catalogue import Catalogue, UnknownNetwork
from swap_runtime.errors import RequestRefused
from swap_settler.operator import observe
from swap_settler.operator.decide.stakes import CapLimit, CapName
from swap_settler.operator.store.caps import PostgresCaps, QueuePlace
from swap_settler.paying.decide.caps import CapState
from swap_settler.records import ListPlace, Record

NO_CAP: Final = "there is no such cap"
CAP_CHANGED: Final = "the cap has changed since it was ordered: list the caps, and order it again"


class ManageCaps:
    def __init__(self, caps: PostgresCaps, *, catalogue: Catalogue) -> None:
        self._caps = caps
        self._catalogue = catalogue

    async def list_all(self) -> Sequence[CapState]:
        return await self._caps.list_caps()

    async def list_counted(
        self, id: int, *, after: ListPlace | None = None, limit: int
    ) -> tuple[CapState, Sequence[Record]] | None:
        """Return a cap with the payments that count under it now; None where it was lifted.

        :param after: only what follows this place.
        """
        return await self._caps.list_counted(id, after=after, limit=limit)

    async def find(self, name: CapName) -> CapState:
        """
        :raises RequestRefused: when there is none.
        """
        wanted = with_address(self._catalogue, name)
        for cap in await self._caps.list_caps():
            if CapName(cap.network, cap.token, cap.app_id) == wanted:
                return cap
        raise RequestRefused(NO_CAP)

    async def set(
        self,
        name: CapName,
        limit: CapLimit,
        *,
        may_raise: bool = True,
        set_at: datetime | None = None,
        by: str,
        reason: str,
    ) -> Sequence[CapState]:
        """Set a cap, or another limit for it; what left before counts under it still.

        :param set_at: only where the present cap was set then; None: whichever there is.
        :raises RequestRefused: for a network or a token that the catalogue does not name, and where
            it would raise a cap and may not.
        """
        name = with_address(self._catalogue, name)
        is_set = await self._caps.set_cap(
            name, limit=limit, may_raise=may_raise, set_at=set_at, by=by, reason=reason
        )
        if not is_set and set_at is not None:
            raise RequestRefused(CAP_CHANGED)
        if not is_set:
            raise RequestRefused("the cap was lowered meanwhile: list the caps again")
        cap = {**asdict(name), "units": limit.units, "span": str(limit.span)}
        observe.cap_set(cap, by=by, reason=reason)
        return await self.list_all()

    async def lift(
        self, name: CapName, *, set_at: datetime | None = None, by: str, reason: str
    ) -> Sequence[CapState]:
        """
        :param set_at: only where the present cap was set then; None: whichever there is.
        :raises RequestRefused: when there is none, or another one.
        """
        name = with_address(self._catalogue, name)
        is_lifted = await self._caps.lift_cap(name, set_at=set_at, by=by, reason=reason)
        if not is_lifted:
            raise RequestRefused(NO_CAP if set_at is None else CAP_CHANGED)
        observe.cap_lifted(asdict(name), by=by, reason=reason)
        return await self.list_all()

    async def list_queued(self, *, after: QueuePlace | None = None, limit: int) -> Sequence[Record]:
        """Return the payments that wait for their turn, each by one of the caps that keep it.

        :param after: only what follows this place.
        """
        return await self._caps.list_queued(after=after, limit=limit)

    async def find_queued(self, intent_id: UUID) -> Record | None:
        """Return a payment that waits for its turn; None where it does not."""
        return await self._caps.find_queued(intent_id)

    async def grant_pass(self, intent_id: UUID, *, by: str, reason: str) -> None:
        """Let one payment leave although caps have no room for it; it counts under them.

        :raises RequestRefused: when it waits for none.
        """
        if not await self._caps.grant_pass(intent_id, by=by, reason=reason):
            raise RequestRefused(f"{intent_id} waits for no cap, or was let through before")
        observe.payment_passed_caps(intent_id, by=by, reason=reason)

    async def report(self) -> None:
        """Set the gauges of each network's queue: its length and its oldest wait."""
        queues = await self._caps.queues()
        networks: Collection[str] = self._catalogue.networks
        for network in networks:
            count, oldest = queues.get(network, (0, timedelta(0)))
            observe.queue(network, count, oldest)


def with_address(catalogue: Catalogue, name: CapName) -> CapName:
    """Return the name with its token's address, which may be named by its symbol.

    :raises RequestRefused: for a network or a token that the catalogue does not name.
    """
    try:
        network = catalogue.network(name.network)
    except UnknownNetwork as error:
        raise RequestRefused(f"{name.network} is not a network of the catalogue") from error
    if name.token is None:
        return name
    wanted = name.token.lower()
    known = [t.address for t in network.tokens if wanted in (t.symbol.lower(), t.address.lower())]
    if not known:
        raise RequestRefused(f"{name.token} is not a token of {name.network}")
    return replace(name, token=known[0])
