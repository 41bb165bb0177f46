"""Deposits on real chains, row by row and for every method, with the place of all money.

All rows run at once, each with a separate swap, for a coin and for a token; then each is checked.
The settler's amounts are compared with the chains to the last base unit, and the oracle compares
them again. Deposits of another token than the swap's are in `test_foreign_tokens.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import httpx
import pytest

from tests.e2e import gasless
from tests.e2e.other_amounts import pay
from tests.e2e.outside import Outside, Partner, Route, new_address
from tests.e2e.short_lived_app import create_short_lived_key
from tests.plugins.stack import Stack
from tests.support.waiting import until

WITHIN_SECONDS: Final = 150
PATIENCE: Final = 30.0


@dataclass(frozen=True)
class Sums:
    """The amounts of the rows, in base units."""

    requested: int
    below_minimum: int  # and worth its refund
    above_maximum: int


@dataclass(frozen=True)
class FundingWay:
    """A method, and the route of its swaps."""

    method: Mapping[str, bool]
    route: Route
    sums: Sums


COIN: Final = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.25")
OF_COIN: Final = Sums(25 * 10**16, 25 * 10**13, 20 * 10**18)
TOKEN: Final = Route("POLYGON_DEVNET", "USDC", "BASE_DEVNET", "USDC", "400")
OF_TOKEN: Final = Sums(400 * 10**6, 9 * 10**5, 60_000 * 10**6)
DIRECT: Final = {"use_depository": False}
DEPOSITORY: Final = {"use_depository": True}
ADDRESS: Final = {"use_depository": False, "use_deposit_address": True}
GASLESS: Final = "gasless, a token"
WAYS: Final[Mapping[str, FundingWay]] = {
    "depository, a coin": FundingWay(DEPOSITORY, COIN, OF_COIN),
    "depository, a token": FundingWay(DEPOSITORY, TOKEN, OF_TOKEN),
    "direct, a coin": FundingWay(DIRECT, COIN, OF_COIN),
    "direct, a token": FundingWay(DIRECT, TOKEN, OF_TOKEN),
    "deposit address, a coin": FundingWay(ADDRESS, COIN, OF_COIN),
    "deposit address, a token": FundingWay(ADDRESS, TOKEN, OF_TOKEN),
    GASLESS: FundingWay({"use_depository": False, "use_gasless": True}, TOKEN, OF_TOKEN),
}
SIGNED_SUM: Final = "a signature is for the amount that is asked for, and no other"


@dataclass(frozen=True)
class Row:
    """The deposits, and the final place of the swap and its money."""

    name: str
    sends: Callable[[Sums], tuple[int, ...]]
    status: str = "completed"
    reason: str | None = None
    revision: int = 0
    back: int = 0  # refunds
    is_short_lived: bool = False  # it expires within seconds
    is_late: bool = False  # and is funded after its expiry
    sends_again: Callable[[Sums], int] = lambda _: 0  # after the swap's end
    not_by_signature: str | None = None  # why it cannot happen to a gasless swap

    def sent(self, sums: Sums) -> int:
        return sum(self.sends(sums)) + self.sends_again(sums)

    def transactions(self, sums: Sums) -> int:
        """Return the number of transactions that the swap shows at its end."""
        came = len(self.sends(sums)) + (self.sends_again(sums) > 0)
        return came + self.back + (self.status == "completed")


ROWS: Final = (
    Row("exactly what was asked for", lambda sums: (sums.requested,)),
    Row(
        "a part above the minimum",
        lambda sums: (sums.requested // 2 * 3 // 2,),
        revision=1,
        not_by_signature=SIGNED_SUM,
    ),
    Row(
        "a part below the minimum",
        lambda sums: (sums.below_minimum,),
        status="refunded",
        reason="received_less_than_valid_range",
        back=1,
        is_short_lived=True,
        not_by_signature=SIGNED_SUM,
    ),
    Row(
        "a second deposit after the end",
        lambda sums: (sums.requested,),
        sends_again=lambda sums: sums.requested // 3,
        back=1,
        not_by_signature="its nonce is used: nobody can deposit with the signature again",
    ),
    Row(
        "more than was asked for",
        lambda sums: (3 * sums.requested,),
        revision=1,
        not_by_signature=SIGNED_SUM,
    ),
    Row(
        "more than the maximum",
        lambda sums: (sums.above_maximum,),
        back=1,
        not_by_signature=SIGNED_SUM,
    ),
    Row("nothing", lambda _: (), status="expired", is_short_lived=True),
    Row(
        "all of it after the deadline",
        lambda sums: (sums.requested,),
        status="expired",
        back=1,
        is_short_lived=True,
        is_late=True,
        not_by_signature="a signature is never valid beyond the deadline: nothing is sent for it",
    ),
)


@dataclass(frozen=True)
class Played:
    swap: Mapping[str, Any]
    settled: Mapping[str, Any]  # the operator's view of it
    received: int
    sent_back: int


async def play(
    stack: Stack,
    outside: Outside,
    partner: Partner,
    row: Row,
    *,
    way: FundingWay,
    user: int,
    is_funded: asyncio.Event,
) -> Played:
    recipient, owner = new_address(), new_address()
    prepared = await partner.create(way.route, recipient, refund_address=owner, **way.method)
    swap_id, network = str(prepared["swap"]["id"]), way.route.source_network
    if row.is_late:
        await ended(partner, swap_id, "expired", transactions=0)
    payer, sums = outside.user(network, user), way.sums
    for units in row.sends(sums):
        if "use_gasless" in way.method:
            await gasless.submit(outside, swap_id, payer)
        else:
            await pay(payer, prepared, units)
    is_funded.set()
    if row.sends_again(sums):
        await ended(partner, swap_id, row.status, transactions=row.transactions(sums) - 2)
        await pay(payer, prepared, row.sends_again(sums))
    swap = await ended(partner, swap_id, row.status, transactions=row.transactions(sums))
    return Played(
        swap=swap,
        settled=await stack.admin("settler", f"/swaps/{swap_id}"),
        received=await outside.balance(
            way.route.destination_network, way.route.destination_token, recipient
        ),
        sent_back=await outside.balance(network, way.route.source_token, owner),
    )


async def ended(
    partner: Partner, swap_id: str, status: str, *, transactions: int
) -> Mapping[str, Any]:
    """Wait until the swap has no work in progress, and return it."""

    async def shown() -> Mapping[str, Any] | None:
        swap: Mapping[str, Any] = (await partner.read(swap_id))["swap"]
        done = [t for t in swap["transactions"] if t["status"] == "completed"]
        is_all = len(done) == len(swap["transactions"]) == transactions
        return swap if swap["status"] == status and is_all else None

    what = f"{swap_id} is {status} with {transactions} transactions"
    return await until(shown, what=what, within=WITHIN_SECONDS, every=0.3)


def happens(row: Row, way: str) -> bool:
    return way != GASLESS or row.not_by_signature is None


async def play_all(stack: Stack) -> Mapping[tuple[str, str], Played | BaseException]:
    plays = [(row, way) for row, way in product(ROWS, WAYS) if happens(row, way)]
    # Swaps with seconds start before those with hours.
    plays.sort(key=lambda one: not one[0].is_short_lived)
    gateway = stack.description["gateway"]["url"]
    async with (
        Outside(stack.description, patience=PATIENCE) as outside,
        httpx.AsyncClient(base_url=gateway) as http,
    ):
        await gasless.offered_token(outside, TOKEN.source_network, TOKEN.source_token)
        short_lived = Partner(http, await create_short_lived_key(stack), patience=PATIENCE)
        playing: list[asyncio.Task[Played]] = []
        for row, way in plays:
            funded = asyncio.Event()
            partner = short_lived if row.is_short_lived else outside.partner()
            one = play(
                *(stack, outside, partner, row),
                way=WAYS[way],
                user=len(playing),
                is_funded=funded,
            )
            playing.append(asyncio.create_task(one))
            if row.is_short_lived and not row.is_late:
                until_then = {playing[-1], asyncio.create_task(funded.wait())}
                await asyncio.wait(until_then, return_when=asyncio.FIRST_COMPLETED)
        # Each is the result of one row; the others continue if it fails.
        played = await asyncio.gather(*playing, return_exceptions=True)
    return dict(zip([(row.name, way) for row, way in plays], played, strict=True))


@pytest.fixture(scope="module")
def played(stack: Stack) -> Mapping[tuple[str, str], Played | BaseException]:
    return asyncio.run(play_all(stack))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.fault("W15", "W22", "W23")
def test_a_deposit_is_booked_as_its_row_states(
    played: Mapping[tuple[str, str], Played | BaseException], row: Row, way: str
) -> None:
    if not happens(row, way):
        pytest.skip(str(row.not_by_signature))
    one = played[row.name, way]
    if isinstance(one, BaseException):
        raise one
    swap, settled, deposits = one.swap, one.settled["intents"], one.settled["deposits"]
    # The service's own transaction with a signed deposit moves none of the swap's money.
    intents = [intent for intent in settled if intent["kind"] in ("output", "refund")]

    assert (swap["status"], swap["fail_reason"]) == (row.status, row.reason)
    assert swap["quote_revision"] == row.revision
    assert (swap["last_requoted_at"] is not None) == (row.revision > 0)
    # All deposits are paid for or refunded, and nothing is owed.
    sent = row.sent(WAYS[way].sums)
    assert sum(int(d["base_units"]) for d in deposits) == sent
    assert sum(int(i["charged_base_units"]) for i in intents) == sent
    assert one.settled["balances"] == []
    paid = {kind: sum(int(i["base_units"]) for i in intents if i["kind"] == kind)
            for kind in ("output", "refund")}  # fmt: skip
    assert (one.received, one.sent_back) == (paid["output"], paid["refund"])
    assert (one.received > 0, one.sent_back > 0) == (row.status == "completed", row.back > 0)
