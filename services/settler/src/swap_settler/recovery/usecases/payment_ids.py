"""What Treasuries accept once for the payments of a swap: each that may ever be made of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from swap_chains.evm.codec import intent_id
from swap_domain.catalogue import NATIVE
from swap_settler.model.messages.message_mapping import MAIN_LEG
from swap_settler.model.swap import IntentKind, Leg
from swap_settler.recovery.decide.recovery import Asset, HeldSwap, PaymentId


@dataclass(frozen=True, slots=True)
class LegPayment:
    """A payment that a swap may get, with the leg that it settles."""

    swap_id: UUID
    kind: IntentKind
    asset: Asset  # the network, and the token where the id names one
    leg: Leg

    @property
    def id(self) -> PaymentId:
        leg = MAIN_LEG if self.leg is None else str(self.leg)
        name = "/".join((leg, *self.asset)) if self.kind is IntentKind.CLAIM else leg
        kind, network = self.kind.value, self.asset[0]
        return PaymentId(network, intent_id(self.swap_id, kind, name), kind, self.swap_id)


def payment_ids(swap: HeldSwap) -> Iterator[PaymentId]:
    """Return its output and refuel, and for each leg what can be sent back or claimed of it."""
    return (payment.id for payment in leg_payments(swap))


def leg_payments(swap: HeldSwap) -> Iterator[LegPayment]:
    """Return the same with their legs."""
    there = (swap.destination[0], NATIVE)
    yield LegPayment(swap.id, IntentKind.OUTPUT, swap.destination, None)
    yield LegPayment(swap.id, IntentKind.REFUEL, there, None)
    for leg in (None, *swap.deposits):
        yield LegPayment(swap.id, IntentKind.REFUND, swap.source, leg)
        yield LegPayment(swap.id, IntentKind.CLAIM, swap.source, leg)
    # What could not be sent there: an output, or a refuel.
    for asset in {swap.destination, there} - {swap.source}:
        yield LegPayment(swap.id, IntentKind.CLAIM, asset, None)
