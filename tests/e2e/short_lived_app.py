"""A test app with swaps that live for seconds."""

from __future__ import annotations

from typing import Final

from tests.plugins.stack import Stack

LIFETIME_SECONDS: Final = 8  # enough for a deposit, even on a slow machine


async def create_short_lived_key(stack: Stack) -> str:
    """Return a key of a new app."""
    manage = "/management/v1"
    made = await stack.order("api", f"{manage}/organizations", {"name": "short-lived"})
    app = await stack.order(
        "api",
        f"{manage}/organizations/{made['data']['id']}/apps",
        {
            "name": "short-lived",
            "environment": "test",
            "swap_lifetime_seconds": LIFETIME_SECONDS,
        },
    )
    own = f"{manage}/apps/{app['data']['id']}"
    await stack.order("api", f"{own}/limits", {"limits_lifted": True})
    return str((await stack.order("api", f"{own}/keys", {}))["data"]["key"])
