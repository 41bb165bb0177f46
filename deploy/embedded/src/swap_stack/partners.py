"""The stack's partners, made through the operators' command line, and where their webhooks go."""

from __future__ import annotations

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
from swap_stack.services import ServicePorts
from swapctl.app import app

DEMO: Final = "demo"
PARTNERS: Final = (DEMO, "other", SANDBOX)
LIFETIMES: Final = {SANDBOX: ("--swap-lifetime", str(LIFETIME_SECONDS))}

# `swapctl` has its own short name for one of them.
URL_VARIABLES = {
    "api": "SWAPCTL_API_URL",
    "quoter": "SWAPCTL_QUOTER_URL",
    "chain_watcher": "SWAPCTL_WATCHER_URL",
    "settler": "SWAPCTL_SETTLER_URL",
    "notifier": "SWAPCTL_NOTIFIER_URL",
}


class Operator:
    """Runs `swapctl` against the services of one stack."""

    def __init__(self, ports: ServicePorts, token: str) -> None:
        urls = {variable: ports.internal_url(name) for name, variable in URL_VARIABLES.items()}
        self._env: Mapping[str, str] = {**urls, "SWAP_OPERATOR__TOKEN": token}

    def run(self, *words: str) -> dict[str, Any]:
        """Run one command in this process: seven more would take longer than the rest of a start.

        :raises StackError: with what `swapctl` said.
        """
        done = CliRunner().invoke(app, [*words, "--json"], env=self._env)
        if done.exit_code != 0:
            reason = done.exception or done.output
            raise StackError(f"`swapctl {' '.join(words)}` failed: {reason}")
        answer: dict[str, Any] = orjson.loads(done.stdout)
        return answer


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


def _make(operator: Operator, name: str, hook: Hook | None) -> dict[str, Any]:
    partner = operator.run("partner", "create", name)
    # High enough for trying things out; tests of limits make their own app.
    made = operator.run(
        *("app", "create", "--partner", partner["id"], "--name", name, "--limits-lifted"),
        *LIFETIMES.get(name, ()),
    )
    key = operator.run("key", "create", "--app", made["id"])
    description = {"name": name, "app_id": made["id"], "api_key": key["key"], "webhook": None}
    if hook is not None:
        added = operator.run("webhook", "add", "--app", made["id"], "--url", hook.url)
        secret = added["secret"]
        description["webhook"] = {"url": hook.url, "secret": secret, "received": hook.received}
    return description
