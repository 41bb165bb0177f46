"""Waiting for a condition: the only way a test waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

POLL_SECONDS = 0.05
# It costs nothing on success, and the machine may be busy with other work.
PATIENCE_SECONDS = 60.0
DEFAULT_CONDITION = "what is waited for"
T = TypeVar("T")


async def until(
    condition: Callable[[], Awaitable[T | None]],
    *,
    what: str = DEFAULT_CONDITION,
    within: float = PATIENCE_SECONDS,
    every: float = POLL_SECONDS,
) -> T:
    """Return the first true result.

    :raises AssertionError: when there is none in time, with the last one.
    """
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + within
    while True:
        answer = await condition()
        if answer:
            return answer
        if loop.time() > ends_at:
            raise AssertionError(f"{what}: not in {within:.0f} s (last: {answer!r})")
        await asyncio.sleep(every)


async def until_true_here(
    condition: Callable[[], T | None],
    *,
    what: str = DEFAULT_CONDITION,
    within: float = PATIENCE_SECONDS,
) -> T:
    """Return the first true result of a condition without I/O."""

    async def holds() -> T | None:
        return condition()

    return await until(holds, what=what, within=within)


def block_until(condition: Callable[[], object], *, within: float = PATIENCE_SECONDS) -> None:
    """Return when a condition is true, in a test without a loop.

    :raises AssertionError: when it is not in time.
    """
    ends_at = time.monotonic() + within
    while not condition():
        assert time.monotonic() < ends_at, f"not in {within:.0f} s"
        time.sleep(POLL_SECONDS)


async def output_of(process: asyncio.subprocess.Process, *, within: float) -> tuple[bytes, bytes]:
    """Return the output of a program until it ends; kill it if it takes longer.

    :raises TimeoutError: when it took longer.
    """
    try:
        async with asyncio.timeout(within):
            return await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def gather_all(*those: Awaitable[T]) -> list[T]:
    """Return all results, after the last one is done.

    None is cancelled when another fails. A cancelled call of web3 can keep the lock of the
    connection pool without end.
    """
    done = await asyncio.gather(*those, return_exceptions=True)
    for one in done:
        if isinstance(one, BaseException):
            raise one
    return [one for one in done if not isinstance(one, BaseException)]
