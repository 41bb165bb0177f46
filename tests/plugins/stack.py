"""A whole stack for the end-to-end tests: with its own folder and ports, ended with the session.

It is the stack of `make up`, with three differences. Services start through `launcher.py`, so that
a test can control the next start. The catalogue has special cases for tests: a quote that soon
expires, a payout that is shown early, a token that requires finality. Waiting times
are shorter. `BROKER` chooses the broker, as everywhere.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import secrets
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import httpx
import pytest
from rich.console import Console

from swap_runtime.messaging.topics import ensure_topics
from swap_runtime.settings import KafkaSettings
from swap_stack.catalogue import make_catalogue
from swap_stack.down import down
from swap_stack.files import read_json
from swap_stack.keys import load_or_make
from swap_stack.options import Options
from swap_stack.parts.broker import choose_broker, make_broker
from swap_stack.places import ROOT, Places
from swap_stack.ports import Ports
from swap_stack.processes import ProcessRecord, Registry, is_alive, send
from swap_stack.report import Report
from swap_stack.services import ServiceProcess, SupervisorPlan, make_plan
from swap_stack.up import up
from tests.e2e.ticking import Ticker
from tests.plugins.invariants import make_views
from tests.support.waiting import until, until_true_here

FOLDER = ROOT / "var/e2e"
RETAINED_FOLDERS = 5  # folders of earlier failed runs
LAUNCHER = Path(__file__).with_name("launcher.py")

KEY_HEADER = "X-SVC-APIKEY"
# The header in which clients of similar services send their keys.
KEY_ALIAS = "X-PARTNER-APIKEY"
# Only times differ from the defaults, so that services of these tests do the same work sooner.
SETTINGS = {
    "SWAP_API__KEY_HEADERS": json.dumps([KEY_HEADER, KEY_ALIAS]),
    "SWAP_NOTIFIER__ATTEMPT_TIMEOUT": "PT3S",
    "SWAP_CHAIN_WATCHER__LEASE_TERM": "PT5S",
    "SWAP_SETTLER__LANE_UPKEEP_INTERVAL": "PT0.2S",
    "SWAP_SETTLER__REBROADCAST_AFTER": "PT2S",
    "SWAP_SETTLER__PAYOUT_ATTEMPTS_MAX": "3",
    "SWAP_SETTLER__PAYOUT_RETRY_PAUSE": "PT0.3S",
    "SWAP_SETTLER__REQUOTE_PAUSE": "PT1S",
    "SWAP_SETTLER__REQUOTE_PATIENCE": "PT4S",
    "SWAP_SETTLER__SWEEP_INTERVAL": "PT0.5S",
    "SWAP_SETTLER__SWEEP_BOOKING_INTERVAL": "PT0.2S",
    "SWAP_SWEEP__INTERVAL": "PT0.5S",
    "SWAP_SWEEP__IDLE_AFTER": "PT2S",
    "SWAP_SWEEP__OVERDUE_AFTER": "PT5S",
}
# The route with quotes that expire at once.
OLD_AT_ONCE = ("POLYGON_DEVNET", "DAI", "ETHEREUM_DEVNET", "DAI")
# A closed route, and one with a maximum above every balance.
CLOSED = ("BASE_DEVNET/DAI", "POLYGON_DEVNET/POL")
BOUNDLESS = ("ETHEREUM_DEVNET/DAI", "POLYGON_DEVNET/POL")
MORE_THAN_IS_HELD = "1000000000000"
# Payouts are final two blocks after they are mined.
LATE_PAYOUTS = ("POLYGON_DEVNET", 3)
# Deposits are credited only at the chain's finality.
WAITS_FOR_FINALITY = ("BASE_DEVNET", "DAI")


def with_corners(catalogue: Mapping[str, Any]) -> dict[str, Any]:
    """Return the catalogue of a development stack with the special cases of the tests."""
    usual = catalogue["routes"][0]
    old = _ends("/".join(OLD_AT_ONCE[:2]), "/".join(OLD_AT_ONCE[2:]))
    corners = [
        {**usual, **old, "quote_lifetime_seconds": 1},
        {**usual, **_ends(*CLOSED), "closed": True},
        {**usual, **_ends(*BOUNDLESS), "max_usd": MORE_THAN_IS_HELD},
    ]
    return {
        **catalogue,
        "networks": [_with_corners(network) for network in catalogue["networks"]],
        "routes": [*corners, *catalogue["routes"]],
    }


def _ends(source: str, destination: str) -> dict[str, str]:
    return {"source": source, "destination": destination}


def _with_corners(network: Mapping[str, Any]) -> dict[str, Any]:
    final_only = [{"below_base_units": None, "confirmations": None}]
    tokens = [
        {**token, "tiers": final_only}
        if (network["name"], token["symbol"]) == WAITS_FOR_FINALITY
        else token
        for token in network["tokens"]
    ]
    name, confirmations = LATE_PAYOUTS
    if network["name"] == name:
        return {**network, "tokens": tokens, "payout_confirmations": confirmations}
    return {**network, "tokens": tokens}


class Stack:
    """One running stack, with the actions of tests on it."""

    def __init__(self, places: Places, options: Options) -> None:
        self.places = places
        self._options = options
        self._registry = Registry(places.processes_file)
        self._orders = places.var / "orders"
        self.broken_by: str | None = None
        self.state_at_rest: tuple[Any, ...] | None = (
            None  # the state of the work at the last idle time
        )

    @property
    def description(self) -> Mapping[str, Any]:
        """Return the current var/stack.json; its process ids follow restarts."""
        described: Mapping[str, Any] = read_json(self.places.stack_file)
        return described

    @property
    def auditor_url(self) -> str:
        return str(self.description["postgres"]["auditor_url"])

    @property
    def superuser_url(self) -> str:
        return str(self.description["postgres"]["url"])

    @property
    def broker_kind(self) -> str:
        return str(self.description["broker"])

    @property
    def payout_confirmations(self) -> dict[str, int | None]:
        networks = [network["name"] for network in self.description["networks"]]
        return {name: LATE_PAYOUTS[1] if name == LATE_PAYOUTS[0] else 1 for name in networks}

    def received_file(self, partner: str = "demo") -> Path:
        """Return the file in which the partner's receiver stores messages."""
        [named] = [p for p in self.description["partners"] if p["name"] == partner]
        return self.places.root / str(named["webhook"]["received"])

    def operator_headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.description['operator']['token']}"}

    async def admin(self, service: str, path: str) -> Any:
        """Return a service's answer to an operator's read."""
        url = f"{self._service(service)['internal_url']}/admin{path}"
        async with httpx.AsyncClient(timeout=10, verify=False) as client:
            answer = await client.get(url, headers=self.operator_headers())
        answer.raise_for_status()
        return answer.json()

    async def order(self, service: str, path: str, body: Mapping[str, Any]) -> Any:
        """Send an operator's order to a service, and return its answer."""
        url = f"{self._service(service)['internal_url']}/admin{path}"
        async with httpx.AsyncClient(timeout=10, verify=False) as client:
            answer = await client.post(url, json=dict(body), headers=self.operator_headers())
        answer.raise_for_status()
        return answer.json()

    # Services

    def pid(self, service: str) -> int | None:
        pid = self._service(service)["pid"]
        return None if pid is None else int(pid)

    def has_crashed(self, service: str, point: str) -> bool:
        """Return whether the service has reached its crash point."""
        log = self._crash_log(service)
        return log.exists() and point in log.read_text().splitlines()

    def send(self, service: str, number: int) -> None:
        """Send a signal to the current process, if there is one."""
        for record in self._records(f"{service}-0"):
            send(record, signal.Signals(number))

    async def is_ready(self, service: str) -> bool:
        url = f"{self._service(service)['internal_url']}/readyz"
        try:
            async with httpx.AsyncClient(timeout=2, verify=False) as client:
                return not (await client.get(url)).json()["problems"]
        except (httpx.HTTPError, ValueError):
            return False

    async def ready(self, *services: str) -> None:
        """Wait until the services (all by default) are up and ready."""
        names = services or [row["name"] for row in self.description["services"]]
        for name in names:
            await until(partial(self.is_ready, name), what=f"{name} is ready", within=60)

    async def restart_to_crash(self, service: str, point: str) -> None:
        """Restart a service that exits at a crash point (`name:n`); its next start is normal."""
        log = self._crash_log(service)
        log.unlink(missing_ok=True)
        await self.restart(service, CRASH_AT=point, CRASH_LOG=str(log))

    async def restart(self, service: str, **environment: str) -> None:
        """Stop a service and wait until it is ready again, with another environment this time."""
        before = self.pid(service)
        if environment:
            self._orders.mkdir(exist_ok=True)
            (self._orders / f"{service}.once.json").write_text(json.dumps(environment))
        self.send(service, signal.SIGTERM)
        await until_true_here(
            lambda: self.pid(service) not in (before, None), what=f"a new {service}"
        )
        await self.ready(service)

    @asynccontextmanager
    async def hold(self, service: str) -> AsyncIterator[None]:
        """Kill a service and prevent its start while the block runs."""
        self._orders.mkdir(exist_ok=True)
        hold = self._orders / f"{service}.hold"
        hold.touch()
        before = self.pid(service)
        self.send(service, signal.SIGKILL)
        try:
            await until_true_here(lambda: self.pid(service) != before, what=f"{service} is gone")
            yield
        finally:
            hold.unlink()
        await self.ready(service)

    # The broker

    @property
    def kafka(self) -> KafkaSettings:
        return KafkaSettings(**self.description["kafka"])

    def send_broker(self, number: int) -> None:
        for record in self._records("kafka"):
            send(record, signal.Signals(number))

    async def start_broker(self) -> None:
        """Start the broker again if it is down, and create missing topics."""
        if not any(is_alive(record) for record in self._records("kafka")):
            security = "scram" if self.kafka.uses_sasl else "none"
            broker = make_broker(
                choose_broker(self.broker_kind, self.places, security),
                self.places,
                Ports(self.places.ports_file),
                self._registry,
                load_or_make(self.places.secrets_file).kafka_passwords,
            )
            await broker.start()
            await broker.ready()
        await ensure_topics(self.kafka)

    def _crash_log(self, service: str) -> Path:
        return self.places.logs / f"crash-{service}.log"

    def _records(self, name: str) -> list[ProcessRecord]:
        return [record for record in self._registry.list_records() if record.name == name]

    def _service(self, name: str) -> Mapping[str, Any]:
        return next(row for row in self.description["services"] if row["name"] == name)


class Stacks:
    """Provides the stack of the session, and a new one after a test has broken it."""

    def __init__(self) -> None:
        self._stack: Stack | None = None
        self._lock: IO[str] | None = None
        self._ticker: Ticker | None = None
        self.has_failures = False

    def running(self) -> Stack:
        if self._stack is not None and self._stack.broken_by is not None:
            self.end()
        if self._stack is None:
            self._stack = self._start()
        return self._stack

    def end(self) -> None:
        """Stop every process; the logs of a failed run are kept."""
        if self._stack is None or self._lock is None:
            return
        if self._ticker is not None:
            self._ticker.end()
        var = self._stack.places.var
        asyncio.run(_end(var))
        _clear(var, keep_logs=self.has_failures)
        self._lock.close()
        if not var.exists():
            _lock_of(var).unlink()
        self._stack = self._lock = self._ticker = None

    def _start(self) -> Stack:
        FOLDER.mkdir(parents=True, exist_ok=True)
        _end_abandoned()
        places = Places(FOLDER / f"{os.getpid()}-{secrets.token_hex(3)}")
        places.logs.mkdir(parents=True)
        self._lock = _lock_of(places.var).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        options = replace(Options.from_environment(), fresh=False, catalogue=None)
        stack = Stack(places, options)
        try:
            with _test_settings(places), places.log("up").open("w") as log:
                asyncio.run(up(places, options, Report(Console(file=log))))
            make_views(stack.superuser_url, stack.payout_confirmations)
            self._ticker = Ticker([n["rpc_urls"][0] for n in stack.description["networks"]])
        except BaseException:
            self._stack, self.has_failures = stack, True
            self.end()
            raise
        return stack


@pytest.fixture(scope="session")
def stacks() -> Iterator[Stacks]:
    one = Stacks()
    yield one
    one.end()


@pytest.fixture(scope="module")
def stack(stacks: Stacks) -> Stack:
    """Return the session's stack; after a broken one the next module gets a new one."""
    return stacks.running()


@contextmanager
def _test_settings(places: Places) -> Iterator[None]:
    """Let `up` start services by the launcher, with the catalogue and settings of the tests."""

    def launched_plan(*arguments: Any, **options: Any) -> SupervisorPlan:
        made = make_plan(*arguments, **options)
        return replace(made, services=tuple(_through_launcher(places, s) for s in made.services))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("swap_stack.start.make_plan", launched_plan)
        patch.setattr(
            "swap_stack.start.make_catalogue",
            lambda *arguments: with_corners(make_catalogue(*arguments)),
        )
        for name, value in SETTINGS.items():
            if name not in os.environ:
                patch.setenv(name, value)
        yield


def _through_launcher(places: Places, service: ServiceProcess) -> ServiceProcess:
    launcher = (sys.executable, "-S", str(LAUNCHER), str(places.var / "orders"), service.name)
    return replace(service, command=(*launcher, *service.command))


async def _end(var: Path) -> None:
    with (var / "log/down.log").open("w") as log:
        await down(Places(var), Report(Console(file=log)))


def _clear(var: Path, *, keep_logs: bool) -> None:
    """Remove the files of a run; of a failed one keep the logs and the webhooks."""
    if not keep_logs:
        shutil.rmtree(var)
        return
    for path in var.iterdir():
        if path.is_dir() and path.name not in ("log", "webhooks"):
            shutil.rmtree(path)


def _end_abandoned() -> None:
    """Stop the processes of killed runs, and delete the oldest logs."""
    ended = []
    for var in (path for path in FOLDER.iterdir() if path.is_dir()):
        with _lock_of(var).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            ended.append(var)
            if (var / "processes.json").exists():
                asyncio.run(_end(var))
                _clear(var, keep_logs=True)
    for var in sorted(ended, key=lambda path: path.stat().st_mtime)[:-RETAINED_FOLDERS]:
        shutil.rmtree(var)
        _lock_of(var).unlink(missing_ok=True)


def _lock_of(var: Path) -> Path:
    """Return the file that the run of this folder locks until it ends."""
    return var.with_name(f"{var.name}.lock")
