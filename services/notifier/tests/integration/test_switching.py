"""Who disabled an endpoint decides who enables it, and an app has only so many."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from services.notifier.tests.process_parts import Notifier
from swap_notifier.domain.outcomes import DisabledReason
from swap_notifier.ports import KeptDisabled, TooMany

pytestmark = pytest.mark.connected
OWNER, OPERATOR = DisabledReason.OWNER, DisabledReason.OPERATOR


class TestEnabling:
    async def test_is_for_owners_what_they_disabled_themselves(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.switch.disable(endpoint.id, by=OWNER)
        said = (await notifier.listed(endpoint)).disabled_reason

        assert await notifier.switch.enable(endpoint.id, by=OWNER)

        assert said == "owner"
        assert (await notifier.listed(endpoint)).disabled_at is None

    async def test_is_for_operators_what_one_of_them_disabled(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.switch.disable(endpoint.id)

        await notifier.switch.disable(endpoint.id, by=OWNER)
        with pytest.raises(KeptDisabled):
            await notifier.switch.enable(endpoint.id, by=OWNER)
        kept = await notifier.listed(endpoint)

        assert kept.disabled_reason == "operator"
        assert await notifier.switch.enable(endpoint.id, by=OPERATOR)

    @pytest.mark.parametrize("before", [OWNER, DisabledReason.FAILING, DisabledReason.GONE])
    async def test_is_for_operators_too_where_it_was_disabled_before(
        self, notifier: Notifier, before: DisabledReason
    ) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.endpoints.disable(endpoint.id, reason=before, at=notifier.now)

        await notifier.switch.disable(endpoint.id, by=OPERATOR)

        with pytest.raises(KeptDisabled):
            await notifier.switch.enable(endpoint.id, by=OWNER)

    async def test_of_an_unknown_one_is_refused_to_nobody(self, notifier: Notifier) -> None:
        assert not await notifier.switch.enable(uuid4(), by=OWNER)


async def test_an_app_has_so_many_endpoints_however_many_are_added_at_once(
    notifier: Notifier,
) -> None:
    first = await notifier.endpoint("http://a.example")
    wanted = [replace(first, id=uuid4()) for _ in range(5)]

    added = await asyncio.gather(
        *(notifier.endpoints.add(one, secret="whsec_", most=3) for one in wanted),
        return_exceptions=True,
    )

    assert [type(one) for one in added if one is not None] == [TooMany] * 3
    assert len(await notifier.endpoints.list_endpoints(first.app_id)) == 3
