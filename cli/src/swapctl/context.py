"""The services' URLs and the operator's token, which each command gets from the root command."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import typer

from swapctl.admin_client import Internal, Management, RequestFailed
from swapctl.endpoints import Endpoints, ServiceName


def get_endpoints(context: typer.Context) -> Endpoints:
    return cast(Endpoints, context.obj)


def internal(context: typer.Context, service: ServiceName) -> Internal:
    """
    :raises NotConfigured: when its address or the token is not known.
    """
    return Internal(get_endpoints(context), service)


def known_services(
    context: typer.Context, services: Sequence[ServiceName]
) -> Iterator[ServiceName]:
    """Yield the services with a known address. A single requested service must have one."""
    for service in services:
        if len(services) == 1 or get_endpoints(context).has_url(service):
            yield service


def rows_of_each(
    context: typer.Context,
    services: Sequence[ServiceName],
    rows_of: Callable[[Internal], Sequence[dict[str, Any]]],
) -> tuple[list[dict[str, Any]], RequestFailed | None]:
    """Return the rows of every service that answers, and the failure of one that does not.

    The caller shows the rows first: during an outage an operator needs them most.
    """
    rows: list[dict[str, Any]] = []
    failure = None
    for service in known_services(context, services):
        try:
            found = rows_of(internal(context, service))
        except RequestFailed as error:
            failure = error
        else:
            rows += [{"service": service.value, **row} for row in found]
    return rows, failure


def management(context: typer.Context, *, as_member: bool | None = None) -> Management:
    """
    :param as_member: act as a member, on the public port; by default if an access token is set.
    :raises NotConfigured: when its address or an operator's token is not known.
    """
    return Management(get_endpoints(context), as_member=as_member)
