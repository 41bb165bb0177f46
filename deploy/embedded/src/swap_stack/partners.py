"""Two partners, made through the operators' command line, and the first one's webhook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from typer.testing import CliRunner

from swap_stack.daemon import StackError
from swap_stack.files import read_json, write_json
from swap_stack.parts.receiver import Receiver
from swap_stack.places import Places
from swap_stack.services import ServicePorts
from swapctl.app import app

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
        urls = {URL_VARIABLES[name]: ports.internal_url(name) for name in ports.internal}
        self._env: Mapping[str, str] = {**urls, "SWAP_OPERATOR__TOKEN": token}

    def run(self, *words: str) -> dict[str, Any]:
        """Run one command in this process: seven more would take longer than the rest of a start.

        :raises StackError: with what `swapctl` said.
        """
        done = CliRunner().invoke(app, [*words, "--json"], env=self._env)
        if done.exit_code != 0:
            said = done.exception or done.output
            raise StackError(f"`swapctl {' '.join(words)}` failed: {said}")
        answer: dict[str, Any] = orjson.loads(done.stdout)
        return answer


async def make_partners(
    places: Places, operator: Operator, receiver: Receiver
) -> list[dict[str, Any]]:
    """Return the partners as var/stack.json names them; made once, kept over restarts."""
    partners: list[dict[str, Any]] | None = read_json(places.partners_file)
    if partners is None:
        received = places.shown(receiver.received)
        partners = register_partners(operator, webhook_url=receiver.url, received=received)
        write_json(places.partners_file, partners)
    await receiver.start_with(partners[0]["webhook"]["secret"])
    await receiver.ready()
    return partners


def register_partners(
    operator: Operator, *, webhook_url: str, received: str
) -> list[dict[str, Any]]:
    """Make both partners; the first one is sent webhooks, which end up in `received`."""
    demo, other = _make(operator, "demo"), _make(operator, "other")
    added = operator.run("webhook", "add", "--app", demo["app_id"], "--url", webhook_url)
    demo["webhook"] = {"url": webhook_url, "secret": added["secret"], "received": received}
    return [demo, other]


def _make(operator: Operator, name: str) -> dict[str, Any]:
    partner = operator.run("partner", "create", name)
    # Nobody should meet a rate limit by trying things out; tests of limits make their own app.
    made = operator.run(
        *("app", "create", "--partner", partner["id"], "--name", name, "--limits-lifted")
    )
    key = operator.run("key", "create", "--app", made["id"])
    return {"name": name, "app_id": made["id"], "api_key": key["key"], "webhook": None}
