"""The recovery as operators see it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import aiohttp

from swap_stack.daemon import StackError

PATIENCE_SECONDS: Final = 180.0
POLL_SECONDS: Final = 0.3
RecoveryStatus = Mapping[str, Any]


class Settler:
    """The operators' port of the settler."""

    def __init__(self, stack: Mapping[str, Any], session: aiohttp.ClientSession) -> None:
        [url] = [row["internal_url"] for row in stack["services"] if row["name"] == "settler"]
        self._url = f"{url}/admin"
        self._headers = {"Authorization": f"Bearer {stack['operator']['token']}"}
        self._session = session

    async def recovery(self) -> RecoveryStatus:
        """Return what `swapctl recovery status` shows."""
        status: RecoveryStatus = await self._request("GET", "/recovery")
        return status

    async def until_ended(self, print_step: Callable[[str], None]) -> RecoveryStatus:
        """Tell each change of what is proven, and return what is shown in the end.

        :raises StackError: when it does not end by itself in time.
        """
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        before = ""
        while asyncio.get_running_loop().time() < deadline:
            status = await self._read_status()
            if status is not None and (now := describe(status)) != before:
                print_step(now)
                before = now
            if status is not None and status["recoveries"][0]["state"] == "ended":
                return status
            await asyncio.sleep(POLL_SECONDS)
        raise StackError(f"the recovery has not ended: {before or 'none began'}")

    async def _read_status(self) -> RecoveryStatus | None:
        """Return nothing while the settler is away, or knows of no recovery."""
        try:
            status = await self.recovery()
        except (StackError, aiohttp.ClientError, OSError, TimeoutError, ValueError):
            return None
        return status if status["recoveries"] else None

    async def explain(self, network: str, transaction_hash: str) -> None:
        """Do what `swapctl payouts explain` does, once the settler can prove it."""
        body = {
            "network": network,
            "transaction_hash": transaction_hash,
            "reason": "it was made before the restore",
        }
        await self._request("POST", "/payouts/explain", json=body)

    async def _request(self, method: str, path: str, **options: Any) -> Any:
        async with self._session.request(
            method, self._url + path, headers=self._headers, **options
        ) as answer:
            body = await answer.json()
            if not answer.ok:
                raise StackError(f"{method} {path}: {body}")
            return body


def describe(status: RecoveryStatus) -> str:
    """Return in one line what of a recovery is proven."""
    [recovery] = status["recoveries"]
    if recovery["state"] == "ended":
        return f"ended by {recovery['ended_by']}: {recovery['ended_because']}"
    networks, signers = status["networks"], status["signers"]
    read, closed = sum(n["is_read"] for n in networks), sum(s["is_closed"] for s in signers)
    return (
        f"open ({recovery['cause']}), holds {recovery['held']}: {read} of {len(networks)} networks "
        f"read, {closed} of {len(signers)} signers closed, {len(status['forgotten'])} forgotten"
    )
