"""A test app whose swaps have seconds to be funded."""

from __future__ import annotations

from typing import Final

from tests.plugins.stack import Stack

LIFETIME_SECONDS: Final = 5


async def hasty_key(stack: Stack) -> str:
    """Return a key of a new one."""
    partner = await stack.order("api", "/partners", {"name": "hasty"})
    app = await stack.order(
        "api",
        "/apps",
        {
            "partner_id": partner["id"],
            "name": "hasty",
            "environment": "test",
            "limits_lifted": True,
            "swap_lifetime_seconds": LIFETIME_SECONDS,
        },
    )
    return str((await stack.order("api", "/keys", {"app_id": app["id"]}))["key"])
