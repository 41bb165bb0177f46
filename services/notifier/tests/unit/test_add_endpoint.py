"""Permitted receivers: the deployment, not the request, determines the strictness."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID, uuid4

import pytest

from services.notifier.tests.factories import INSIDE, NOW
from swap_notifier.domain.endpoints import Endpoint
from swap_notifier.domain.outcomes import DisabledReason
from swap_notifier.domain.urls import UrlRefused
from swap_notifier.usecases.add_endpoint import AddEndpoint


class NoEndpoints:
    def __init__(self) -> None:
        self.added: list[Endpoint] = []

    async def add(self, endpoint: Endpoint, *, secret: str, most: int | None = None) -> None:
        self.added.append(endpoint)

    async def list_endpoints(self, app_id: UUID | None) -> Sequence[Endpoint]:
        return self.added

    async def rotate(self, endpoint_id: UUID, *, secret: str, until: datetime) -> bool:
        return False

    async def disable(self, endpoint_id: UUID, *, reason: DisabledReason, at: datetime) -> bool:
        return False

    async def enable(
        self, endpoint_id: UUID, *, at: datetime, undoes_operator: bool = True
    ) -> bool:
        return False

    async def remove(self, endpoint_id: UUID, **_: object) -> bool:
        return False


class OneName:
    def __init__(self, *addresses: str) -> None:
        self.found = addresses

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        return self.found


def adding(
    endpoints: NoEndpoints, environment: str, *, host_addresses: Sequence[str] = ("93.184.215.14",)
) -> AddEndpoint:
    return AddEndpoint(
        endpoints,
        OneName(*host_addresses),
        environment=environment,
        allow_loopback=False,
        clock=lambda: NOW,
        new_id=uuid4,
        random_bytes=bytes,
    )


class TestAddEndpoint:
    @pytest.mark.parametrize(
        ("environment", "scheme"), [("test", "http"), ("test", "https"), ("live", "https")]
    )
    async def test_adds_one_that_the_deployment_allows(self, environment: str, scheme: str) -> None:
        endpoints = NoEndpoints()

        added, _ = await adding(endpoints, environment)(
            app_id=uuid4(), url=f"{scheme}://hooks.example.com/", wants_updates=False
        )

        assert endpoints.added == [added]
        assert added.environment == environment

    async def test_refuses_plain_http_in_a_live_deployment(self) -> None:
        endpoints = NoEndpoints()

        with pytest.raises(UrlRefused, match="must be https"):
            await adding(endpoints, "live")(
                app_id=uuid4(), url="http://hooks.example.com/", wants_updates=False
            )

        assert endpoints.added == []

    @pytest.mark.parametrize("address", INSIDE)
    @pytest.mark.fault("N5")
    async def test_n5_refuses_a_name_that_leads_inside_also_beside_others(
        self, address: str
    ) -> None:
        endpoints = NoEndpoints()

        with pytest.raises(UrlRefused, match="no public address"):
            await adding(endpoints, "test", host_addresses=("93.184.215.14", address))(
                app_id=uuid4(), url="https://hooks.example.com/", wants_updates=False
            )

        assert endpoints.added == []
