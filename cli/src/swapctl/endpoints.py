"""Addresses of services and database: from options, the environment, a cluster or a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from swapctl.port_forwards import DeploymentNotFound, ForwardFailed, PortForwards

STACK_FILE: Final = Path("var/stack.json")


class ServiceName(StrEnum):
    API = "api"
    QUOTER = "quoter"
    WATCHER = "chain_watcher"
    SETTLER = "settler"
    NOTIFIER = "notifier"
    DASHBOARD = "dashboard"


URL_VARIABLES: Final = {
    ServiceName.API: "SWAPCTL_API_URL",
    ServiceName.QUOTER: "SWAPCTL_QUOTER_URL",
    ServiceName.WATCHER: "SWAPCTL_WATCHER_URL",
    ServiceName.SETTLER: "SWAPCTL_SETTLER_URL",
    ServiceName.NOTIFIER: "SWAPCTL_NOTIFIER_URL",
    ServiceName.DASHBOARD: "SWAPCTL_DASHBOARD_URL",
}
TOKEN_VARIABLE: Final = "SWAP_OPERATOR__TOKEN"
OPERATOR_VARIABLE: Final = "SWAPCTL_OPERATOR"
PUBLIC_VARIABLE: Final = "SWAPCTL_PUBLIC_URL"
ACCESS_VARIABLE: Final = "SWAPCTL_ACCESS_TOKEN"
AUDITOR_VARIABLE: Final = "SWAPCTL_AUDITOR_URL"
# Each may be in a file instead, which NAME_FILE names, as for the services.
SECRETS: Final = (
    *(TOKEN_VARIABLE, ACCESS_VARIABLE, AUDITOR_VARIABLE),
    *("SWAP_KAFKA__PASSWORD", "SWAP_REDIS__URL", "SWAP_NODES"),
)


class NotConfigured(Exception):
    """A value that a command needs is missing, or is given twice."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Known addresses and tokens. Options win over the environment, and that over all others.

    The others are a stack file, or the forwards of a cluster.
    """

    environment: Mapping[str, str]
    stack: Mapping[str, Any] = field(default_factory=dict)
    forwards: PortForwards | None = None

    def url(self, service: ServiceName) -> str:
        """Return the address of a service's internal port.

        :raises NotConfigured: when it is not known, or the cluster does not have the service.
        :raises ForwardFailed: when the cluster's port cannot be forwarded.
        """
        variable = URL_VARIABLES[service]
        if self.forwards is not None and variable not in self.environment:
            try:
                return self.forwards.url(service.replace("_", "-"))
            except DeploymentNotFound as error:
                raise NotConfigured(str(error)) from error
        for row in self.stack.get("services", ()):
            if row["name"].replace("-", "_") == service and variable not in self.environment:
                return str(row["internal_url"])
        url = self._require(variable, None, f"the internal address of the {service} service")
        return url.rstrip("/")

    def has_url(self, service: ServiceName) -> bool:
        """Return whether the service is there; its port may fail to be forwarded."""
        try:
            return bool(self.url(service))
        except NotConfigured:
            return False
        except ForwardFailed:
            return True

    @property
    def token(self) -> str:
        """Return the token of the named operator; without a name, of the stack's default operator.

        :raises NotConfigured: when it is not known.
        """
        name = self.environment.get(OPERATOR_VARIABLE)
        if name:
            return self._token_of(name)
        default = self.stack.get("operator", {}).get("token")
        return self._require(TOKEN_VARIABLE, default, "the operator's token")

    def _token_of(self, name: str) -> str:
        for row in self.stack.get("operators", ()):
            if row["name"] == name:
                return str(row["token"])
        raise NotConfigured(f"the stack's description has no operator {name}")

    @property
    def access_token(self) -> str | None:
        """Return a member's access token; None for an operator."""
        return self.environment.get(ACCESS_VARIABLE)

    @property
    def public_url(self) -> str:
        """Return the address that partners use.

        :raises NotConfigured: when it is not known.
        """
        default = self.stack.get("gateway", {}).get("url")
        return self._require(PUBLIC_VARIABLE, default, "the public address").rstrip("/")

    @property
    def auditor_url(self) -> str:
        """Return the address of the database for a role that only reads.

        :raises NotConfigured: when it is not known.
        """
        postgres = self.stack.get("postgres", {})
        default = postgres.get("auditor_url") or postgres.get("url")
        url = self._require(AUDITOR_VARIABLE, default, "the database's address")
        return url.replace("postgresql+psycopg://", "postgresql://", 1)

    def _require(self, variable: str, default: str | None, what: str) -> str:
        value = self.environment.get(variable) or default
        if not value:
            raise NotConfigured(f"{what} is unknown: set {variable}, or name a stack with --stack")
        return value


def find_endpoints(
    stack: Path | None,
    overrides: Mapping[str, str | None],
    forwards: PortForwards | None = None,
) -> Endpoints:
    """Collect addresses and tokens; a stack file at the default path is read if it exists.

    :param overrides: options of the command line, by the variable that each replaces.
    :param forwards: of a cluster. Then no stack file is read: its tokens are of another deployment.
    :raises NotConfigured: when a named file cannot be read, or a value is given twice.
    """
    options = {name: value for name, value in overrides.items() if value}
    environment = {**_with_files(os.environ), **options}
    if TOKEN_VARIABLE in options:
        if OPERATOR_VARIABLE in options:
            raise NotConfigured("--token and --operator each name an operator: give one of them")
        environment.pop(OPERATOR_VARIABLE, None)  # an option wins over the environment
    if forwards is not None:
        return Endpoints(environment, forwards=forwards)
    if stack is None and not STACK_FILE.exists():
        return Endpoints(environment)
    path = stack or STACK_FILE
    try:
        return Endpoints(environment, json.loads(path.read_text()))
    except FileNotFoundError as error:
        raise NotConfigured(f"no stack is described in {path}: is it running?") from error
    except (OSError, ValueError) as error:
        raise NotConfigured(f"{path} cannot be read: {error}") from error


def _with_files(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment with the secrets that are in files.

    :raises NotConfigured: when a file cannot be read, or the variable is set as well.
    """
    found = dict(environment)
    for name in SECRETS:
        if not (path := found.pop(f"{name}_FILE", "")):
            continue
        if found.get(name):
            raise NotConfigured(f"{name} and {name}_FILE are both set: set one of them")
        try:
            found[name] = Path(path).read_text().rstrip("\r\n")
        except (OSError, UnicodeError) as error:
            raise NotConfigured(f"{name}_FILE: {path} cannot be read: {error}") from error
    return found
