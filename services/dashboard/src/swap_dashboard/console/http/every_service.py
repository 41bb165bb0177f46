"""Rows that several services have, read at once; a service that is away or refuses hides no
other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from swap_dashboard.console.ports import (
    OperatorApi,
    ServiceName,
    ServiceRefused,
    ServiceUnavailable,
)


@dataclass(frozen=True, slots=True)
class ServiceRows:
    rows: Sequence[Mapping[str, Any]]  # each with its `service`
    unavailable: Sequence[str]
    refusals: Sequence[str] = ()  # sentences, each with the words of the service
    is_cut: bool = False  # a service has more

    @property
    def notices(self) -> Sequence[str]:
        no_answer = [f"No answer from {', '.join(self.unavailable)}."] if self.unavailable else []
        return [*no_answer, *self.refusals]


async def gather_rows(
    api: OperatorApi,
    path: str,
    name: str,
    *,
    of: Sequence[ServiceName] = tuple(ServiceName),
    query: Mapping[str, str] | None = None,
) -> ServiceRows:
    """
    :param of: of these, the ones that are deployed.
    :raises TokenRefused: when the token opens nothing any more.
    """
    deployed = [service for service in of if service in api.services]

    async def read(service: ServiceName) -> ServiceRows:
        try:
            content = await api.get(service, path, query)
        except ServiceUnavailable:
            return ServiceRows((), [service.shown])
        except ServiceRefused as error:
            return ServiceRows((), (), [f"{service.shown} refuses the request: {error}"])
        rows = [{"service": service.value, **row} for row in content[name]]
        return ServiceRows(rows, (), is_cut=bool(content.get("next")))

    found = await asyncio.gather(*(read(service) for service in deployed))
    return ServiceRows(
        [row for one in found for row in one.rows],
        [name for one in found for name in one.unavailable],
        [sentence for one in found for sentence in one.refusals],
        is_cut=any(one.is_cut for one in found),
    )


def service_of(text: str) -> ServiceName | None:
    try:
        return ServiceName(text)
    except ValueError:
        return None
