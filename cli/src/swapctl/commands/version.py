"""The builds that run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import typer

from swapctl.admin_client import RequestFailed, internal_url
from swapctl.builds import read_build
from swapctl.context import get_endpoints, known_services
from swapctl.endpoints import NotConfigured, ServiceName
from swapctl.output import Json, show_all

COLUMNS: Final = ("service", "version", "revision")


def list_versions(context: typer.Context, *, as_json: Json = False) -> None:
    """List the version of each service with a known address, and the commit of its image.

    One process of each service answers: during a rollout another one may run another version.
    The exit code is 1 if a service does not answer.
    """
    failures: list[RequestFailed] = []
    rows = list(_rows(context, failures))
    if not rows:
        raise NotConfigured("no service's internal address is known: name a stack with --stack")
    show_all(rows, as_json=as_json, columns=COLUMNS)
    if failures:
        raise failures[0]


def _rows(context: typer.Context, failures: list[RequestFailed]) -> Iterator[dict[str, Any]]:
    for service in known_services(context, tuple(ServiceName)):
        row: dict[str, Any] = {"service": service.value, "version": None, "revision": None}
        try:
            build = read_build(internal_url(get_endpoints(context), service))
        except RequestFailed as error:
            failures.append(error)
        else:
            if build is not None:  # else the process does not name its build
                row |= {"version": build.version, "revision": build.revision}
        yield row
