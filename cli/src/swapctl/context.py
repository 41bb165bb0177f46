"""What every command gets from the root: where things are."""

from __future__ import annotations

from typing import cast

import typer

from swapctl.internal import Internal
from swapctl.management import Management
from swapctl.places import Places, ServiceName


def places(context: typer.Context) -> Places:
    return cast(Places, context.obj)


def internal(context: typer.Context, service: ServiceName) -> Internal:
    """
    :raises NotTold: when its address or the token is not known.
    """
    return Internal(places(context), service)


def management(context: typer.Context, *, as_member: bool | None = None) -> Management:
    """
    :raises NotTold: when its address or the token is not known.
    """
    return Management(places(context), as_member=as_member)
