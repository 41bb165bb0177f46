"""Reads of operators on the internal port."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import timedelta

import aiohttp
import pytest

from services.settler.tests.factories import (
    OWNER,
    PAYOUT,
    REQUESTED,
    a_deposit_message,
    a_request,
    swap_id,
)
from services.settler.tests.integration.lanes import HASH, sign
from services.settler.tests.settler_harness import Settler
from swap_domain.catalogue import NATIVE
from swap_runtime.clock import utc_now
from swap_runtime.postgres.database import Engine
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.operator.http.records import RecordAdmin
from swap_settler.operator.store.records import PostgresRecords
from swap_settler.operator.usecases.inspect_records import InspectRecords
from swap_settler.operator.usecases.list_stuck import ListStuck
from swap_settler.settling.decide.dwelling import Dwell
from swap_settler.settling.store.dwelling import PostgresDwelling
from tests.support.serving import client_of, get

pytestmark = pytest.mark.connected


def client(engine: Engine) -> AbstractAsyncContextManager[aiohttp.ClientSession]:
    dwell = Dwell(payment=timedelta(hours=2), requote=timedelta(minutes=10))
    admin = RecordAdmin(
        InspectRecords(PostgresRecords(engine)),
        ListStuck(PostgresDwelling(engine, networks=[]), dwell, clock=utc_now),
    )
    return client_of(
        get("/admin/swaps/{id}", admin.swap),
        get("/admin/deposits/{id}", admin.deposit),
        get("/admin/claimable", admin.claimable),
        get("/admin/claimable/{id}", admin.one_claimable),
        get("/admin/stuck", admin.list_stuck),
    )


async def test_swap_is_shown_with_its_intents_attempts_and_ledger(engine: Engine) -> None:
    work = PostgresUnitOfWork(engine, consumer="settler")
    await Settler(work).paid_for()
    await sign(work)

    async with client(engine) as http:
        answer = await http.get(f"/admin/swaps/{swap_id(7)}")
        swap = await answer.json()

    assert swap["swap"]["status"] == "ls_transfer_pending"
    assert swap["swap"]["payout_base_units"] == str(PAYOUT)
    assert [(t["sequence"], t["cause"]) for t in swap["transitions"]] == [
        (1, "swap_requested"),
        (2, "deposit_confirmed"),
    ]
    assert [d["state"] for d in swap["deposits"]] == ["credited"]
    assert [i["state"] for i in swap["intents"]] == ["assigned"]
    assert [a["transaction_hash"] for a in swap["attempts"]] == [HASH]
    assert {p["kind"] for p in swap["ledger"]} == {
        "credited",
        "quote_executed",
        "payout_reserved",
    }
    assert [(b["kind"], b["balance"]) for b in swap["balances"]] == [("in_flight", f"-{PAYOUT}")]


@pytest.mark.parametrize(
    ("id", "status"), [("nonsense", 400), ("00000000-0000-0000-0000-000000000009", 404)]
)
async def test_explains_an_invalid_swap_id(engine: Engine, id: str, status: int) -> None:
    async with client(engine) as http:
        assert (await http.get(f"/admin/swaps/{id}")).status == status


async def test_deposit_is_shown_with_its_ledger_and_balance(engine: Engine) -> None:
    run = Settler(PostgresUnitOfWork(engine, consumer="settler"))
    await run.requests(a_request())
    of_swap, without = a_deposit_message(), a_deposit_message(number=99, units=5)
    funding = a_deposit_message(
        number=None, units=8, kind="native_received", token=NATIVE, from_address=OWNER
    )
    await run.deposits(of_swap, without, funding)

    async with client(engine) as http:
        shown = await (await http.get(f"/admin/deposits/{without.body.deposit_id}")).json()
        own = await (await http.get(f"/admin/deposits/{of_swap.body.deposit_id}")).json()
        funded = await (await http.get(f"/admin/deposits/{funding.body.deposit_id}")).json()
        claimable = (await (await http.get("/admin/claimable")).json())["claimable"]

    [balance] = [one for one in claimable if one["deposit_id"] == shown["deposit"]["id"]]
    assert (shown["deposit"]["swap_id"], shown["deposit"]["base_units"]) == (None, "5")
    assert [(one["kind"], one["account"], one["base_units"]) for one in shown["ledger"]] == [
        ("suspended", "custody", "5"),
        ("suspended", "suspense", "-5"),
    ]
    assert [(one["id"], one["base_units"]) for one in shown["balances"]] == [(balance["id"], "5")]
    assert shown["payments"] == own["payments"] == own["balances"] == []
    assert own["deposit"]["swap_id"] == str(swap_id(7))
    assert {one["kind"] for one in own["ledger"]} == {"credited"}
    assert sum(int(one["base_units"]) for one in own["ledger"]) == 0
    assert [(one["kind"], one["account"], one["base_units"]) for one in funded["ledger"]] == [
        ("funded", "custody", "8"),
        ("funded", "equity", "-8"),
    ]


@pytest.mark.parametrize(
    ("id", "status"), [("nonsense", 400), ("00000000-0000-0000-0000-000000000009", 404)]
)
async def test_explains_an_invalid_deposit_id(engine: Engine, id: str, status: int) -> None:
    async with client(engine) as http:
        assert (await http.get(f"/admin/deposits/{id}")).status == status


async def test_lists_what_waits_for_its_owner(engine: Engine) -> None:
    run = Settler(PostgresUnitOfWork(engine, consumer="settler"))
    await run.requests(a_request())
    await run.deposits(a_deposit_message(), a_deposit_message(number=99, units=5))

    async with client(engine) as http:
        listed = (await (await http.get("/admin/claimable")).json())["claimable"]

    assert [(one["kind"], one["base_units"]) for one in listed] == [
        ("claimable", str(REQUESTED)),
        ("suspense", "5"),
    ]


async def test_claimable_balances_are_paged_and_found_by_their_ids(engine: Engine) -> None:
    run = Settler(PostgresUnitOfWork(engine, consumer="settler"))
    for number in (97, 98, 99):
        await run.deposits(a_deposit_message(number=number, units=number))

    async with client(engine) as http:
        first = await (await http.get("/admin/claimable?limit=2")).json()
        second = await (await http.get("/admin/claimable", params=first["next"])).json()
        id = second["claimable"][0]["id"]
        found = await (await http.get(f"/admin/claimable/{id}")).json()
        missing = [
            (await http.get(f"/admin/claimable/{id}")).status for id in ("0", "none", "9" * 30)
        ]

    units = [[one["base_units"] for one in page["claimable"]] for page in (first, second)]
    assert units == [["97", "98"], ["99"]]
    assert second["next"] is None
    assert found == {"claimable": second["claimable"][0]}
    assert missing == [404, 404, 404]


@pytest.mark.parametrize(
    "path",
    [
        "claimable?after=x",
        "claimable?limit=x",
        "stuck?after_at=yesterday",
        "stuck?after_at=2026-01-01T00:00:00",
        "stuck?after_id=x",
        "stuck?after_at=2026-01-01T00:00:00Z",
    ],
)
async def test_wrong_place_in_a_list_is_explained(engine: Engine, path: str) -> None:
    async with client(engine) as http:
        answer = await http.get(f"/admin/{path}")

        assert answer.status == 400
        assert (await answer.json())["error"].startswith(path.partition("?")[2].partition("=")[0])
