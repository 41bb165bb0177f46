"""The image depends on the sources and its bases alone, not on when it is built."""

from __future__ import annotations

from typing import Any

import pytest
from swap_cluster.images import OWN, build_own, image_id

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


async def test_services_image_built_again_is_the_same(stack: dict[str, Any]) -> None:
    await build_own("swap:again", OWN["swap:local"], "--no-cache")

    assert await image_id("swap:again") == await image_id("swap:local")
