"""Every booking, one function each. Debit is positive, credit negative."""

from __future__ import annotations

import json
from typing import Final
from uuid import UUID

from swap_domain.catalogue import NATIVE
from swap_settler.model.chain_facts import PayoutFact
from swap_settler.model.ledger.accounts import (
    Account,
    AccountKind,
    Holder,
    LedgerTransaction,
    Posting,
)
from swap_settler.model.swap import (
    Deposit,
    Intent,
    IntentKind,
    Leg,
    Method,
    QuoteTerms,
    Refuel,
    Swap,
)

Move = tuple[Account, int]
# What is promised beside an output stands by itself: an output's end leaves it alone.
OF_REFUELS: Final = {
    AccountKind.SWAP_LIABILITY: AccountKind.REFUEL_LIABILITY,
    AccountKind.IN_FLIGHT: AccountKind.REFUEL_IN_FLIGHT,
}


def _transaction(
    kind: str,
    key: str,
    *moves: Move,
    swap_id: UUID | None = None,
    network: str | None = None,
    block: int | None = None,
) -> LedgerTransaction:
    """Book the moves that are not zero."""
    some = (move for move in moves if move[1])
    return _transactions(kind, key, *some, swap_id=swap_id, network=network, block=block)


def _transactions(
    kind: str,
    key: str,
    *moves: Move,
    swap_id: UUID | None = None,
    network: str | None = None,
    block: int | None = None,
) -> LedgerTransaction:
    """Book moves without zero amounts: Postgres refuses a zero."""
    postings = tuple(Posting(account, units) for account, units in moves)
    return LedgerTransaction(kind, f"{kind}/{key}", swap_id, network, block, postings)


# Accounts


def _token_account(kind: AccountKind, what: Deposit | Intent) -> Account:
    return Account(kind, what.network, what.token)


def _treasury(network: str, token: str, address: str) -> Account:
    return Account(AccountKind.CUSTODY, network, token, holder=Holder.TREASURY, address=address)


def _at_address(network: str, token: str, address: str) -> Account:
    holder = Holder.DEPOSIT_ADDRESS
    return Account(AccountKind.CUSTODY, network, token, holder=holder, address=address)


def _custody(deposit: Deposit) -> Account:
    if deposit.method is Method.DEPOSIT_ADDRESS:
        return _at_address(deposit.network, deposit.token, deposit.to_address)
    return _treasury(deposit.network, deposit.token, deposit.to_address)


def _signer(network: str, native: str, address: str) -> Account:
    return Account(AccountKind.CUSTODY, network, native, holder=Holder.SIGNER, address=address)


def _source(kind: AccountKind, swap: Swap, deposit_id: UUID | None = None) -> Account:
    source = swap.terms.source
    return Account(kind, source.network, source.token, swap.id, deposit_id)


def _destination(kind: AccountKind, swap: Swap) -> Account:
    destination = swap.terms.destination
    return Account(kind, destination.network, destination.token, swap.id)


def _suspense(deposit: Deposit) -> Account:
    """The account of a movement without a swap: suspense, or the owner's equity."""
    if deposit.method is Method.FUNDING:
        return _token_account(AccountKind.EQUITY, deposit)
    return Account(AccountKind.SUSPENSE, deposit.network, deposit.token, deposit_id=deposit.id)


# Movements without a swap


def deposit_received(deposit: Deposit) -> LedgerTransaction:
    """Value without a swap arrived: the owner's funding, or in suspense."""
    return _transaction(
        "funded" if deposit.method is Method.FUNDING else "suspended",
        f"{deposit.id}/{deposit.version}",
        (_custody(deposit), deposit.base_units),
        (_suspense(deposit), -deposit.base_units),
        network=deposit.network,
        block=deposit.block_number,
    )


def receipt_reversed(deposit: Deposit, *, version: int) -> LedgerTransaction:
    """A reorg removed it. :param deposit: as it was booked."""
    return _transaction(
        "unfunded" if deposit.method is Method.FUNDING else "unsuspended",
        f"{deposit.id}/{version}",
        (_suspense(deposit), deposit.base_units),
        (_custody(deposit), -deposit.base_units),
        network=deposit.network,
        block=deposit.block_number,
    )


def deposit_matched(swap: Swap, deposit: Deposit) -> LedgerTransaction:
    """A deposit in suspense belongs to this swap."""
    return _transaction(
        "matched",
        f"{deposit.id}/{deposit.version}",
        (_suspense(deposit), deposit.base_units),
        (_source(AccountKind.SWAP_LIABILITY, swap), -deposit.base_units),
        swap_id=swap.id,
    )


# Deposits of a swap


def deposit_credited(swap: Swap, deposit: Deposit) -> LedgerTransaction:
    return _transaction(
        "credited",
        f"{deposit.id}/{deposit.version}",
        (_custody(deposit), deposit.base_units),
        (_source(AccountKind.SWAP_LIABILITY, swap), -deposit.base_units),
        swap_id=swap.id,
        network=deposit.network,
        block=deposit.block_number,
    )


def credit_reversed(swap: Swap, deposit: Deposit, *, version: int) -> LedgerTransaction:
    """A reorg removed it before anything was paid for it. :param deposit: as it was booked."""
    return _transaction(
        "credit_reversed",
        f"{deposit.id}/{version}",
        (_source(AccountKind.SWAP_LIABILITY, swap), deposit.base_units),
        (_custody(deposit), -deposit.base_units),
        swap_id=swap.id,
        network=deposit.network,
        block=deposit.block_number,
    )


def deposit_lost(swap: Swap, deposit: Deposit, leg: Leg = None) -> LedgerTransaction:
    """A reorg removed a deposit that was paid for, or refunded: our loss, never the user's debt."""
    base_units = _on(deposit, leg)
    return _transaction(
        "lost",
        _version_of(deposit, leg),
        (_source(AccountKind.LOSS, swap, leg), base_units),
        (_custody(deposit), -base_units),
        swap_id=swap.id,
        network=deposit.network,
        block=deposit.block_number,
    )


def deposit_recovered(swap: Swap, deposit: Deposit, leg: Leg = None) -> LedgerTransaction:
    """A lost deposit is mined again: it is not credited a second time."""
    base_units = _on(deposit, leg)
    return _transaction(
        "recovered",
        _version_of(deposit, leg),
        (_custody(deposit), base_units),
        (_source(AccountKind.LOSS, swap, leg), -base_units),
        swap_id=swap.id,
        network=deposit.network,
        block=deposit.block_number,
    )


def claimable(swap: Swap, base_units: int, leg: Leg = None) -> LedgerTransaction:
    """Nothing can be sent for a leg: it waits for its owner."""
    return _transaction(
        "claimable",
        _at(swap, leg),
        (_source(AccountKind.SWAP_LIABILITY, swap, leg), base_units),
        (_source(AccountKind.CLAIMABLE, swap, leg), -base_units),
        swap_id=swap.id,
    )


def claimable_to_liability(swap: Swap, base_units: int, leg: Leg = None) -> LedgerTransaction:
    """What waited for its owner is about to be sent back."""
    return _transaction(
        "unclaimed",
        _at(swap, leg),
        (_source(AccountKind.CLAIMABLE, swap, leg), base_units),
        (_source(AccountKind.SWAP_LIABILITY, swap, leg), -base_units),
        swap_id=swap.id,
    )


def claim_reversed(swap: Swap, deposit: Deposit, leg: Leg, *, version: int) -> LedgerTransaction:
    """A reorg took what was claimable on a leg. :param deposit: as it was booked."""
    base_units = _on(deposit, leg)
    return _transaction(
        "claim_reversed",
        f"{deposit.id}/{version}" if leg is None else f"{deposit.id}/{version}/own",
        (_source(AccountKind.CLAIMABLE, swap, leg), base_units),
        (_source(AccountKind.SWAP_LIABILITY, swap), -base_units),
        swap_id=swap.id,
    )


def excess_returned(swap: Swap, deposit: Deposit, base_units: int) -> LedgerTransaction:
    """The part of a deposit that its swap does not use is claimable on a separate leg."""
    return _transaction(
        "returned",
        f"{deposit.id}/{deposit.version}/{swap.sequence}",
        (_source(AccountKind.SWAP_LIABILITY, swap), base_units),
        (_source(AccountKind.CLAIMABLE, swap, deposit.id), -base_units),
        swap_id=swap.id,
    )


def _at(swap: Swap, leg: Leg) -> str:
    return f"{swap.id}/{swap.sequence}" if leg is None else f"{swap.id}/{swap.sequence}/{leg}"


def _version_of(deposit: Deposit, leg: Leg) -> str:
    key = f"{deposit.id}/{deposit.version}"
    return key if leg is None else f"{key}/own"


def _on(deposit: Deposit, leg: Leg) -> int:
    """Return what of a deposit stands on a leg."""
    return deposit.main_base_units if leg is None else deposit.returned_base_units


# Quote and payout


def _quote_moves(swap: Swap) -> tuple[Move, ...]:
    source, destination = swap.terms.source, swap.terms.destination
    requested, fee = swap.quote.swapped_base_units, swap.quote.fee_base_units
    payout = swap.quote.payout_base_units
    return (
        (_source(AccountKind.SWAP_LIABILITY, swap), requested),
        (Account(AccountKind.POSITION, source.network, source.token), fee - requested),
        (Account(AccountKind.FEE_INCOME, source.network, source.token), -fee),
        (Account(AccountKind.POSITION, destination.network, destination.token), payout),
        (_destination(AccountKind.SWAP_LIABILITY, swap), -payout),
    )


def quote_executed(swap: Swap, output: Intent) -> LedgerTransaction:
    """The source asset becomes inventory, and the destination asset is owed."""
    return _transaction("quote_executed", str(output.id), *_quote_moves(swap), swap_id=swap.id)


def quote_reversed(swap: Swap, output: Intent) -> LedgerTransaction:
    back = ((account, -units) for account, units in _quote_moves(swap))
    return _transaction("quote_reversed", str(output.id), *back, swap_id=swap.id)


def payout_reserved(swap: Swap, intent: Intent) -> LedgerTransaction:
    return _transaction(
        f"{_name(intent)}_reserved",
        str(intent.id),
        (_leg_of(AccountKind.SWAP_LIABILITY, intent), intent.base_units),
        (_leg_of(AccountKind.IN_FLIGHT, intent), -intent.base_units),
        swap_id=swap.id,
    )


def payout_released(swap: Swap, intent: Intent) -> LedgerTransaction:
    """The payment is dead: what was reserved for it is owed again."""
    return _transaction(
        f"{_name(intent)}_released",
        str(intent.id),
        (_leg_of(AccountKind.IN_FLIGHT, intent), intent.base_units),
        (_leg_of(AccountKind.SWAP_LIABILITY, intent), -intent.base_units),
        swap_id=swap.id,
    )


def payout_final(intent: Intent, *, block_number: int, treasury: str) -> LedgerTransaction:
    return _transaction(
        f"{_name(intent)}_final",
        str(intent.id),
        (_leg_of(AccountKind.IN_FLIGHT, intent), intent.base_units),
        (_treasury(intent.network, intent.token, treasury), -intent.base_units),
        swap_id=intent.swap_id,
        network=intent.network,
        block=block_number,
    )


def claim_reserved(claim: Intent) -> LedgerTransaction:
    """What waited for its owner is on its way to an address that an operator was given."""
    return _transaction(
        "claim_reserved", str(claim.id), *_claim_moves(claim), swap_id=claim.swap_id
    )


def claim_released(claim: Intent) -> LedgerTransaction:
    """The payment is dead: it waits for its owner again."""
    back = ((account, -units) for account, units in _claim_moves(claim))
    return _transaction("claim_released", str(claim.id), *back, swap_id=claim.swap_id)


def _claim_moves(claim: Intent) -> tuple[Move, ...]:
    has_no_swap = claim.swap_id is None
    waited = AccountKind.SUSPENSE if has_no_swap else AccountKind.CLAIMABLE
    return (
        (_leg_of(waited, claim), claim.base_units),
        (_leg_of(AccountKind.IN_FLIGHT, claim), -claim.base_units),
    )


def refund_cost(swap: Swap, refund: Intent) -> LedgerTransaction:
    """The user pays for the gas of what is sent back."""
    return _transaction("refund_cost", str(refund.id), *_cost_moves(refund), swap_id=swap.id)


def refund_cost_reversed(swap: Swap, refund: Intent) -> LedgerTransaction:
    """The refund is dead: its cost is not charged."""
    back = ((account, -units) for account, units in _cost_moves(refund))
    return _transaction("refund_cost_reversed", str(refund.id), *back, swap_id=swap.id)


def _cost_moves(refund: Intent) -> tuple[Move, ...]:
    cost = refund.charged_base_units - refund.base_units
    return (
        (_leg_of(AccountKind.SWAP_LIABILITY, refund), cost),
        (_token_account(AccountKind.GAS_RECOVERED, refund), -cost),
    )


def _name(intent: Intent) -> str:
    is_output = intent.kind is IntentKind.OUTPUT
    return "payout" if is_output else intent.kind.value


def _leg_of(kind: AccountKind, intent: Intent) -> Account:
    """Return the account of the leg that a payment settles, in what it pays."""
    if intent.kind is IntentKind.REFUEL:
        kind = OF_REFUELS[kind]
    of = (intent.network, intent.token, intent.swap_id, intent.deposit_id)
    return Account(kind, *of, app_id=intent.app_id)


def payout_unexplained(
    *,
    network: str,
    token: str,
    paid_id: int,
    transaction_hash: str,
    base_units: int,
    block_number: int,
    treasury: str,
) -> LedgerTransaction:
    """The Treasury made a payment that no attempt ordered."""
    return _transaction(
        "payout_unexplained",
        f"{network}/{paid_id}/{transaction_hash}",
        (Account(AccountKind.PAYOUT_SUSPENSE, network, token), base_units),
        (_treasury(network, token, treasury), -base_units),
        network=network,
        block=block_number,
    )


# The signers' gas money


def gas_spent(
    *, network: str, signer: str, native: str, nonce: int, base_units: int, block_number: int
) -> LedgerTransaction:
    """Once per nonce, whatever its transaction did."""
    return _transaction(
        "gas",
        f"{network}/{signer}/{nonce}",
        (Account(AccountKind.GAS_EXPENSE, network, native), base_units),
        (_signer(network, native, signer), -base_units),
        network=network,
        block=block_number,
    )


def signer_topped_up(
    *, network: str, signer: str, native: str, base_units: int, block_number: int
) -> LedgerTransaction:
    """Its balance rose, and no transaction of the service explains it: the owner's money."""
    return _transaction(
        "topped_up",
        f"{network}/{signer}/{block_number}",
        (_signer(network, native, signer), base_units),
        (Account(AccountKind.EQUITY, network, native), -base_units),
        network=network,
        block=block_number,
    )


# Refuels, beside the payments of them


def refuel_bought(swap: Swap, refuel: Refuel) -> LedgerTransaction:
    """Source asset becomes inventory, and the destination's native coin is owed."""
    return _transactions("refuel_bought", _now(swap), *_refuel_moves(swap, refuel), swap_id=swap.id)


def refuel_unbought(swap: Swap, refuel: Refuel) -> LedgerTransaction:
    """Its output is dead, and nothing of the refuel was sent."""
    back = ((account, -units) for account, units in _refuel_moves(swap, refuel))
    return _transactions("refuel_unbought", _now(swap), *back, swap_id=swap.id)


def refuel_claimable(swap: Swap, refuel: Refuel) -> LedgerTransaction:
    """It cannot be sent: it waits for the recipient of the output."""
    return _transactions(
        "refuel_claimable",
        _now(swap),
        (_coin(AccountKind.REFUEL_LIABILITY, swap), refuel.base_units),
        (_coin(AccountKind.CLAIMABLE, swap), -refuel.base_units),
        swap_id=swap.id,
    )


def refuel_lost(swap: Swap, intent: Intent) -> LedgerTransaction:
    """It was sent for a deposit that a reorg took: our loss, never a debt of the user."""
    return _transactions(
        "refuel_lost",
        _now(swap),
        (_source(AccountKind.LOSS, swap), intent.charged_base_units),
        (_source(AccountKind.SWAP_LIABILITY, swap), -intent.charged_base_units),
        swap_id=swap.id,
    )


def refuel_charge_retained(swap: Swap, intent: Intent) -> LedgerTransaction:
    """The charge stays with the service: its refuel was never sent."""
    return _transactions(
        "refuel_kept",
        _now(swap),
        (_coin(AccountKind.REFUEL_LIABILITY, swap), intent.base_units),
        (Account(AccountKind.POSITION, intent.network, NATIVE), -intent.base_units),
        swap_id=swap.id,
    )


def _now(swap: Swap) -> str:
    return f"{swap.id}/{swap.sequence}"


def _refuel_moves(swap: Swap, refuel: Refuel) -> tuple[Move, ...]:
    source, network = swap.terms.source, swap.terms.destination.network
    return (
        (_source(AccountKind.SWAP_LIABILITY, swap), refuel.charged_base_units),
        (Account(AccountKind.POSITION, source.network, source.token), -refuel.charged_base_units),
        (Account(AccountKind.POSITION, network, NATIVE), refuel.base_units),
        (_coin(AccountKind.REFUEL_LIABILITY, swap), -refuel.base_units),
    )


def _coin(kind: AccountKind, swap: Swap) -> Account:
    return Account(kind, swap.terms.destination.network, NATIVE, swap.id)


# A partner's fee: earned with the output, on its way, and back


def partner_fee_of(quote: QuoteTerms) -> int:
    """Return what of the fee is the partner's, in source base units."""
    return int(json.loads(quote.document).get("partner_fee_base_units", "0"))


def partner_fee_basis_points_of(quote: QuoteTerms) -> int:
    """Return what the swap's app takes of whatever is swapped."""
    return int(json.loads(quote.document).get("partner_fee_basis_points", 0))


def partner_fee_earned(swap: Swap, output: Intent) -> tuple[LedgerTransaction, ...]:
    """The output is final, so that nothing reverses the quote any more: the fee is owed."""
    fee, source = partner_fee_of(swap.quote), swap.terms.source
    if not fee:
        return ()
    income = Account(AccountKind.FEE_INCOME, source.network, source.token)
    owed = Account(AccountKind.PARTNER_FEE, source.network, source.token, app_id=swap.terms.app_id)
    moves = ((income, fee), (owed, -fee))
    return (_transactions("partner_fee_earned", str(output.id), *moves, swap_id=swap.id),)


def partner_fee_reserved(payment: Intent) -> LedgerTransaction:
    """What is owed is on its way."""
    return _transactions("partner_fee_reserved", str(payment.id), *_partner_fee_moves(payment))


def partner_fee_released(payment: Intent) -> LedgerTransaction:
    """The payment is dead: it is owed again."""
    back = ((account, -units) for account, units in _partner_fee_moves(payment))
    return _transactions("partner_fee_released", str(payment.id), *back)


def _partner_fee_moves(payment: Intent) -> tuple[Move, ...]:
    owed, on_the_way = (
        Account(kind, payment.network, payment.token, app_id=payment.app_id)
        for kind in (AccountKind.PARTNER_FEE, AccountKind.IN_FLIGHT)
    )
    return (owed, payment.base_units), (on_the_way, -payment.base_units)


# What external transactions took out of a signer, and paid


def book_external_spending(
    *,
    network: str,
    signer: str,
    native: str,
    nonce: int,
    base_units: int,
    booked: int,
    block_number: int,
) -> LedgerTransaction:
    """Gas and value spent by an external transaction: a loss of the service.

    :param booked: what the ledger has of the signer. Top-ups while the nonce was unexplained are
        not booked yet: any amount beyond it was the owner's money.
    """
    held = min(base_units, booked)
    return _transaction(
        "foreign_spent",
        f"{network}/{signer}/{nonce}",
        (Account(AccountKind.LOSS, network, native), base_units),
        (_signer(network, native, signer), -held),
        (Account(AccountKind.EQUITY, network, native), held - base_units),
        network=network,
        block=block_number,
    )


def forgotten_spent(
    *, network: str, signer: str, native: str, base_units: int, block_number: int
) -> LedgerTransaction:
    """Gas of transactions that a restored ledger has forgotten: their purpose is unknown."""
    return _transactions(
        "forgotten_spent",
        f"{network}/{signer}/{block_number}",
        (Account(AccountKind.LOSS, network, native), base_units),
        (_signer(network, native, signer), -base_units),
        network=network,
        block=block_number,
    )


def book_reconciled_payout(payout: PayoutFact, treasury: str) -> LedgerTransaction:
    """An unexplained payment of the Treasury was a payment of an intent, and is booked as such."""
    network, token = payout.network, payout.token
    return _transactions(
        "payout_explained",
        f"{network}/{payout.paid_id}/{payout.transaction_hash}",
        (_treasury(network, token, treasury), payout.base_units),
        (Account(AccountKind.PAYOUT_SUSPENSE, network, token), -payout.base_units),
        network=network,
        block=payout.block_number,
    )
