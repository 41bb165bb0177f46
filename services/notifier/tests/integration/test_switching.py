"""The party that disabled an endpoint decides who may enable it; an app's number is limited."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from services.notifier.tests.factories import a_swap
from services.notifier.tests.process_parts import Notifier
from swap_notifier.domain.endpoints import DisabledByOperator, TooMany
from swap_notifier.domain.outcomes import DisabledReason

pytestmark = pytest.mark.connected
OWNER, OPERATOR = DisabledReason.OWNER, DisabledReason.OPERATOR


class TestEnabling:
    async def test_is_allowed_to_owners_who_disabled_the_endpoint(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.switch.disable(endpoint.id, by=OWNER)
        reason = (await notifier.find_endpoint(endpoint)).disabled_reason

        assert await notifier.switch.enable(endpoint.id, by=OWNER)

        assert reason == "owner"
        assert (await notifier.find_endpoint(endpoint)).disabled_at is None

    async def test_is_for_operators_what_one_of_them_disabled(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.switch.disable(endpoint.id)

        await notifier.switch.disable(endpoint.id, by=OWNER)
        with pytest.raises(DisabledByOperator):
            await notifier.switch.enable(endpoint.id, by=OWNER)
        endpoint_ = await notifier.find_endpoint(endpoint)

        assert endpoint_.disabled_reason == "operator"
        assert await notifier.switch.enable(endpoint.id, by=OPERATOR)

    @pytest.mark.parametrize("before", [OWNER, DisabledReason.FAILING, DisabledReason.GONE])
    async def test_is_for_operators_too_where_it_was_disabled_before(
        self, notifier: Notifier, before: DisabledReason
    ) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.endpoints.disable(endpoint.id, reason=before, at=notifier.now)

        await notifier.switch.disable(endpoint.id, by=OPERATOR)

        with pytest.raises(DisabledByOperator):
            await notifier.switch.enable(endpoint.id, by=OWNER)

    async def test_of_an_unknown_one_is_not_refused(self, notifier: Notifier) -> None:
        assert not await notifier.switch.enable(uuid4(), by=OWNER)


class TestRemoving:
    async def test_ends_what_is_sent_and_shown(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.consume(a_swap(app_id=endpoint.app_id))

        assert await notifier.switch.remove(endpoint.id, by=OWNER)
        await notifier.consume(a_swap(app_id=endpoint.app_id, changed_at=notifier.now))

        assert [row.state for row in await notifier.rows()] == ["discarded"]
        assert await notifier.endpoints.find(endpoint.id) is None
        assert await notifier.endpoints.list_endpoints(endpoint.app_id) == []
        for do in (notifier.switch.remove, notifier.switch.enable, notifier.switch.disable):
            assert not await do(endpoint.id)
        assert not await notifier.endpoints.rotate(
            endpoint.id, secret="x", at=notifier.now, until=notifier.now
        )

    async def test_makes_room_for_another(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        another = replace(endpoint, id=uuid4())
        with pytest.raises(TooMany):
            await notifier.endpoints.add(another, secret="whsec_", most=1)

        await notifier.switch.remove(endpoint.id, by=OWNER)

        await notifier.endpoints.add(another, secret="whsec_", most=1)

    async def test_is_for_operators_what_one_of_them_disabled(self, notifier: Notifier) -> None:
        endpoint = await notifier.endpoint("http://a.example")
        await notifier.switch.disable(endpoint.id, by=OPERATOR)

        with pytest.raises(DisabledByOperator):
            await notifier.switch.remove(endpoint.id, by=OWNER)
        with pytest.raises(DisabledByOperator):
            await notifier.endpoints.add(replace(endpoint, id=uuid4()), secret="x", most=9)
        other_spelling = replace(endpoint, id=uuid4(), url="https://A.example:443/./?again")
        with pytest.raises(DisabledByOperator):
            await notifier.endpoints.add(other_spelling, secret="x", most=9)

        assert await notifier.switch.remove(endpoint.id, by=OPERATOR)


async def test_an_app_has_so_many_endpoints_however_many_are_added_at_once(
    notifier: Notifier,
) -> None:
    first = await notifier.endpoint("http://a.example")
    request_body = [replace(first, id=uuid4()) for _ in range(5)]

    added = await asyncio.gather(
        *(notifier.endpoints.add(one, secret="whsec_", most=3) for one in request_body),
        return_exceptions=True,
    )

    assert [type(one) for one in added if one is not None] == [TooMany] * 3
    assert len(await notifier.endpoints.list_endpoints(first.app_id)) == 3
