"""The dashboard in its pod: a link signs in, and its pages show the api's data."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.cluster.tests.cluster.test_rolling_restart import assert_paid_once
from deploy.cluster.tests.cluster.traffic import Traffic
from deploy.cluster.tests.cluster.visitor import Visitor

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


async def test_dashboard_shows_a_swap_and_its_webhook_to_a_member(
    stack: dict[str, Any], traffic: Traffic, visitor: Visitor
) -> None:
    [partner] = stack["partners"]
    traffic.add([await traffic.send()])
    swaps = await traffic.close()
    assert_paid_once(swaps)
    assert await traffic.without_webhook(swaps) == set()

    listed = await visitor.look(f"/apps/{partner['app_id']}/swaps")
    page = await visitor.look(f"/apps/{partner['app_id']}/swaps/{swaps[0].sent.id}")
    webhooks = await visitor.look(f"/apps/{partner['app_id']}/webhooks")

    assert swaps[0].sent.id in listed
    assert swaps[0].sent.destination in page
    assert partner["webhook"]["url"] in webhooks
