"""Rows that several services have, read at once; a service that is away hides no other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from swap_dashboard.console.ports import OperatorApi, ServiceAway, ServiceName, ServiceRefused


@dataclass(frozen=True, slots=True)
class Gathered:
    rows: Sequence[Mapping[str, Any]]  # each with its `service`
    away: Sequence[str]

    @property
    def notices(self) -> Sequence[str]:
        return [f"No answer from {', '.join(self.away)}."] if self.away else []


async def gather_rows(
    api: OperatorApi,
    path: str,
    name: str,
    *,
    of: Sequence[ServiceName] = tuple(ServiceName),
    query: Mapping[str, str] | None = None,
) -> Gathered:
    """
    :param of: of these, the ones that are deployed.
    :raises TokenRefused: when the token opens nothing any more.
    """
    deployed = [service for service in of if service in api.services]

    async def read(service: ServiceName) -> Sequence[Mapping[str, Any]] | None:
        try:
            content = await api.get(service, path, query)
        except (ServiceAway, ServiceRefused):
            return None
        return [{"service": service.value, **row} for row in content[name]]

    found = await asyncio.gather(*(read(service) for service in deployed))
    return Gathered(
        [row for rows in found for row in rows or ()],
        [service.shown for service, rows in zip(deployed, found, strict=True) if rows is None],
    )


def service_of(text: str) -> ServiceName | None:
    try:
        return ServiceName(text)
    except ValueError:
        return None
