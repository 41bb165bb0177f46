"""The pay page in a frame of another site, in a real browser: shown if its app allows that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from services.dashboard.tests.payer import a_link
from services.dashboard.tests.shop import Api, served_dashboard
from tests.plugins.postgres import Database
from tests.support.browser import Page, find_browser, open_page
from tests.support.serving import get, serve

BROWSER = find_browser()
pytestmark = [
    pytest.mark.connected,
    pytest.mark.timeout(300),
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here"),
]


@dataclass(frozen=True, slots=True)
class FramedPayPage:
    """A pay page, and two sites that show it in a frame."""

    pay_url: str
    shop: str
    thief: str


@asynccontextmanager
async def a_site(framed: str) -> AsyncIterator[str]:
    """Serve a page of another origin that shows an address in a frame."""

    async def show(_: Request) -> Response:
        return HTMLResponse(f'<iframe src="{escape(framed)}" width="400" height="700"></iframe>')

    async with serve(Starlette(routes=[get("/", show)])) as url:
        yield url


@pytest.fixture
async def framed_pay_page(database: Database, api: Api) -> AsyncIterator[FramedPayPage]:
    link = await a_link(api)
    async with served_dashboard(database, api) as made:
        pay_url = made.public_url + link.path()
        async with a_site(pay_url) as shop, a_site(pay_url) as thief:
            api.order(f"/apps/{link.app}/frame_origins", {"origins": [shop]})
            yield FramedPayPage(pay_url, shop, thief)


async def frame_of(page: Page) -> Any:
    """Return the frame in the page after it has content."""
    async with asyncio.timeout(30):
        while True:
            tree = (await page.send("Page.getFrameTree"))["frameTree"]
            for child in tree.get("childFrames", []):
                if child["frame"]["url"] not in ("", "about:blank"):
                    return child["frame"]
            await asyncio.sleep(0.1)  # only the browser has it


async def test_pay_page_is_shown_in_a_frame_of_an_allowed_origin(
    framed_pay_page: FramedPayPage, tmp_path: Path
) -> None:
    assert BROWSER is not None
    async with open_page(BROWSER, tmp_path, framed_pay_page.shop) as page:
        frame = await frame_of(page)
        world = await page.send("Page.createIsolatedWorld", frameId=frame["id"])
        shown = await page.send(
            "Runtime.evaluate",
            expression="document.body.textContent",
            contextId=world["executionContextId"],
            returnByValue=True,
        )

    assert frame["url"] == framed_pay_page.pay_url
    assert "Waiting for your payment" in shown["result"]["value"]
    assert [one for one in page.complaints if "frame" in one.lower()] == []


async def test_pay_page_is_refused_in_a_frame_of_another_origin(
    framed_pay_page: FramedPayPage, tmp_path: Path
) -> None:
    assert BROWSER is not None
    async with open_page(BROWSER, tmp_path, framed_pay_page.thief) as page:
        frame = await frame_of(page)
        await page.value("1")  # reads what the browser complained about meanwhile

    assert frame["url"] != framed_pay_page.pay_url
    assert frame["unreachableUrl"] == framed_pay_page.pay_url
    assert any("frame-ancestors" in one for one in page.complaints)
