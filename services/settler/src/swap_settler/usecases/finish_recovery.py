"""Shows a recovery, and ends it by an operator's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from swap_chains.evm.codec import intent_id
from swap_runtime.errors import Refused
from swap_settler import observe_recovery
from swap_settler.domain.recovery import Forgotten, Recovery
from swap_settler.domain.swap import IntentKind
from swap_settler.recovery_ports import Recoveries
from swap_settler.usecases.facts import MAIN_LEG

KINDS: Final = (IntentKind.OUTPUT, IntentKind.REFUND, IntentKind.REFUEL)


class FinishRecovery:
    """An operator answers for it that no forgotten payment can be made once more."""

    def __init__(self, recoveries: Recoveries) -> None:
        self._recoveries = recoveries

    async def find(self) -> Recovery | None:
        """Return the open recovery, and bring the metrics up to date."""
        found = await self._recoveries.find_open()
        observe_recovery.state(is_open=found is not None, held=found.held if found else 0)
        return found

    async def list_forgotten(self) -> Sequence[Forgotten]:
        """Return the unexplained payments that are known swaps' own, by their ids."""
        paid = {(one.paid_id): one for one in await self._recoveries.unexplained()}
        if not paid:
            return []
        return [
            Forgotten(swap_id, kind.value, found)
            for swap_id in await self._recoveries.unpaid_swaps()
            for kind in KINDS
            if (found := paid.get(intent_id(swap_id, kind.value, MAIN_LEG))) is not None
        ]

    async def __call__(self, id: int, *, by: str, reason: str) -> None:
        """
        :param id: as it was shown: another one that began meanwhile stays open.
        :raises Refused: when it is not open, or a known swap would be paid twice.
        """
        if forgotten := await self.list_forgotten():
            told = ", ".join(f"{one.kind} of {one.swap_id}" for one in forgotten)
            raise Refused(f"paid already, and not explained: {told}; see swapctl payouts explain")
        if not await self._recoveries.finish(id, by=by, reason=reason):
            raise Refused(f"recovery {id} is not open")
        observe_recovery.ended(id, by=by, reason=reason)
        await self.find()
