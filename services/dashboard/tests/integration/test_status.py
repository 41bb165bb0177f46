"""The status page: public, from the api's public route, with the stored history."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import AsyncMock

import httpx
import psycopg
import pytest

from services.dashboard.tests.screens import STATUS, STATUS_OF_MANY
from services.dashboard.tests.shop import Api, Dashboard, served_dashboard
from services.dashboard.tests.unit.test_status import a_network
from swap_dashboard.adapters.status_api import HttpStatusApi
from swap_dashboard.adapters.status_history import PostgresStatusHistory
from swap_dashboard.domain.status import NetworkStatus, Trouble
from swap_dashboard.ports import ApiUnavailable
from swap_dashboard.usecases.record_status import CACHE_DURATION
from swap_runtime.postgres.sql import sql
from tests.plugins.postgres import Database, emptying
from tests.support.browser import Page, find_browser, open_page
from tests.support.screens import AXE, WIDE, guide_image, look, show
from tests.support.walks import Walk

pytestmark = [pytest.mark.connected, pytest.mark.timeout(300)]
GUIDE = os.environ.get("GUIDE_PICTURES")
PICTURE_HEIGHT = 1330
DAYS = re.compile(r'aria-label="Last 30 days of ([^"]+)">(.*?)</ol>', re.DOTALL)
DAY = re.compile(r'day-(\w+)(?: days-(\d+))?" title="[^"]*"><span class="unseen">([^<]+)<')
ROW = re.compile(r"<tr>(<td.*?)</tr>", re.DOTALL)
CELL = re.compile(r"<td[^>]*>(.*?)</td>", re.DOTALL)
TAGS = re.compile(r"<[^>]+>")
NOW = datetime.now(UTC)
# Other modules have the same database.
CLEAR = """
DELETE FROM chain_watcher.watch_cursor;
DELETE FROM settler.inventory;
DELETE FROM settler.stuck_report;
"""
SEED = """
INSERT INTO settler.stuck_report VALUES ('ETHEREUM_DEVNET', 0, now()), ('BASE_DEVNET', 0, now());
INSERT INTO chain_watcher.watch_cursor
    (network, number, hash, parent_hash, time, finalized_number, start_number, checked_number)
VALUES ('ETHEREUM_DEVNET', 21034567, '0x01', '0x00', now(), 9, 0, 9),
       ('BASE_DEVNET', 9034567, '0x02', '0x00', now() - interval '4 minutes', 9, 0, 9);
INSERT INTO settler.inventory (network, token, held_base_units, owed_base_units)
VALUES ('ETHEREUM_DEVNET', 'a', 10, 1), ('ETHEREUM_DEVNET', 'b', 1, 1), ('BASE_DEVNET', 'a', 9, 1);
"""


@pytest.fixture
async def history(dashboard: Dashboard) -> PostgresStatusHistory:
    async with dashboard.service.engine.begin() as connection:
        await connection.execute(sql(emptying("status_day, status_incident")))
    return PostgresStatusHistory(dashboard.service.engine)


@pytest.fixture
def seeded(database: Database) -> Iterator[None]:
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute(CLEAR.encode())
        connection.execute(SEED.encode())
        yield
        connection.execute(CLEAR.encode())


class TestHistory:
    async def test_a_minute_counts_once_for_all_replicas(
        self, history: PostgresStatusHistory
    ) -> None:
        for second in (1, 20, 59):
            await history.record({"A": {Trouble.SLOW}}, NOW.replace(second=second))
        await history.record({"A": set()}, NOW + timedelta(minutes=1))

        days = await history.days(NOW - timedelta(days=1))

        assert sum(day.minutes for day in days) == 2
        assert sum(day.bad_minutes for day in days) == 1

    async def test_incident_ends_when_its_network_is_recorded_without_the_trouble(
        self, history: PostgresStatusHistory
    ) -> None:
        await history.record({"A": {Trouble.STOPPED}, "B": {Trouble.DRY}}, NOW)
        await history.record({"A": {Trouble.STOPPED}}, NOW + timedelta(minutes=1))
        await history.record({"A": set()}, NOW + timedelta(minutes=2))

        found = {one.network: one for one in await history.incidents(NOW - timedelta(days=1))}

        assert found["A"].ended_at == NOW + timedelta(minutes=2)
        assert found["B"].ended_at is None  # it was not looked at

    async def test_old_rows_are_deleted(self, history: PostgresStatusHistory) -> None:
        old = NOW - timedelta(days=40)
        await history.record({"A": {Trouble.STOPPED}}, old)
        await history.record({"A": set()}, old + timedelta(minutes=1))

        await history.forget(NOW - timedelta(days=30))

        assert await history.days(old) == []
        assert await history.incidents(old) == []


async def test_public_status_route_needs_no_key_and_has_no_amounts(api: Api, seeded: None) -> None:
    async with httpx.AsyncClient() as http:
        answer = await http.get(f"{api.url}/public/v1/status")

    networks = {one["name"]: one for one in answer.json()["data"]["networks"]}
    assert networks["ETHEREUM_DEVNET"]["liquidity"] == "partial"
    assert networks["ETHEREUM_DEVNET"]["display_name"] == "Ethereum"
    assert set(networks["ETHEREUM_DEVNET"]) == {
        "name", "display_name", "head", "head_at", "lag_seconds", "liquidity", "payouts",
        "new_swaps", "stuck_swaps",
    }  # fmt: skip


async def test_status_page_needs_no_session_and_shows_the_records(
    dashboard: Dashboard, history: PostgresStatusHistory, seeded: None
) -> None:
    await dashboard.parts.status.record()

    page = await dashboard.browser().get("/status")

    assert page.status_code == 200
    assert "set-cookie" not in page.headers
    for words in ("Ethereum", "limited", "Blocks are read late", "21,034,567"):
        assert words in page.text, words
    assert "30 days" in page.text


async def test_new_trouble_is_shown_before_it_is_stored(
    dashboard: Dashboard, history: PostgresStatusHistory, seeded: None
) -> None:
    page = (await dashboard.browser().get("/status")).text

    assert await history.incidents(NOW - timedelta(days=1)) == []
    assert "All systems operational." not in page
    assert "open incident" in page


async def test_networks_have_their_names_also_while_the_api_is_away(
    dashboard: Dashboard,
    history: PostgresStatusHistory,
    seeded: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("ETHEREUM_DEVNET", "GONE")  # the other one has left the catalogue
    await history.record({name: {Trouble.STOPPED} for name in names}, NOW - timedelta(hours=2))
    await history.record({name: set() for name in names}, NOW - timedelta(hours=1))
    shown = (await dashboard.browser().get("/status")).text
    monkeypatch.setattr(HttpStatusApi, "networks", AsyncMock(side_effect=ApiUnavailable))
    dashboard.ahead += CACHE_DURATION

    away = (await dashboard.browser().get("/status")).text

    assert "The service does not answer right now" in away
    for page in (shown, away):
        assert "Ethereum" in page
        assert "ETHEREUM_DEVNET" not in page
        assert "GONE" in page


async def test_ended_trouble_is_not_shown_as_open(
    dashboard: Dashboard, history: PostgresStatusHistory, seeded: None
) -> None:
    await history.record({"ETHEREUM_DEVNET": {Trouble.STOPPED}}, NOW - timedelta(seconds=20))

    page = await dashboard.browser().get("/status")

    assert "Payouts are stopped" not in page.text


async def test_an_unavailable_api_is_reported_and_recorded(
    database: Database, api: Api, history: PostgresStatusHistory
) -> None:
    made = Dashboard(
        database, api, public_url="http://dashboard.test", api_url="http://127.0.0.1:1"
    )
    await made.parts.status.record()

    page = await made.browser().get("/status")

    assert page.status_code == 200
    assert "The service does not answer right now" in page.text
    [incident] = await history.incidents(NOW - timedelta(days=1))
    assert (incident.network, incident.trouble) == ("", Trouble.UNAVAILABLE)
    await made.close()


def fifty_networks() -> list[NetworkStatus]:
    """Return networks of which one is stopped, one has no liquidity, and two have little."""
    liquidity = {7: "none", 8: "partial", 9: "partial"}
    return [
        a_network(
            name=f"N{n}",
            display_name=f"Network {n}",
            liquidity=liquidity.get(n, "available"),
            is_stopped=n == 3,
        )
        for n in range(50)
    ]


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the api report fifty networks, before anything asks it."""
    monkeypatch.setattr(HttpStatusApi, "networks", AsyncMock(return_value=fifty_networks()))


@pytest.mark.parametrize(
    ("query", "source", "counts"),
    [
        ("", "N0", {"none": 2, "limited": 2, "available": 46}),
        ("?from=N49", "N49", {"none": 2, "limited": 2, "available": 46}),
        ("?from=N3", "N3", {"none": 50}),
        ("?from=%3Cscript%3E", "N0", {"none": 2, "limited": 2, "available": 46}),
    ],
)
async def test_routes_of_fifty_networks_are_shown_by_their_source(
    many: None,
    dashboard: Dashboard,
    history: PostgresStatusHistory,
    *,
    query: str,
    source: str,
    counts: dict[str, int],
) -> None:
    page = (await dashboard.browser().get(f"/status{query}")).text

    assert re.findall(r'<option value="([^"]+)" selected>', page) == [source]
    assert page.count("<option ") == 50
    lists = re.findall(r'aria-labelledby="to-(\w+)">(.*?)</ul>', page, re.DOTALL)
    assert {state: names.count("<li") for state, names in lists} == counts
    assert list(counts) == [state for state, _ in lists]
    assert "<script>" not in page


async def test_status_page_shows_the_last_days_and_their_incidents(
    dashboard: Dashboard, history: PostgresStatusHistory, seeded: None
) -> None:
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    stopped, slow, calm = (noon - timedelta(days=ago) for ago in (3, 9, 1))
    for minute in range(41):
        troubles = {Trouble.STOPPED} if minute < 40 else set()
        await history.record({"ETHEREUM_DEVNET": troubles}, stopped + timedelta(minutes=minute))
    for minute in range(3):
        troubles = {Trouble.SLOW} if minute < 2 else set()
        await history.record({"BASE_DEVNET": troubles}, slow + timedelta(minutes=minute))
    await history.record({"ETHEREUM_DEVNET": set(), "BASE_DEVNET": set()}, calm)

    page = (await dashboard.browser().get("/status")).text

    shown = {name: DAY.findall(days) for name, days in DAYS.findall(page)}
    expected = {
        "Ethereum": [
            (26, "quiet", "no data"),
            (1, "bad", "40 bad minutes of 41"),
            (1, "quiet", "no data"),
            (1, "good", "no incident"),
            (1, "quiet", "no data"),
        ],
        "Base": [
            (20, "quiet", "no data"),
            (1, "warning", "2 bad minutes of 3"),
            (7, "quiet", "no data"),
            (1, "good", "no incident"),
            (1, "quiet", "no data"),
        ],
    }
    for name, bars in expected.items():
        first, wanted = noon.date() - timedelta(days=29), []
        for number, tone, text in bars:
            last = first + timedelta(days=number - 1)
            when = f"{first}" if number == 1 else f"{first} to {last}"
            wanted.append((tone, "" if number == 1 else str(number), f"{when}: {text}"))
            first = last + timedelta(days=1)
        assert shown[name] == wanted
    past = [[TAGS.sub("", cell) for cell in CELL.findall(row)] for row in ROW.findall(page)]
    assert [row for row in past if row] == [
        ["Ethereum", "Payouts are stopped", f"{stopped:%Y-%m-%d %H:%M:%S} UTC", "40 min"],
        ["Base", "Blocks are read late", f"{slow:%Y-%m-%d %H:%M:%S} UTC", "2 min"],
    ]


@pytest.fixture
async def url(
    database: Database, api: Api, history: PostgresStatusHistory, seeded: None
) -> AsyncIterator[str]:
    for ago in reversed(range(25)):
        at = NOW - timedelta(days=ago, minutes=5)
        troubles = {Trouble.STOPPED} if ago == 3 else set()
        for minute in range(40 if ago == 3 else 2):
            later = at + timedelta(seconds=60 * minute - 3600)
            await history.record({"": set(), "ETHEREUM_DEVNET": troubles}, later)
            await history.record({"BASE_DEVNET": {Trouble.SLOW} if ago == 9 else set()}, later)
        good: set[Trouble] = set()
        networks = {"ETHEREUM_DEVNET": good, "BASE_DEVNET": good}
        await history.record(networks, later + timedelta(minutes=1))
    async with served_dashboard(database, api) as made:
        # A day is recorded almost whole.
        async with made.service.engine.begin() as connection:
            await connection.execute(sql("UPDATE status_day SET minutes = minutes + 1300"))
        await made.parts.status.record()
        yield f"{made.public_url}/status"


async def guide_picture(page: Page, url: str) -> None:
    """Write the image of docs/dashboard.md."""
    await look(page, "light", WIDE)
    await show(page, url)  # from its top, without the focus of the walk
    image = await guide_image(page, height=PICTURE_HEIGHT)
    (Path(str(GUIDE)) / "status.webp").write_bytes(image)


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium here")
@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed")
async def test_status_page_passes_the_screen_checks(url: str, tmp_path: Path) -> None:
    browser = find_browser()
    assert browser is not None
    site = url.removesuffix("/status")
    async with open_page(browser, tmp_path, "about:blank") as page:
        walk = Walk(page, site, ids={"": {}})
        await walk.over(STATUS)
        if GUIDE:
            await guide_picture(page, url)
        complaints = list(page.complaints)

    assert not walk.faults, walk.report
    assert complaints == []


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium here")
@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed")
async def test_status_page_of_fifty_networks_passes_the_screen_checks(
    many: None, url: str, tmp_path: Path
) -> None:
    browser = find_browser()
    assert browser is not None
    async with open_page(browser, tmp_path, "about:blank") as page:
        walk = Walk(page, url.removesuffix("/status"), ids={"": {}})
        await walk.over(STATUS_OF_MANY)
        await show(page, url)
        await page.value("document.querySelector('select[name=from]').value = 'N3'; 1")
        await page.value("document.querySelector('.route-form button').click(); 1")
        await page.until("location.search === '?from=N3' && document.readyState === 'complete'")
        shown = await page.value("document.getElementById('from').innerText")
        complaints = list(page.complaints)

    assert not walk.faults, walk.report
    assert "none to 50 networks" in shown
    assert complaints == []
