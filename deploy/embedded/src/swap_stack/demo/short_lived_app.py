"""A test app whose swaps live for seconds, made by the operators' port."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aiohttp

LIFETIME_SECONDS = 3


async def create_short_lived_app(stack: Mapping[str, Any], session: aiohttp.ClientSession) -> str:
    """Return a key of the app."""
    [url] = [row["internal_url"] for row in stack["services"] if row["name"] == "api"]
    headers = {"Authorization": f"Bearer {stack['operator']['token']}"}

    async def post(path: str, body: Mapping[str, object]) -> dict[str, Any]:
        manage = f"{url}/admin/management/v1"
        async with session.post(f"{manage}{path}", json=body, headers=headers) as answer:
            answer.raise_for_status()
            found: dict[str, Any] = (await answer.json())["data"]
            return found

    organization = await post("/organizations", {"name": "short-lived"})
    app = await post(
        f"/organizations/{organization['id']}/apps",
        {
            "name": "short-lived",
            "environment": "test",
            "swap_lifetime_seconds": LIFETIME_SECONDS,
        },
    )
    return str((await post(f"/apps/{app['id']}/keys", {}))["key"])
