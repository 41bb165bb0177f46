"""What comes for a swap on real chains, row by row and for every method: where is all of it?

All rows are played at once, each by a swap of its own; then each is asked about. What the settler
says is compared with what the chains say to the last base unit, and the oracle does so once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import httpx
import pytest

from tests.e2e.hasty import hasty_key
from tests.e2e.outside import Outside, Partner, Route, new_address
from tests.e2e.waiting import until
from tests.plugins.stack import Stack

ROUTE: Final = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.25")
ASKED: Final = 25 * 10**16
BELOW_MINIMUM: Final = 25 * 10**13
ABOVE_MAXIMUM: Final = 20 * 10**18
WITHIN_SECONDS: Final = 90
# What a creation says for each method. A new method is one more line.
METHODS: Final[Mapping[str, Mapping[str, object]]] = {
    "depository": {"use_depository": True},
    "direct": {"use_depository": False},
    "deposit_address": {"use_depository": False, "use_deposit_address": True},
}


@dataclass(frozen=True)
class Row:
    """What comes, and where the swap and its money are in the end."""

    name: str
    sends: tuple[int, ...]
    status: str = "completed"
    reason: str | None = None
    revision: int = 0
    back: int = 0  # refunds
    is_hasty: bool = False  # it has seconds to be funded
    is_late: bool = False  # and is funded after them
    sends_again: int = 0  # after the swap's end

    @property
    def sent(self) -> int:
        return sum(self.sends) + self.sends_again

    @property
    def transactions(self) -> int:
        """How many the swap shows in the end."""
        came = len(self.sends) + (self.sends_again > 0)
        return came + self.back + (self.status == "completed")


ROWS: Final = (
    Row("exactly what was asked for", (ASKED,)),
    Row("a part above the minimum", (ASKED // 2 * 3 // 2,), revision=1),
    Row(
        "a part below the minimum",
        (BELOW_MINIMUM,),
        status="refunded",
        reason="received_less_than_valid_range",
        back=1,
        is_hasty=True,
    ),
    Row("a second deposit after the end", (ASKED,), sends_again=ASKED // 3, back=1),
    Row("more than was asked for", (3 * ASKED,), revision=1),
    Row("more than the maximum", (ABOVE_MAXIMUM,), back=1),
    Row("nothing", (), status="expired", is_hasty=True),
    Row(
        "all of it after the deadline",
        (ASKED,),
        status="expired",
        back=1,
        is_hasty=True,
        is_late=True,
    ),
)


@dataclass(frozen=True)
class Played:
    swap: Mapping[str, Any]
    settled: Mapping[str, Any]  # as its operator sees it
    received: int
    sent_back: int


async def play(
    stack: Stack, outside: Outside, partner: Partner, row: Row, *, method: str, user: int
) -> Played:
    recipient, owner = new_address(), new_address()
    prepared = await partner.create(ROUTE, recipient, refund_address=owner, **METHODS[method])
    swap_id = str(prepared["swap"]["id"])
    if row.is_late:
        await ended(partner, swap_id, "expired", transactions=0)
    await asyncio.gather(
        *(outside.fund(prepared, ROUTE, user=user, value=value) for value in row.sends)
    )
    if row.sends_again:
        await ended(partner, swap_id, row.status, transactions=row.transactions - 2)
        await outside.fund(prepared, ROUTE, user=user, value=row.sends_again)
    swap = await ended(partner, swap_id, row.status, transactions=row.transactions)
    return Played(
        swap=swap,
        settled=await stack.admin("settler", f"/swaps/{swap_id}"),
        received=await outside.balance(ROUTE.destination_network, "ETH", recipient),
        sent_back=await outside.balance(ROUTE.source_network, "ETH", owner),
    )


async def ended(
    partner: Partner, swap_id: str, status: str, *, transactions: int
) -> Mapping[str, Any]:
    """Wait until nothing of the swap is under way any more, and return it."""

    async def shown() -> Mapping[str, Any] | None:
        swap: Mapping[str, Any] = (await partner.read(swap_id))["swap"]
        done = [t for t in swap["transactions"] if t["status"] == "completed"]
        is_all = len(done) == len(swap["transactions"]) == transactions
        return swap if swap["status"] == status and is_all else None

    what = f"{swap_id} is {status} with {transactions} transactions"
    return await until(shown, what=what, within=WITHIN_SECONDS)


async def play_all(stack: Stack) -> Mapping[tuple[str, str], Played]:
    plays = list(product(ROWS, METHODS))
    gateway = stack.description["gateway"]["url"]
    async with Outside(stack.description) as outside, httpx.AsyncClient(base_url=gateway) as http:
        hasty = Partner(http, await hasty_key(stack), patience=0)
        played = await asyncio.gather(
            *(
                play(
                    stack,
                    outside,
                    hasty if row.is_hasty else outside.partner(),
                    row,
                    method=method,
                    user=user,
                )
                for user, (row, method) in enumerate(plays)
            )
        )
    return {(row.name, method): one for (row, method), one in zip(plays, played, strict=True)}


@pytest.fixture(scope="module")
def played(stack: Stack) -> Mapping[tuple[str, str], Played]:
    return asyncio.run(play_all(stack))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_comes_is_where_its_row_says(
    played: Mapping[tuple[str, str], Played], row: Row, method: str
) -> None:
    one = played[row.name, method]
    swap, intents, deposits = one.swap, one.settled["intents"], one.settled["deposits"]

    assert (swap["status"], swap["fail_reason"]) == (row.status, row.reason)
    assert swap["quote_revision"] == row.revision
    assert (swap["last_requoted_at"] is not None) == (row.revision > 0)
    # What came is what was paid for and what goes back, and nothing is owed.
    assert sum(int(d["base_units"]) for d in deposits) == row.sent
    assert sum(int(i["charged_base_units"]) for i in intents) == row.sent
    assert one.settled["balances"] == []
    paid = {kind: sum(int(i["base_units"]) for i in intents if i["kind"] == kind)
            for kind in ("output", "refund")}  # fmt: skip
    assert (one.received, one.sent_back) == (paid["output"], paid["refund"])
    assert (one.received > 0, one.sent_back > 0) == (row.status == "completed", row.back > 0)
