"""The image's files depend on the sources and its bases alone, not on when they are built."""

from __future__ import annotations

from typing import Any

import pytest
from swap_cluster.images import OWN, build_own, read_layers

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


async def test_services_image_built_again_has_the_same_layers(stack: dict[str, Any]) -> None:
    await build_own("swap:again", OWN["swap:local"], "--no-cache")

    assert await read_layers("swap:again") == await read_layers("swap:local")
