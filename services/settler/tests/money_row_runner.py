"""Runs a row of `money_rows` on books in memory or on Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol

from services.settler.tests.factories import (
    ETHEREUM,
    USER,
    a_deposit_message,
    a_payout_message,
    a_refund_address,
    a_request,
    an_attachment,
    funding,
)
from services.settler.tests.money_rows import AFTER, METHODS, NUMBER, DepositEvent, Row, Way
from services.settler.tests.settler_harness import Settler
from swap_contracts.quoting import FundingMethod
from swap_domain.lifecycle import Status
from swap_settler.model.ledger.accounts import AccountKind
from swap_settler.model.swap import Intent, IntentKind, IntentState, Leg, Swap

QUOTER_WAIT: Final = timedelta(hours=1)
SOURCE_OWED: Final = (AccountKind.SWAP_LIABILITY, AccountKind.CLAIMABLE)
ROUNDS_MAX: Final = 10


class Books(Protocol):
    """The books on which a row is run."""

    async def swap(self) -> Swap: ...

    async def balance(self, kind: AccountKind, leg: Leg) -> int:
        """Return the liability of an account of the swap's source asset."""
        ...

    async def suspense(self) -> int:
        """Return deposits without a swap, of any token."""
        ...

    async def sums(self) -> Mapping[tuple[str, str], int]:
        """Return the sum of all bookings, per asset."""
        ...

    async def sign(self, intent: Intent, transaction_hash: str) -> None: ...

    async def close(self, intent: Intent) -> None:
        """Have other transactions consume the payment's nonces, so that it is dead."""
        ...

    async def advance_watcher(self, at: datetime) -> None:
        """Advance the chain-watcher to a time, with all its messages received."""
        ...

    async def exceed_quoter_patience(self, duration: timedelta) -> None: ...


class MoneyRowRunner:
    def __init__(self, row: Row, method: Way, settler: Settler, books: Books) -> None:
        self._row = row
        self._method = method
        self._settler = settler
        self._books = books
        self._versions: dict[int, int] = {}

    async def run(self, *, has_address: bool) -> None:
        row, settler = self._row, self._settler
        settler.quoter.refused = row.refused
        if row.share_ppm is not None:
            settler.quoter.share_ppm = row.share_ppm
        await settler.deposits(funding(units=row.liquidity))
        # Deposits at addresses are not swept yet; refunds are paid by the Treasury.
        await settler.deposits(funding(ETHEREUM))
        funding_method: FundingMethod = "direct" if self._method == "attached" else self._method
        await settler.requests(a_request(NUMBER, method=funding_method))
        if has_address:
            await settler.requests(a_refund_address(NUMBER))
        for one in row.events:
            await self._apply_event(one)
        if row.payment_dies:
            await self._prove_payment_dead()
        if row.is_over:
            await self._pass_deadline()
        await self.run_until_idle()

    async def _apply_event(self, one: DepositEvent) -> None:
        if one.at >= AFTER and self._settler.now < AFTER:
            await self.run_until_idle()
            await self._pass_deadline()
        if one.after == "paid":
            await self.run_until_idle()
        elif one.after == "signed":
            await self._sign()
        elif one.after == "dead":
            await self._prove_payment_dead()
        self._settler.now = max(self._settler.now, one.at)
        self._versions[one.nth] = self._versions.get(one.nth, 0) + 1
        message = a_deposit_message(
            one.state,
            nth=one.nth,
            units=one.units,
            version=self._versions[one.nth],
            block_time=one.at,
            **{**METHODS[self._method], **one.overrides},
        )
        await self._settler.deposits(message)
        if self._method == "attached":
            attachment = an_attachment(message, at=self._settler.now)
            await self._settler.requests(attachment)
        await self._requote()

    async def _requote(self) -> None:
        await self._settler.requote_swaps()
        if self._row.quoter_is_unavailable:
            assert (await self._books.swap()).status is Status.DEPOSIT_PENDING
            await self._books.exceed_quoter_patience(QUOTER_WAIT)
            await self._settler.requote_swaps()

    async def _pass_deadline(self) -> None:
        self._settler.now = AFTER
        await self._books.advance_watcher(AFTER)
        await self._settler.expire_swaps()

    async def run_until_idle(self) -> None:
        """Process and pay due work, until none is left."""
        for _ in range(ROUNDS_MAX):
            await self._settler.start_refunds()
            swap = await self._books.swap()
            open_intents = [i for i in swap.intents.values() if i.confirmed_at is None]
            if not open_intents:
                return
            for intent in open_intents:
                await self._pay(intent)
        raise AssertionError("it never comes to rest")

    async def _sign(self) -> None:
        for intent in (await self._books.swap()).intents.values():
            if intent.state is IntentState.RESERVED:
                await self._books.sign(intent, _hash(intent))

    async def _prove_payment_dead(self) -> None:
        for intent in (await self._books.swap()).intents.values():
            assert intent.has_open_attempt, "what dies is out"
            await self._books.close(intent)
            await self._settler.abandon(await self._books.swap(), intent.id)

    async def _pay(self, intent: Intent) -> None:
        transaction_hash = _hash(intent)
        if intent.state is IntentState.RESERVED:
            await self._books.sign(intent, transaction_hash)
        log = a_payout_message(
            "confirmed",
            transaction_hash=transaction_hash,
            intent_id=str(intent.paid_id),
            network=intent.network,
            token=intent.token,
            to_address=intent.to_address,
            base_units=str(intent.base_units),
        )
        await self._settler.payouts(log)


def _hash(intent: Intent) -> str:
    return f"0x{intent.id.hex:0>64}"


async def check(row: Row, books: Books, *, has_address: bool, cost: int) -> None:
    """Compare all balances with the row, to the base unit."""
    swap = await books.swap()
    assert (swap.status, swap.fail_reason) == _end(row, has_address=has_address)
    assert (swap.quote.revision, swap.quote.last_requoted_at is not None) == (
        row.revision,
        row.revision > 0,
    )
    assert _payouts(swap) == ([row.paid] if row.paid else [])
    back = _refunds(swap)
    refundable = [units for units in row.own if units > cost] if has_address else []
    assert sorted(back) == sorted([*([row.main] if row.main and has_address else []), *refundable])
    await _check_what_is_owed(row, books, swap, has_address=has_address, cost=cost)
    assert await books.suspense() == row.suspended
    assert set((await books.sums()).values()) <= {0}


async def _check_what_is_owed(
    row: Row, books: Books, swap: Swap, *, has_address: bool, cost: int
) -> None:
    legs: Sequence[Leg] = [None, *swap.deposits]
    claimable = [await books.balance(AccountKind.CLAIMABLE, leg) for leg in legs]
    suspended = [units for units in row.own if not has_address or units <= cost]
    main = [row.main] if row.main and not has_address else []
    assert sorted(units for units in claimable if units) == sorted([*main, *suspended])
    waiting = swap.credited_base_units if swap.status is Status.DEPOSIT_PENDING else 0
    assert sum([await books.balance(AccountKind.SWAP_LIABILITY, leg) for leg in legs]) == waiting
    assert sum([await books.balance(AccountKind.LOSS, leg) for leg in legs]) == -row.loss
    # All deposits are swapped, refunded or waiting.
    came = sum(d.base_units for d in swap.deposits.values() if d.is_booked)
    charged = sum(i.charged_base_units for i in swap.intents.values())
    assert came == charged + sum(claimable) + waiting


def _end(row: Row, *, has_address: bool) -> tuple[Status, object]:
    if row.status is not None:
        return row.status, row.reason
    if row.paid:
        return Status.COMPLETED, None
    return Status.REFUNDED if has_address else Status.FAILED, row.reason


def _payouts(swap: Swap) -> list[int]:
    return [i.base_units for i in swap.intents.values() if i.kind is IntentKind.OUTPUT]


def _refunds(swap: Swap) -> list[int]:
    refunds = [i for i in swap.intents.values() if i.kind is IntentKind.REFUND]
    assert all(i.to_address == USER for i in refunds)
    return [i.charged_base_units for i in refunds]
