"""The recovery as operators see it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import aiohttp

from swap_stack.daemon import StackError

PATIENCE_SECONDS: Final = 180.0
POLL_SECONDS: Final = 0.3
Told = Mapping[str, Any]


class Settler:
    """The operators' port of the settler."""

    def __init__(self, stack: Mapping[str, Any], session: aiohttp.ClientSession) -> None:
        [url] = [row["internal_url"] for row in stack["services"] if row["name"] == "settler"]
        self._url = f"{url}/admin"
        self._headers = {"Authorization": f"Bearer {stack['operator']['token']}"}
        self._session = session

    async def recovery(self) -> Told:
        """Return what `swapctl recovery status` shows."""
        told: Told = await self._asked("GET", "/recovery")
        return told

    async def until_ended(self, say: Callable[[str], None]) -> Told:
        """Tell each change of what is proven, and return what is shown in the end.

        :raises StackError: when it does not end by itself in time.
        """
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        before = ""
        while asyncio.get_running_loop().time() < deadline:
            told = await self._shown()
            if told is not None and (now := describe(told)) != before:
                say(now)
                before = now
            if told is not None and told["recoveries"][0]["state"] == "ended":
                return told
            await asyncio.sleep(POLL_SECONDS)
        raise StackError(f"the recovery has not ended: {before or 'none began'}")

    async def _shown(self) -> Told | None:
        """Return nothing while the settler is away, or knows of no recovery."""
        try:
            told = await self.recovery()
        except (StackError, aiohttp.ClientError, OSError, TimeoutError, ValueError):
            return None
        return told if told["recoveries"] else None

    async def explain(self, network: str, transaction_hash: str) -> Told:
        """Do what `swapctl payouts explain` does, once the settler can prove it."""
        body = {
            "network": network,
            "transaction_hash": transaction_hash,
            "reason": "it was made before the restore",
        }
        told: Told = await self._asked("POST", "/payouts/explain", json=body)
        return told

    async def _asked(self, method: str, path: str, **options: Any) -> Any:
        async with self._session.request(
            method, self._url + path, headers=self._headers, **options
        ) as answer:
            told = await answer.json()
            if not answer.ok:
                raise StackError(f"{method} {path}: {told}")
            return told


def describe(told: Told) -> str:
    """Return in one line what of a recovery is proven."""
    [recovery] = told["recoveries"]
    if recovery["state"] == "ended":
        return f"ended by {recovery['ended_by']}: {recovery['ended_because']}"
    networks, signers = told["networks"], told["signers"]
    read, closed = sum(n["is_read"] for n in networks), sum(s["is_closed"] for s in signers)
    return (
        f"open ({recovery['cause']}), holds {recovery['held']}: {read} of {len(networks)} networks "
        f"read, {closed} of {len(signers)} signers closed, {len(told['forgotten'])} forgotten"
    )
