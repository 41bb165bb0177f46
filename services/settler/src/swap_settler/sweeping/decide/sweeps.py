"""What stands at deposit addresses on its way to the Treasury. Pure.

A sweep moves the service's own money: no swap waits for it, and none is updated. What it costs was
charged with the quote, or is with a refund.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import NAMESPACE_URL, UUID, uuid5

from swap_settler.model.ledger.accounts import (
    Account,
    AccountKind,
    Holder,
    LedgerTransaction,
    Posting,
)
from swap_settler.model.swap import (
    SWEPT_WITHOUT_SWAP,
    Deposit,
    DepositState,
    Intent,
    IntentKind,
    IntentState,
    Method,
)
from swap_settler.model.treasury import DueSweep, UnbookedSweep


def address_key(place: tuple[str, str]) -> str:
    """Return the lock for assigning an address, and for sweeps without a swap."""
    return f"address/{place[0]}/{place[1]}"


def sweep_intent(due: DueSweep, *, treasury: str, at: datetime) -> Intent:
    """Return the intent that empties an address of a token."""
    return Intent(
        id=uuid5(NAMESPACE_URL, f"sweep/{due.network}/{due.address}/{due.token}/{at.isoformat()}"),
        paid_id=None,
        swap_id=None,
        deposit_id=None,
        kind=IntentKind.SWEEP,
        network=due.network,
        token=due.token,
        to_address=treasury,
        base_units=due.base_units,
        charged_base_units=0,
        usd_micros=0,
        state=IntentState.RESERVED,
        due_at=at,
        created_at=at,
    )


def bookable(
    final: Sequence[UnbookedSweep],
    *,
    treasury: str,
    addresses_without_swap: Collection[tuple[str, str]] = (),
) -> tuple[dict[UUID, bool], tuple[LedgerTransaction, ...]]:
    """Return which final sweeps can be booked now, whether without a swap, and their bookings.

    All are of one network. One that took what is not credited yet waits for the credit: both are
    final, in either order.

    :param addresses_without_swap: no swap has them, and none gets one during the transaction.
    """
    left: Counter[tuple[str, str, str]] = Counter()
    for swept in final:
        left[swept.network, swept.from_address, swept.token] = swept.booked_base_units
    booked: dict[UUID, bool] = {}
    entries: list[LedgerTransaction] = []
    for swept in final:
        account = swept.network, swept.from_address, swept.token
        if swept.is_assigned and swept.base_units <= left[account]:
            left[account] -= swept.base_units
            booked[swept.id] = False
            entries.append(booking(swept, treasury))
        elif not swept.is_assigned and swept.place in addresses_without_swap:
            booked[swept.id] = True
            entries.append(booking_without_swap(swept, treasury))
    return booked, tuple(entries)


def booking_without_swap(
    swept: UnbookedSweep, treasury: str, *, is_reversed: bool = False
) -> LedgerTransaction:
    """A third party swept an address without a swap: held until its owner is known."""
    custody = Account(
        AccountKind.CUSTODY, swept.network, swept.token, holder=Holder.TREASURY, address=treasury
    )
    suspense = Account(AccountKind.SUSPENSE, swept.network, swept.token, deposit_id=swept.id)
    units = -swept.base_units if is_reversed else swept.base_units
    kind = "swept_for_a_swap" if is_reversed else "swept_for_nobody"
    postings = (Posting(custody, units), Posting(suspense, -units))
    return LedgerTransaction(
        kind, f"{kind}/{swept.id}", None, swept.network, swept.block_number, postings
    )


def quarantined_deposit(
    swept: UnbookedSweep, *, at: datetime, is_reversed: bool = False
) -> Deposit:
    """Return a sweep without a swap as the deposit that its owner is paid for, until a swap has it.

    It is quarantined: no swap is credited with it, for the swap of its address is with what came.
    """
    return Deposit(
        id=swept.id,
        swap_id=None,
        version=1,
        state=DepositState.REVERTED if is_reversed else DepositState.QUARANTINED,
        method=Method.DEPOSIT_ADDRESS,
        network=swept.network,
        token=swept.token,
        base_units=swept.base_units,
        returned_base_units=0,
        is_booked=not is_reversed,
        transaction_hash=swept.transaction_hash,
        block_number=swept.block_number,
        block_hash=swept.block_hash,
        block_time=swept.block_time,
        from_address=None,
        to_address=swept.from_address,
        confirmations_required=1,
        sequence_number=None,
        memo=None,
        quarantine_reason=SWEPT_WITHOUT_SWAP,
        received_at=at,
    )


def booking(swept: UnbookedSweep, treasury: str) -> LedgerTransaction:
    """The balance of a deposit address is in the Treasury, by any sweep."""

    def custody(holder: Holder, address: str) -> Account:
        return Account(
            AccountKind.CUSTODY, swept.network, swept.token, holder=holder, address=address
        )

    gained = Posting(custody(Holder.TREASURY, treasury), swept.base_units)
    left = Posting(custody(Holder.DEPOSIT_ADDRESS, swept.from_address), -swept.base_units)
    return LedgerTransaction(
        "swept", f"swept/{swept.id}", None, swept.network, swept.block_number, (gained, left)
    )
