"""The event name of a swap's change."""

from __future__ import annotations

from typing import Final

UPDATED: Final = "swap.updated"
# These two are about an endpoint and not about a swap.
TEST: Final = "webhook.test"
DISABLED: Final = "endpoint.disabled"


def event_type(*, status: str, previous_status: str | None) -> str:
    """Return `swap.<status>` for a change of status, `swap.updated` for progress inside one."""
    return UPDATED if status == previous_status else f"swap.{status}"
