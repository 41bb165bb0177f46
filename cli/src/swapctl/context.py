"""What every command gets from the root: where things are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import typer

from swapctl.internal import Internal
from swapctl.management import Management
from swapctl.places import NotTold, Places, ServiceName


def places(context: typer.Context) -> Places:
    return cast(Places, context.obj)


def internal(context: typer.Context, service: ServiceName) -> Internal:
    """
    :raises NotTold: when its address or the token is not known.
    """
    return Internal(places(context), service)


def known_services(
    context: typer.Context, services: Sequence[ServiceName]
) -> Iterator[ServiceName]:
    """Yield the services that have an address here; of a single one it is required."""
    for service in services:
        try:
            known = bool(places(context).url(service))
        except NotTold:
            known = len(services) == 1
        if known:
            yield service


def management(context: typer.Context, *, as_member: bool | None = None) -> Management:
    """
    :raises NotTold: when its address or the token is not known.
    """
    return Management(places(context), as_member=as_member)
