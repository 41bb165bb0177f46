"""What Treasuries accept once for the payments of a swap: each that may ever be made of it."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from swap_chains.evm.codec import intent_id
from swap_domain.catalogue import NATIVE
from swap_settler.domain.recovery import HeldSwap, PaymentId
from swap_settler.domain.swap import IntentKind
from swap_settler.usecases.message_mapping import MAIN_LEG


def payment_ids(swap: HeldSwap) -> Iterator[PaymentId]:
    """Return its output and refuel, and for each leg what can be sent back or claimed of it."""
    there, here = swap.destination[0], swap.source[0]
    yield _of(swap.id, there, IntentKind.OUTPUT, MAIN_LEG)
    yield _of(swap.id, there, IntentKind.REFUEL, MAIN_LEG)
    for leg in (MAIN_LEG, *map(str, swap.deposits)):
        yield _of(swap.id, here, IntentKind.REFUND, leg)
        yield _of(swap.id, here, IntentKind.CLAIM, "/".join((leg, *swap.source)))
    # What could not be sent there: an output, or a refuel.
    for asset in {swap.destination, (there, NATIVE)} - {swap.source}:
        yield _of(swap.id, there, IntentKind.CLAIM, "/".join((MAIN_LEG, *asset)))


def _of(swap_id: UUID, network: str, kind: IntentKind, leg: str) -> PaymentId:
    return PaymentId(network, intent_id(swap_id, kind.value, leg), kind.value, swap_id)
