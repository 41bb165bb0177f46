"""Every row of `money_rows`, for every funding method, on books in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from services.settler.tests.factories import ETHEREUM, swap_id
from services.settler.tests.fakes import FakeRequotes, FakeUnitOfWork
from services.settler.tests.money_row_runner import MoneyRowRunner, check
from services.settler.tests.money_rows import COST, METHODS, NUMBER, ROWS, Row, Way
from services.settler.tests.settler_harness import Settler
from swap_settler.model.ledger.accounts import AccountKind
from swap_settler.model.swap import Intent, Leg, Swap


class FakeBooks:
    def __init__(self, work: FakeUnitOfWork) -> None:
        self._work = work

    async def swap(self) -> Swap:
        return self._work.swap(swap_id(NUMBER))

    async def balance(self, kind: AccountKind, leg: Leg) -> int:
        swap = swap_id(NUMBER)
        return -self._work.balance(kind, network=ETHEREUM, swap_id=swap, deposit_id=leg)

    async def suspense(self) -> int:
        return -self._work.balance(AccountKind.SUSPENSE)

    async def sums(self) -> Mapping[tuple[str, str], int]:
        sums: Counter[tuple[str, str]] = Counter()
        for account, balance in self._work.balances.items():
            sums[account.network, account.token] += balance
        return sums

    async def sign(self, intent: Intent, transaction_hash: str) -> None:
        self._work.sign(intent.id, transaction_hash)

    async def close(self, intent: Intent) -> None:
        self._work.close(intent.id)

    async def advance_watcher(self, at: datetime) -> None:
        self._work.block_times[ETHEREUM] = at

    async def exceed_quoter_patience(self, duration: timedelta) -> None:
        self._work.wait(duration)


@pytest.mark.parametrize("has_address", [True, False], ids=["with address", "without"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.fault("W14", "W15", "W22", "W23", "M4")
async def test_a_deposit_ends_as_its_row_states(row: Row, method: Way, has_address: bool) -> None:
    if method in row.not_by:
        pytest.skip(row.not_by[method])
    work = FakeUnitOfWork()
    settler, books = Settler(work, work, requotes=FakeRequotes(work)), FakeBooks(work)

    await MoneyRowRunner(row, method, settler, books).run(has_address=has_address)

    await check(row, books, has_address=has_address, cost=COST)
