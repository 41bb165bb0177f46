"""Operators at a real browser."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.browser import Page, open_page
from tests.support.screens import show
from tests.support.walks import LOADED


class Operators:
    """Two operators at one browser, who read what stands there and press what is offered."""

    def __init__(self, page: Page, url: str, cookies: Mapping[str, Any]) -> None:
        self.page = page
        self.url = url
        self._cookies = cookies

    async def become(self, name: str) -> None:
        await self.page.send("Network.clearBrowserCookies")
        for cookie in self._cookies[name]:
            await self.page.send(
                "Network.setCookie", name=cookie.name, value=cookie.value, url=self.url
            )

    async def submit_search(self, page: str, action: str, fields: Mapping[str, str]) -> str:
        """Send a form that orders nothing, and return the address that it leads to."""
        await show(self.page, self.url + page)
        form = f"form[action={json.dumps(action)}]"
        await self._fill(form, fields)
        await self._press(f"{form} button")
        return str(await self.page.value("location.pathname"))

    async def follow(self, page: str, link: str) -> None:
        """Press the link of a page."""
        await show(self.page, self.url + page)
        await self._press(f"main a[href={json.dumps(link)}]")

    async def order(
        self, page: str, route: str, fields: Mapping[str, str], *, shows: str = ""
    ) -> str:
        """Fill in the form of an order, look at it once more, confirm it: how it ended.

        :param shows: a text that stands there before the confirmation.
        """
        await show(self.page, self.url + page)
        form = f"form.order-form[action$={json.dumps(route)}]"
        await self._fill(form, fields)
        await self._press(f"{form} button")
        review = await self.text()
        assert "Not ordered yet." in review, review
        assert fields["reason"] in review
        assert shows in review
        await self._press(".actions form button")
        return str(await self.page.until("document.querySelector('.notice')?.innerText"))

    async def proposal(self) -> str:
        """Return the address of what waits for a second operator."""
        link = "document.querySelector('.notice a').getAttribute('href')"
        return str(await self.page.value(link))

    async def read(self, page: str) -> str:
        """Load a page, and return its text."""
        await show(self.page, self.url + page)
        return await self.text()

    async def text(self) -> str:
        return str(await self.page.value("document.querySelector('main').innerText"))

    async def _fill(self, form: str, fields: Mapping[str, str]) -> None:
        for name, value in fields.items():
            field = f"document.querySelector({json.dumps(f'{form} [name={name}]')})"
            await self.page.value(f"{field}.value = {json.dumps(value)}; 1")
            assert await self.page.value(f"{field}.value") == value, name

    async def _press(self, selector: str) -> None:
        self.page.requests.clear()  # a walk counts those of the next page
        pressed = f"document.querySelector({json.dumps(selector)}).click()"
        await self.page.value(f"window.isLeaving = true; {pressed}; 1")
        await self.page.until(f"!window.isLeaving && {LOADED}")


@asynccontextmanager
async def two_browsers(
    program: str, folder: Path, url: str, cookies: Mapping[str, Any]
) -> AsyncIterator[Sequence[Operators]]:
    """Two operators, each signed in at a browser of their own."""
    async with AsyncExitStack() as browsers:
        made = []
        for name in ("ann", "ben"):
            page = await browsers.enter_async_context(
                open_page(program, folder / name, "about:blank")
            )
            made.append(Operators(page, url, cookies))
            await made[-1].become(name)
        yield made
