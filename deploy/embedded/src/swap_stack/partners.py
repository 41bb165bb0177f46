"""The stack's partners, made through the operators' command line, and where their webhooks go."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
from typer.testing import CliRunner

from swap_stack.daemon import StackError
from swap_stack.files import read_json, write_json
from swap_stack.sandbox.bench import LIFETIME_SECONDS
from swap_stack.sandbox.settings import SANDBOX
from swap_stack.services import SERVICES, ServicePorts
from swapctl.app import app
from swapctl.endpoints import TOKEN_VARIABLE, URL_VARIABLES, ServiceName

DEMO: Final = "demo"
PARTNERS: Final = (DEMO, "other", SANDBOX)
SHORT_LIVED: Final = "short-lived"
LIFETIMES_SECONDS: Final = {SANDBOX: LIFETIME_SECONDS, SHORT_LIVED: 3}


class Operator:
    """Runs `swapctl` against the services of one stack."""

    def __init__(self, urls: Mapping[str, str], token: str) -> None:
        """
        :param urls: where each service's internal port is, by its name.
        """
        addresses = {URL_VARIABLES[ServiceName(name)]: url for name, url in urls.items()}
        # A shell after `make env` names another stack, or the one before: None removes a variable.
        others = dict.fromkeys(name for name in os.environ if name.startswith("SWAPCTL_"))
        self._env: Mapping[str, str | None] = {**others, **addresses, TOKEN_VARIABLE: token}

    @classmethod
    def of_ports(cls, ports: ServicePorts, token: str) -> Operator:
        return cls({name: ports.internal_url(name) for name in SERVICES}, token)

    @classmethod
    def of_stack(cls, stack: Mapping[str, Any]) -> Operator:
        rows = [row for row in stack["services"] if row["name"] in SERVICES]
        urls = {row["name"]: row["internal_url"] for row in rows}
        return cls(urls, stack["operator"]["token"])

    def run(self, *words: str) -> Any:
        """Run one command in this process: seven more would take longer than the rest of a start.

        :raises StackError: with what `swapctl` said.
        """
        done = CliRunner().invoke(app, [*words, "--json"], env=self._env)
        if done.exit_code != 0:
            reason = done.exception or done.output
            raise StackError(f"`swapctl {' '.join(words)}` failed: {reason}")
        return orjson.loads(done.stdout)


@dataclass(frozen=True, slots=True)
class Hook:
    """Where a partner's webhooks go, and the file that they end up in."""

    url: str
    received: str


def make_partners(
    path: Path,
    operator: Operator,
    hooks: Mapping[str, Hook],
    *,
    names: Sequence[str] = PARTNERS,
) -> list[dict[str, Any]]:
    """Return the partners as var/stack.json names them; made once, kept over restarts.

    :param hooks: by partner.
    """
    stored: list[dict[str, Any]] = read_json(path) or []
    known = {row["name"] for row in stored}
    made = [_make(operator, name, hooks.get(name)) for name in names if name not in known]
    if made:
        write_json(path, [*stored, *made])
    return [*stored, *made]


def make_short_lived_key(operator: Operator) -> str:
    """Return a key of a new test app with swaps that expire after seconds."""
    return str(_make(operator, SHORT_LIVED, None)["api_key"])


def _make(operator: Operator, name: str, hook: Hook | None) -> dict[str, Any]:
    partner = operator.run("partner", "create", name)
    lifetime = LIFETIMES_SECONDS.get(name)
    # High enough for trying things out; tests of limits make their own app.
    made = operator.run(
        *("app", "create", "--partner", partner["id"], "--name", name, "--limits-lifted"),
        *(() if lifetime is None else ("--swap-lifetime", str(lifetime))),
    )
    key = operator.run("key", "create", "--app", made["id"])
    description = {"name": name, "app_id": made["id"], "api_key": key["key"], "webhook": None}
    if hook is not None:
        added = operator.run("webhook", "add", "--app", made["id"], "--url", hook.url)
        secret = added["secret"]
        description["webhook"] = {"url": hook.url, "secret": secret, "received": hook.received}
    return description
