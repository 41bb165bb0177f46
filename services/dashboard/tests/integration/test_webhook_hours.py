"""The deliveries of each hour: each number links to the messages that it counts."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest

from services.dashboard.tests.shop import Api, Dashboard

pytestmark = pytest.mark.connected
NUMBERS = re.compile(r'href="([^"]+&amp;(un)?delivered_only=1)">(\d+)<')
MESSAGES = re.compile(r"/messages/(msg_\w+)\"><code>")


async def test_each_number_of_an_hour_links_to_its_messages(dashboard: Dashboard, api: Api) -> None:
    organization = api.an_organization("Shop")
    app, browser = api.an_app(organization), dashboard.browser()
    await browser.join(api.invite(organization), f"{uuid4().hex}@shop.example")
    hook = api.order(f"/apps/{app}/webhooks", {"url": "http://127.0.0.1:9999/hooks"})["id"]
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=3)
    stored: dict[tuple[int, str], set[str]] = {}
    for minutes, state in (
        (0, "delivered"),  # the first moment of the hour
        (59, "delivered"),
        (30, "failed"),
        (60, "delivered"),  # of the next one
        (-1, "failed"),  # of the one before
    ):
        at = hour + timedelta(minutes=minutes)
        id = await api.store_message(hook, app, uuid4(), "text", state=state, at=at)
        stored.setdefault((minutes // 60, state), set()).add(id)
    api.order(f"/webhooks/{hook}/test", {})  # it waits, or fails at once

    path = f"/apps/{app}/webhooks/{hook}"
    page = (await browser.get(path)).text
    shown = {}
    for link, failed, number in NUMBERS.findall(page):
        listed = (await browser.get(html.unescape(link))).text
        ids = set(MESSAGES.findall(listed))
        assert len(ids) == int(number), link
        [since] = parse_qs(urlsplit(html.unescape(link)).query)["since"]
        begin = datetime.fromisoformat(since).replace(tzinfo=UTC)
        number_of_hour = (begin - hour) // timedelta(hours=1)
        shown[number_of_hour, "failed" if failed else "delivered"] = ids

    assert {key: ids for key, ids in shown.items() if key in stored} == stored
    assert "until <time" in listed


@pytest.mark.parametrize("query", ["since=x&until=y", "until=2026-01-01T00:00", "delivered_only=1"])
async def test_filter_of_messages_that_is_written_by_hand_is_read_or_left_out(
    dashboard: Dashboard, api: Api, query: str
) -> None:
    organization = api.an_organization("Shop")
    app, browser = api.an_app(organization), dashboard.browser()
    await browser.join(api.invite(organization), f"{uuid4().hex}@shop.example")
    hook = api.order(f"/apps/{app}/webhooks", {"url": "http://127.0.0.1:9999/hooks"})["id"]

    page = await browser.get(f"/apps/{app}/webhooks/{hook}?{query}")

    assert page.status_code == 200
