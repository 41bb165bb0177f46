"""A member with a session of the dashboard, who reloads the list of swaps repeatedly."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from swap_stack.account import make_link

FIELD = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')
TIMEOUT = aiohttp.ClientTimeout(total=30)


class Visitor:
    """One browser, with the cookies of its session."""

    def __init__(self, stack: Mapping[str, Any], session: aiohttp.ClientSession) -> None:
        self._stack = stack
        self._session = session
        self._url = stack["dashboard"]["url"]
        self.seen = 0
        self.failures: list[str] = []

    async def sign_in(self) -> None:
        """Open a sign-in link of the account, and submit the form on its page."""
        link = await make_link(self._stack)
        assert link is not None
        assert link.startswith(f"{self._url}/")
        async with self._session.get(link) as answer:
            fields = dict(FIELD.findall(await answer.text()))
        headers = {"Origin": self._url}
        async with self._session.post(
            f"{self._url}/sign-in/link", data=fields, headers=headers
        ) as answer:
            assert answer.ok, await answer.text()

    async def look(self, path: str) -> str:
        """Return a page.

        :raises AssertionError: when it is not there.
        """
        async with self._session.get(f"{self._url}{path}") as answer:
            page = await answer.text()
        assert answer.status == 200, f"{path}: {answer.status}"
        assert not answer.url.path.startswith("/sign-in"), f"{path}: signed out"
        return page

    @asynccontextmanager
    async def every(self, seconds: float) -> AsyncIterator[None]:
        """Load the list of swaps at this interval, while the body runs."""
        app_id = self._stack["partners"][0]["app_id"]

        async def look_again() -> None:
            while True:
                try:
                    await self.look(f"/apps/{app_id}/swaps")
                    self.seen += 1
                except (AssertionError, aiohttp.ClientError, TimeoutError) as error:
                    self.failures.append(repr(error))
                await asyncio.sleep(seconds)

        task = asyncio.create_task(look_again())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})
