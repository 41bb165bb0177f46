"""A headless browser, controlled by its debugging protocol."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import aiohttp

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
WITHIN_SECONDS = 30
POLL_SECONDS = 0.1
# The page was replaced while the browser evaluated an expression in it.
NAVIGATED: Final = "Inspected target navigated or closed"


def find_browser() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class PageReplaced(AssertionError):
    """An expression has no value, because another page was loaded meanwhile."""


class Page:
    """One open page: its requests, its console errors, and its content."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.calls: list[str] = []  # calls of a binding by the page (`Runtime.addBinding`)

    async def send(self, method: str, **params: Any) -> Any:
        """Return the answer to one command; events in between are recorded."""
        [answer] = await self.send_each(method, [params])
        return answer

    async def send_each(self, method: str, each: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Send commands of one kind at once, and return their answers."""
        numbers = []
        for params in each:
            self._number += 1
            numbers.append(self._number)
            command = {"id": self._number, "method": method, "params": params}
            await self._socket.send_json(command)
        return [await self._answer(number) for number in numbers]

    async def _answer(self, number: int) -> Any:
        while True:
            message = await self._socket.receive_json(timeout=WITHIN_SECONDS)
            if message.get("id") == number:
                if message.get("error", {}).get("message") == NAVIGATED:
                    raise PageReplaced(message)
                assert "error" not in message, message
                return message["result"]
            self._note(message["method"], message["params"])

    async def value(self, expression: str) -> Any:
        """Return the current value of an expression in the page."""
        result = await self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        return result["result"].get("value")

    async def until(self, expression: str) -> Any:
        """Return the first true value.

        :raises AssertionError: when there is none in time.
        """
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + WITHIN_SECONDS
        while not (value := await self._value_of_present_page(expression)):
            assert loop.time() < ends_at, f"{expression}: {self.complaints}"
            await asyncio.sleep(POLL_SECONDS)
        return value

    async def _value_of_present_page(self, expression: str) -> Any:
        """Return None where the page is replaced meanwhile: the next page has a value."""
        try:
            return await self.value(expression)
        except PageReplaced:
            return None

    def _note(self, method: str, params: Any) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.bindingCalled":
            self.calls.append(params["payload"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))


@asynccontextmanager
async def open_page(program: str, folder: Path, url: str) -> AsyncIterator[Page]:
    """Open a page in a new browser, which can reach no host but this machine."""
    browser = await asyncio.create_subprocess_exec(
        program,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--remote-debugging-port=0",
        f"--user-data-dir={folder}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,  # the program may be a script that starts the browser
    )
    try:
        port = await _port(folder / "DevToolsActivePort")
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            async with session.get("/json/list") as answer:
                [target] = [one for one in await answer.json() if one["type"] == "page"]
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                for domain in ("Network", "Log", "Runtime", "Page"):
                    await page.send(f"{domain}.enable")
                await page.send("Page.navigate", url=url)
                yield page
    finally:
        with suppress(ProcessLookupError):
            os.killpg(browser.pid, signal.SIGKILL)
        await browser.wait()


async def _port(file: Path) -> int:
    """Return the port that the browser writes to a file when it listens."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + WITHIN_SECONDS
    while not (text := _read_if_written(file)):
        assert loop.time() < ends_at, "the browser does not start"
        await asyncio.sleep(POLL_SECONDS)
    return int(text.split()[0])


def _read_if_written(file: Path) -> str:
    return file.read_text().strip() if file.exists() else ""
