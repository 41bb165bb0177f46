"""A partner's side: HTTP with an API key, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aiohttp

TIMEOUT = aiohttp.ClientTimeout(total=15)


class Refused(RuntimeError):
    """The service answered with an error; the text is its own."""


class Partner:
    """One API key against one gateway."""

    def __init__(self, session: aiohttp.ClientSession, gateway: str, api_key: str) -> None:
        self._session = session
        self._gateway = gateway
        self._headers = {"X-SVC-APIKEY": api_key}

    async def create_swap(self, body: Mapping[str, object]) -> dict[str, Any]:
        """
        :raises Refused: with the code and the sentence of the answer.
        """
        swap: dict[str, Any] = await self._ask("POST", "/api/v2/swaps", json=body)
        return swap

    async def authorize(self, swap_id: str, signature: str, signer: str) -> dict[str, Any]:
        """
        :raises Refused: with the code and the sentence of the answer.
        """
        body = {"signature": signature, "signer_address": signer}
        authorization: dict[str, Any] = await self._ask(
            "POST", f"/api/v2/swaps/{swap_id}/authorize", json=body
        )
        return authorization

    async def get_swap(self, swap_id: str) -> dict[str, Any]:
        """
        :raises Refused: with the code and the sentence of the answer.
        """
        swap: dict[str, Any] = await self._ask("GET", f"/api/v2/swaps/{swap_id}")
        return swap

    async def list_swaps(self, **query: str | int) -> list[dict[str, Any]]:
        """
        :raises Refused: with the code and the sentence of the answer.
        """
        swaps: list[dict[str, Any]] = await self._ask("GET", "/api/v2/swaps", params=query)
        return swaps

    async def limits(self, **query: str) -> dict[str, Any]:
        """
        :raises Refused: with the code and the sentence of the answer.
        """
        found: dict[str, Any] = await self._ask("GET", "/api/v2/limits", params=query)
        return found

    async def list_networks(self) -> list[dict[str, Any]]:
        """
        :raises Refused: with the code and the sentence of the answer.
        """
        networks: list[dict[str, Any]] = await self._ask("GET", "/api/v2/networks")
        return networks

    async def deposit_actions(self, swap_id: str, wallet: str) -> list[dict[str, Any]]:
        """
        :raises Refused: with the code and the sentence of the answer.
        """
        query = {"source_address": wallet}
        actions: list[dict[str, Any]] = await self._ask(
            "GET", f"/api/v2/swaps/{swap_id}/deposit_actions", params=query
        )
        return actions

    async def _ask(self, method: str, path: str, **options: Any) -> Any:
        async with self._session.request(
            method, self._gateway + path, headers=self._headers, timeout=TIMEOUT, **options
        ) as answer:
            envelope = await answer.json()
        if envelope.get("error"):
            error = envelope["error"]
            raise Refused(f"{method} {path}: {error['code']}: {error['message']}")
        return envelope["data"]
