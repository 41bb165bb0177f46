"""How waiting payments are put on nonces. Pure: the lane has read, and will write.

A slot is one nonce of one hot key; it carries one or more payments as one call of the Treasury.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Final
from uuid import UUID

BATCH_BASE_GAS: Final = 60_000  # intrinsic cost, roles, the guard against re-entering
# About twice what evm/gas.json measures: what a wallet with code may need to verify its signature.
RELAY_GAS: Final = 350_000
NO_OP_GAS: Final = 21_000  # a plain transfer
LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
# What passes its trial and reverts when it is mined costs gas each time.
REVERTS_MAX: Final = 2  # of one payment, alone in its transaction
RECIPIENT_REVERTS_MAX: Final = 4  # of all payments to one recipient, in a day
MARGIN_PERCENT: Final = 30  # on what a call was seen to take: the state may change before it mines


@dataclass(frozen=True, slots=True)
class Payment:
    """The Treasury's arguments for one intent, and the lane's state of it."""

    intent_id: UUID
    swap_id: UUID | None
    paid_id: int
    token: str
    to_address: str
    base_units: int
    failures: int
    goes_alone: bool
    payer: str | None = None  # of a gasless deposit: who signed
    call_data: bytes | None = None  # of a gasless deposit: the Paymaster's call, `to_address`
    sweep_of: int | None = None  # of a sweep: the number of the swap with the address
    created_at: datetime = LONG_AGO
    is_queued: bool = False  # it waits for the Treasury's own limit
    recipient_reverts: int = 0  # payments to it that reverted when they were mined, in a day
    is_too_large: bool = False  # there, when it was last read: for the whole limit

    @property
    def is_relay(self) -> bool:
        """Whether it is a gasless deposit: a call of the Paymaster, not of the Treasury."""
        return self.call_data is not None


Group = tuple[Payment, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """A nonce that was handed out, with the payments or sweeps it carries.

    It has no live payment left when every one was put back before a signature. Then it is filled
    with a no-op, because every later nonce waits for it.
    """

    nonce: int
    payments: Group


@dataclass(frozen=True, slots=True)
class GasUnits:
    """What one payment takes at the most, by kind; from the catalogue's network."""

    pay_native: int
    pay_erc20: int
    sweep_native: int = 0
    sweep_erc20: int = 0

    def of(self, group: Sequence[Payment], *, native: str) -> int:
        """Return a gas limit for the group; what is not used costs nothing."""
        units = sum(self._of_one(p, is_native=p.token == native) for p in group)
        return BATCH_BASE_GAS + with_margin(units)

    def _of_one(self, payment: Payment, *, is_native: bool) -> int:
        if payment.sweep_of is not None:
            return self.sweep_native if is_native else self.sweep_erc20
        return self.pay_native if is_native else self.pay_erc20


@dataclass(frozen=True, slots=True)
class GasAlarm:
    """When a signer's gas money is to be topped up, in payments at the highest fee."""

    base_units_per_payment: int
    payments_min: int

    def payments_left(self, balance: int) -> int:
        return balance // max(self.base_units_per_payment, 1)


def with_margin(gas: int) -> int:
    return gas + gas * MARGIN_PERCENT // 100


def one_permit_each(payments: Sequence[Payment], *, permit: bytes) -> Sequence[Payment]:
    """Leave out all but the first permit of each signer: they have one nonce at a time.

    :param permit: how the Paymaster's call of a permit begins.
    """
    allowed: list[Payment] = []
    signed: set[tuple[str | None, str]] = set()
    for payment in payments:
        if payment.call_data is not None and payment.call_data.startswith(permit):
            if (payment.payer, payment.token) in signed:
                continue
            signed.add((payment.payer, payment.token))
        allowed.append(payment)
    return allowed


def group_payments(
    payments: Sequence[Payment], *, slots_max: int, payments_max: int
) -> tuple[Group, ...]:
    """Share the payments out over at most `slots_max` calls, the longest waiting first.

    Payments of one token are neighbours, because the Treasury charges its outflow limit once for
    neighbours. One that must be sent alone takes a separate slot.
    """
    alone = ((payment,) for payment in payments if payment.goes_alone)
    together = [payment for payment in payments if not payment.goes_alone]
    place = {payment.intent_id: n for n, payment in enumerate(payments)}
    groups = [*_chunks(together, payments_max), *alone]
    groups.sort(key=lambda group: min(place[payment.intent_id] for payment in group))
    return tuple(groups[:slots_max])


def _chunks(payments: Sequence[Payment], size: int) -> Iterator[Group]:
    by_token = sorted(payments, key=lambda payment: payment.token)
    for _, of_token in groupby(by_token, key=lambda payment: payment.token):
        waiting = tuple(of_token)
        for start in range(0, len(waiting), size):
            yield waiting[start : start + size]


def within_recipient_limits(
    payments: Sequence[Payment], unproven: Mapping[str, int]
) -> Sequence[Payment]:
    """Return which payments may leave without more of one recipient's than may revert.

    Those that share a transaction are not counted: all that fails there goes alone the next time.

    :param unproven: payments that were sent and that no block is known to have paid, by recipient.
    """
    out = Counter(unproven)
    leaving: list[Payment] = []
    for payment in payments:
        if payment.goes_alone and not payment.is_relay:
            if out[payment.to_address] + payment.recipient_reverts >= RECIPIENT_REVERTS_MAX:
                continue
            out[payment.to_address] += 1
        leaving.append(payment)
    return leaving


@dataclass(frozen=True, slots=True)
class Retries:
    """When a payment that failed is tried again, and when that is over."""

    attempts_max: int
    pause: timedelta
    dwell: timedelta

    def is_over(self, failures: int, *, reverts: int = 0, in_slot_for: timedelta) -> bool:
        has_failed = failures >= self.attempts_max or reverts >= REVERTS_MAX
        return has_failed or in_slot_for >= self.dwell

    def pause_after(self, failures: int) -> timedelta:
        doublings = min(failures - 1, 6)
        return self.pause * (1 << doublings)
