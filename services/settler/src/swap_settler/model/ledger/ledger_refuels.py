"""What is booked for a refuel, beside its payment: bought, given back, lost, or claimable."""

from __future__ import annotations

from swap_domain.catalogue import NATIVE
from swap_settler.model.ledger.accounts import Account, AccountKind, LedgerTransaction, Posting
from swap_settler.model.swap import Intent, Refuel, Swap

Move = tuple[Account, int]


def bought(swap: Swap, refuel: Refuel) -> LedgerTransaction:
    """Source asset of the user becomes ours, and we owe the destination's own coin."""
    return _booked("refuel_bought", _now(swap), swap, *_moves(swap, refuel))


def unbought(swap: Swap, refuel: Refuel) -> LedgerTransaction:
    """Its output is dead, and nothing of the refuel was sent."""
    back = ((account, -units) for account, units in _moves(swap, refuel))
    return _booked("refuel_unbought", _now(swap), swap, *back)


def claimable(swap: Swap, refuel: Refuel) -> LedgerTransaction:
    """It cannot be sent: it waits for the recipient of the output."""
    return _booked(
        "refuel_claimable",
        _now(swap),
        swap,
        (_coin(AccountKind.REFUEL_LIABILITY, swap), refuel.base_units),
        (_coin(AccountKind.CLAIMABLE, swap), -refuel.base_units),
    )


def lost(swap: Swap, intent: Intent) -> LedgerTransaction:
    """It was sent for a deposit that a reorg took: our loss, never a debt of the user."""
    return _booked(
        "refuel_lost",
        _now(swap),
        swap,
        (_source(AccountKind.LOSS, swap), intent.charged_base_units),
        (_source(AccountKind.SWAP_LIABILITY, swap), -intent.charged_base_units),
    )


def charge_retained(swap: Swap, intent: Intent) -> LedgerTransaction:
    """What was lost with it was never sent: it is ours."""
    return _booked(
        "refuel_kept",
        _now(swap),
        swap,
        (_coin(AccountKind.REFUEL_LIABILITY, swap), intent.base_units),
        (Account(AccountKind.POSITION, intent.network, NATIVE), -intent.base_units),
    )


def _now(swap: Swap) -> str:
    return f"{swap.id}/{swap.sequence}"


def _moves(swap: Swap, refuel: Refuel) -> tuple[Move, ...]:
    source, network = swap.terms.source, swap.terms.destination.network
    return (
        (_source(AccountKind.SWAP_LIABILITY, swap), refuel.charged_base_units),
        (Account(AccountKind.POSITION, source.network, source.token), -refuel.charged_base_units),
        (Account(AccountKind.POSITION, network, NATIVE), refuel.base_units),
        (_coin(AccountKind.REFUEL_LIABILITY, swap), -refuel.base_units),
    )


def _source(kind: AccountKind, swap: Swap) -> Account:
    source = swap.terms.source
    return Account(kind, source.network, source.token, swap.id)


def _coin(kind: AccountKind, swap: Swap) -> Account:
    return Account(kind, swap.terms.destination.network, NATIVE, swap.id)


def _booked(kind: str, key: str, swap: Swap, *moves: Move) -> LedgerTransaction:
    postings = tuple(Posting(account, units) for account, units in moves)
    return LedgerTransaction(kind, f"{kind}/{key}", swap.id, None, None, postings)
