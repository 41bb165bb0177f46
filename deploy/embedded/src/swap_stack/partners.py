"""Two partners with API keys, and the sample receiver of the first one's webhooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swap_stack.places import Places
from swap_stack.ports import Ports
from swap_stack.services import ServicePorts


async def make_partners(
    places: Places, settings: Mapping[str, str], services: ServicePorts, ports: Ports
) -> list[dict[str, Any]]:
    return []
