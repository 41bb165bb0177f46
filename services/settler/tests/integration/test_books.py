"""Balances, losses and invariants in the operators' API."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from services.settler.tests.integration.test_loss_budget import guarding, lost
from services.settler.tests.lane_harness import DESTINATION, NOW, SOURCE, World, a_deposit
from swap_runtime.errors import RequestRefused, Unavailable
from swap_runtime.postgres.sql import sql
from swap_runtime.telemetry.metrics import REGISTRY
from swap_settler.operator import observe
from swap_settler.operator.http.books import BooksAdmin
from swap_settler.operator.store.backlogs import PostgresBacklogs
from swap_settler.operator.store.invariants import PostgresInvariants, read_queries
from swap_settler.operator.store.losses import PostgresLosses
from swap_settler.operator.usecases.check_invariants import REPORT_VALID_FOR, CheckInvariants
from swap_settler.operator.usecases.guard_losses import GuardLosses
from swap_settler.operator.usecases.show_balances import ShowBalances
from tests.plugins.invariants import FOLDER, make_views
from tests.plugins.postgres import Database
from tests.support.serving import client_of, get

pytestmark = pytest.mark.connected
QUERIES = read_queries((FOLDER / "queries.sql").read_text())
DUE = f"INSERT INTO refund_due (network, swap_id) SELECT '{SOURCE}', id FROM swap"
# Two refunds that are due and two that are ordered, of one moment; one is on another network.
REFUNDS = (
    f"INSERT INTO refund_due (network, swap_id, since) SELECT '{SOURCE}', id, '{NOW}' FROM swap"
    " ORDER BY id LIMIT 2",
    f"UPDATE intent SET kind = 'refund', network = '{SOURCE}', created_at = '{NOW}'",
    f"UPDATE intent SET network = '{DESTINATION}' WHERE swap_id = "
    "(SELECT id FROM swap ORDER BY id DESC LIMIT 1)",
    "UPDATE intent SET state = 'dead' WHERE swap_id IN (SELECT swap_id FROM refund_due)",
)
BUDGET = 5 * 10**9  # micro-dollars


@pytest.fixture
def views(database: Database) -> None:
    make_views(database.superuser_url, {})


def books(world: World, checked: CheckInvariants | None = None) -> BooksAdmin:
    treasuries = {
        name: network.contracts.treasury for name, network in world.catalogue.networks.items()
    }
    losses = GuardLosses(
        PostgresLosses(world.engine),
        budgets={SOURCE: BUDGET, DESTINATION: BUDGET},
        span=timedelta(days=1),
    )
    balances = ShowBalances(PostgresBacklogs(world.engine, treasuries=treasuries))
    return BooksAdmin(balances, losses, checked, catalogue=world.catalogue)


def checking(world: World) -> CheckInvariants:
    return CheckInvariants(PostgresInvariants(world.engine, QUERIES), clock=lambda: NOW)


async def read(handler: Any, status: int = 200, **query: str) -> Any:
    async with client_of(get("/", handler)) as http, http.get("/", params=query) as answer:
        assert answer.status == status, await answer.text()
        return await answer.json()


async def test_every_asset_of_the_catalogue_has_a_symbol_and_decimals(world: World) -> None:
    assets = await read(books(world).assets)

    assert set(assets["networks"]) == set(world.catalogue.networks)
    assert {"network", "token", "symbol", "decimals"} == set(assets["assets"][0])


async def test_balances_name_what_is_held_and_owed_and_what_waits(world: World) -> None:
    await world.confirmed_swaps(1)

    report = await read(books(world).balances)

    [one] = [row for row in report["balances"] if int(row["owed_base_units"])]
    assert (one["network"], one["treasury_base_units"]) == (DESTINATION, None)
    [waiting] = report["backlogs"]
    assert (waiting["network"], waiting["count"]) == (SOURCE, 1)


async def test_balances_are_the_sums_of_their_accounts(world: World) -> None:
    await world.confirmed_swaps(3)
    admin = books(world)

    for cover in (await read(admin.balances))["balances"]:
        asset = {name: cover[name] for name in ("network", "token")}
        held, owed = int(cover["held_base_units"]), int(cover["owed_base_units"])
        for side, sum_of_side in (("held", held), ("owed", owed), ("free", held - owed)):
            page = await read(admin.accounts, side=side, limit="2", **asset)
            accounts = page["accounts"]
            while page["next"]:
                page = await read(admin.accounts, side=side, limit="2", **asset, **page["next"])
                accounts += page["accounts"]
            total = sum(int(one["base_units"]) for one in accounts)
            assert total == sum_of_side, (cover, side)
            assert side != "owed" or all(one["swap_id"] for one in accounts)


async def test_side_of_an_asset_is_held_owed_or_free(world: World) -> None:
    refused = await read(books(world).accounts, 400, network=SOURCE, token="0x01", side="both")

    assert refused == {"error": "side is held, owed or free"}


async def test_backlogs_are_made_of_their_deposits(world: World) -> None:
    await world.confirmed_swaps(3)
    admin = books(world)
    [waiting] = (await read(admin.balances))["backlogs"]
    filters = {"kind": waiting["kind"], "network": SOURCE, "limit": "2"}

    first = await read(admin.waiting, **filters)
    last = await read(admin.waiting, **filters, **first["next"])

    rows = first["waiting"] + last["waiting"]
    assert (waiting["count"], last["next"]) == (3, None)
    assert len({row["deposit_id"] for row in rows}) == len({row["swap_id"] for row in rows}) == 3
    assert (await read(admin.waiting, **{**filters, "kind": "refunds"}))["waiting"] == []
    assert "deposits or refunds" in (await read(admin.waiting, 400, kind="all"))["error"]


async def test_refunds_that_wait_are_listed(world: World) -> None:
    await world.confirmed_swaps(1)
    async with world.engine.begin() as connection:
        await connection.execute(sql(DUE))
    admin = books(world)

    backlogs = (await read(admin.balances))["backlogs"]
    page = await read(admin.waiting, kind="refunds", network=SOURCE)

    assert [one["count"] for one in backlogs if one["kind"] == "refunds"] == [1]
    [row] = page["waiting"]
    assert (row["deposit_id"], page["next"]) == (None, None)


async def test_refunds_of_one_moment_are_each_on_one_page_of_their_network(world: World) -> None:
    await world.confirmed_swaps(4)
    async with world.engine.begin() as connection:
        await connection.execute(sql("SET LOCAL session_replication_role = replica"))
        for statement in REFUNDS:
            await connection.execute(sql(statement))
    admin = books(world)
    filters = {"kind": "refunds", "network": SOURCE, "limit": "2"}

    backlogs = (await read(admin.balances))["backlogs"]
    first = await read(admin.waiting, **filters)
    last = await read(admin.waiting, **filters, **first["next"])
    there = await read(admin.waiting, **{**filters, "network": DESTINATION})

    counts = {one["network"]: one["count"] for one in backlogs if one["kind"] == "refunds"}
    assert counts == {SOURCE: 3, DESTINATION: 1}
    rows = first["waiting"] + last["waiting"]
    assert (len(first["waiting"]), len(last["waiting"]), last["next"]) == (2, 1, None)
    assert len({row["since"] for row in rows}) == 1
    assert len({row["swap_id"] for row in [*rows, *there["waiting"]]}) == 4
    assert there["next"] is None


async def test_losses_stand_beside_their_budgets_with_their_swaps(world: World) -> None:
    await lost(world)
    await guarding(world)()

    losses = await read(books(world).losses)

    of_source = next(row for row in losses["networks"] if row["network"] == SOURCE)
    assert (of_source["usd_micros"], of_source["is_stopped"]) == (str(3000 * 10**6), True)
    [entry] = losses["entries"]
    assert (entry["kind"], entry["network"], entry["swap_id"] is None) == ("lost", SOURCE, False)


async def test_each_loss_is_on_one_page(world: World) -> None:
    for number in range(1, 6):
        await lost(world, number)
    async with world.engine.begin() as connection:
        await connection.execute(sql("SET LOCAL session_replication_role = replica"))
        await connection.execute(sql(f"UPDATE ledger_transaction SET at = '{NOW}'"))
    admin = books(world)

    page = await read(admin.losses, limit="2")
    assert len({one["at"] for one in page["entries"]}) == 1
    sizes, swaps = [len(page["entries"])], [one["swap_id"] for one in page["entries"]]
    while page["next"]:
        page = await read(admin.losses, limit="2", **page["next"])
        assert {row["network"] for row in page["networks"]} == {SOURCE, DESTINATION}
        sizes.append(len(page["entries"]))
        swaps += [one["swap_id"] for one in page["entries"]]

    assert (sizes, len(set(swaps))) == ([2, 2, 1], 5)
    assert "after_at" in (await read(admin.losses, 400, after_at="yesterday"))["error"]


async def test_invariants_that_hold_have_no_rows(world: World, views: None) -> None:
    report = await read(books(world, checking(world)).invariants)

    assert [row["name"] for row in report["invariants"]] == list(QUERIES)
    assert {row["failure"] for row in report["invariants"]} == {None}
    # The deposits of these tests are not in the watcher's tables.
    assert [row for row in report["invariants"] if row["rows"] and "I-08" not in row["name"]] == []


async def test_the_rows_that_break_an_invariant_are_shown(world: World, views: None) -> None:
    await world.settle(a_deposit(1))
    query = {"every deposit": "SELECT id, swap_id, amount FROM deposit"}
    invariants = PostgresInvariants(world.engine, query)

    [result] = await invariants.check(lambda: None)

    assert set(result.rows[0]) == {"id", "swap_id", "amount"}


async def test_a_query_that_takes_too_long_is_a_failure(world: World, views: None) -> None:
    query = {"slow": "SELECT pg_sleep(11)"}
    invariants = PostgresInvariants(world.engine, query, timeout=timedelta(milliseconds=50))

    [result] = await invariants.check(lambda: None)

    assert result.failure
    assert result.rows == ()


async def test_a_broken_query_is_a_failure_and_the_others_are_shown(
    world: World, views: None
) -> None:
    queries = {
        "before": "SELECT 1 AS row",
        "unknown table": "SELECT * FROM no_such_table",
        "no syntax": "SELECT FROM WHERE",
        "of its rows": "SELECT 1 / (number - 1) AS row FROM generate_series(1, 2) AS number",
        "after": "SELECT 2 AS row",
    }

    results = await PostgresInvariants(world.engine, queries).check(lambda: None)

    assert [result.name for result in results] == list(queries)
    assert [bool(result.failure) for result in results] == [False, True, True, True, False]
    assert "no_such_table" in str(results[1].failure)
    assert [result.rows for result in results] == [({"row": "1"},), (), (), (), ({"row": "2"},)]


async def test_metrics_show_violated_and_unchecked_invariants(world: World, views: None) -> None:
    queries = {"holds": "SELECT 1 WHERE false", "broken": "SELECT 1", "wrong": "SELECT FROM WHERE"}
    invariants = PostgresInvariants(world.engine, queries)
    beats: list[int] = []

    await CheckInvariants(invariants, clock=world.clock).report(lambda: beats.append(1))

    assert _exported("broken_rows") == {"holds": 0, "broken": 1, "wrong": 0}
    assert _exported("unchecked") == {"holds": 0, "broken": 0, "wrong": 1}
    checked = REGISTRY.get_sample_value("swap_settler_invariants_checked_timestamp_seconds")
    assert checked == world.clock().timestamp()
    assert len(beats) == len(queries)

    observe.invariants_left()
    assert _exported("broken_rows") == {}


@pytest.mark.parametrize("error", [RequestRefused("no views"), Unavailable("postgres")])
async def test_a_check_that_is_not_possible_changes_no_metric(
    world: World, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise error

    invariants = PostgresInvariants(world.engine, {"broken": "SELECT 1"})
    monkeypatch.setattr(invariants, "check", refuse)

    await CheckInvariants(invariants, clock=world.clock).report(lambda: None)

    assert _exported("broken_rows") == {}


def _exported(gauge: str) -> dict[str, float]:
    name = f"swap_settler_invariant_{gauge}"
    return {
        sample.labels["invariant"]: sample.value
        for family in REGISTRY.collect()
        if family.name == name
        for sample in family.samples
    }


async def test_requests_that_wait_for_a_slow_check_use_its_report(
    world: World, views: None
) -> None:
    now, checks = [NOW], []

    def listen(statement: str) -> None:
        if "AS slow" in statement:
            checks.append(statement)
            now[0] += 2 * REPORT_VALID_FOR

    world.engine.statement_listener = listen
    invariants = PostgresInvariants(world.engine, {"slow": "SELECT 1 AS slow"})
    check = CheckInvariants(invariants, clock=lambda: now[0])

    reports = await asyncio.gather(*(check() for _ in range(3)))

    assert len(checks) == 1
    assert {report.at for report in reports} == {now[0]}
    now[0] += 2 * REPORT_VALID_FOR
    await check()
    assert len(checks) == 2


async def test_missing_views_or_queries_are_reported(world: World, database: Database) -> None:
    answer = await read(books(world).invariants, status=404)

    assert "SWAP_SETTLER__INVARIANT_QUERIES" in answer["error"]
    await world.rows("SELECT 1")
    checked = PostgresInvariants(world.engine, {"one": "SELECT 1"})
    if not await _has_views(world):
        with pytest.raises(RequestRefused, match="views"):
            await checked.check(lambda: None)


async def _has_views(world: World) -> bool:
    [row] = await world.rows("SELECT to_regnamespace('invariant') IS NOT NULL AS is_there")
    return bool(row.is_there)


def test_a_file_without_queries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no query"):
        read_queries("SELECT 1")
