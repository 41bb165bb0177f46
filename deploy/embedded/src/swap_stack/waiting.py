"""Waiting for other processes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import aiohttp


async def last_problem(
    find: Callable[[], Awaitable[str | None]], *, within: float, every: float
) -> str | None:
    """Return None once there is no problem, or the one that is left after so many seconds.

    :param find: returns the present problem; empty or None without one.
    """
    deadline = asyncio.get_running_loop().time() + within
    while problem := await find():
        if asyncio.get_running_loop().time() > deadline:
            return problem
        await asyncio.sleep(every)
    return None


async def readiness_problem(session: aiohttp.ClientSession, url: str) -> str | None:
    """Return what the service at this internal port lacks; None when it is ready."""
    try:
        async with session.get(f"{url}/readyz") as answer:
            problems: Mapping[str, str] = (await answer.json())["problems"]
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
        return "it does not answer"
    return ", ".join(f"{name}: {what}" for name, what in problems.items()) or None
