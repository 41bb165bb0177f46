"""What a process is made of, as its service puts it together."""

from __future__ import annotations

import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from swap_runtime.clock import Clock, utc_now
from swap_runtime.http.internal import Check
from swap_runtime.messaging.parking import PostgresParking
from swap_runtime.operators.admin_routes import (
    AddFacts,
    AdminRoute,
    CarryOut,
    Handler,
    NeedsSecond,
    OrderRoute,
)
from swap_runtime.postgres.database import Engine, create_engine
from swap_runtime.postgres.leases import TERM, Lease, work_while_held
from swap_runtime.postgres.wake import Wake, Wakes
from swap_runtime.process.supervision import Beat, Rounds, Run, SupervisedTask, Work
from swap_runtime.settings import IDLE_TIMEOUT, ServiceGroup, SharedSettings

if TYPE_CHECKING:
    from swap_runtime.messaging.consuming import Subscriptions

Build = Callable[["Service"], Awaitable[None]]
Lead = Callable[[Beat, Lease], Awaitable[None]]
Close = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ServedApp:
    """An ASGI application and its port."""

    app: Any
    host: str
    port: int
    idle_timeout: timedelta
    is_internal: bool


class Service:
    """What a process is made of; `build` adds to it, `run` runs it."""

    def __init__(
        self,
        name: str,
        settings: SharedSettings,
        group: ServiceGroup,
        *,
        publishes: bool = True,
        clock: Clock = utc_now,
        schema_revision: str | None = None,
    ) -> None:
        """
        :param schema_revision: the last migration that its code needs; None is not checked.
        """
        self.name = name
        self.schema_revision = schema_revision
        self.settings = settings
        self.group = group
        self.publishes = publishes
        self.clock = clock
        self.holder = f"{socket.gethostname()}/{os.getpid()}/{token_hex(4)}"
        self.engine: Engine = create_engine(
            group.database_url, application_name=name, pool_size=group.database_pool_size
        )
        self.wakes = Wakes(self.engine, group.database_url, service=name)
        self.engine.wake_listener = self.wakes.wake_all
        self.tasks: list[SupervisedTask] = []
        self.rounds: list[Rounds] = []
        self.admin_routes: list[AdminRoute] = []
        self.order_routes: list[OrderRoute] = []
        self.asgi: list[ServedApp] = []
        self.checks: dict[str, Check] = {}
        self.note_checks: dict[str, Check] = {}
        self.starters: list[Close] = []
        self.closers: list[Close] = []

    @cached_property
    def subscriptions(self) -> Subscriptions:
        """What this process consumes. A service that never uses it does not load FastStream."""
        from swap_runtime.messaging.consuming import Subscriptions  # noqa: PLC0415

        return Subscriptions(self.settings.kafka)

    def parking(self, consumer: str) -> PostgresParking:
        """Return where this consumer's messages are set aside."""
        return PostgresParking(self.engine, consumer=consumer)

    def task(self, name: str, run: Run, *, failures_max: int | None = None) -> None:
        """Keep `run(beat)` running; it calls `beat()` at least every few seconds.

        It is cancelled when the process stops, and restarted with a growing pause when it raises.
        """
        at_most = failures_max or self.settings.watchdog.task_failures_max
        self.tasks.append(SupervisedTask(name, run, failures_max=at_most))

    def every(
        self,
        name: str,
        interval: timedelta,
        work: Work,
        *,
        wake: Wake | None = None,
        rest: timedelta | None = None,
        failures_max: int | None = None,
    ) -> None:
        """Call `work()` at an interval, sooner when woken, and at once again while it returns True.

        At least `rest` passes between two calls, so that work is done in batches; zero where
        latency matters. Replicas all do it: work taken `FOR UPDATE SKIP LOCKED` needs no leader.
        """
        rounds = Rounds(interval, work, wake=wake, rest=rest)
        self.rounds.append(rounds)
        self.task(name, rounds, failures_max=failures_max)

    def lead(self, name: str, run: Lead, *, term: timedelta = TERM) -> None:
        """Keep `run(beat, lease)` running on one replica: where the lease `name` is held.

        It is cancelled as soon as the lease is lost. Standing by counts as being well.
        """

        async def stand_by_and_run(beat: Beat) -> None:
            await work_while_held(
                self.engine,
                name,
                lambda lease: run(beat, lease),
                holder=self.holder,
                term=term,
                waiting=beat,
            )

        self.task(name, stand_by_and_run)

    def admin(
        self, method: str, path: str, handler: Handler, *, is_for_services: bool = False
    ) -> None:
        """Add an operator's route below `/admin`; without an operator token none is reached.

        A route that is not a GET is an order: only operators may, and it is logged.

        :param is_for_services: whether other services of the deployment may ask it, too.
        """
        self.admin_routes.append(AdminRoute(method, path, handler, is_for_services))

    def order(
        self,
        path: str,
        carry_out: CarryOut,
        *,
        needs_second: NeedsSecond | None = None,
        add_facts: AddFacts | None = None,
    ) -> None:
        """Add an order below `/admin`.

        :param needs_second: returns why an order waits until a second operator approves it.
        :param add_facts: adds to an order that is stored the facts that it was based on.
        """
        self.order_routes.append(OrderRoute(path, carry_out, needs_second, add_facts))

    def serve(
        self,
        app: Any,
        *,
        port: int,
        host: str | None = None,
        idle_timeout: timedelta = IDLE_TIMEOUT,
        is_internal: bool = False,
    ) -> None:
        """Serve an ASGI application in the same event loop, and let its requests end at a stop.

        :param is_internal: whether its callers are the service's own processes, with its traces.
        """
        served = ServedApp(app, host or self.group.host, port, idle_timeout, is_internal)
        self.asgi.append(served)

    def ready_when(self, name: str, check: Check) -> None:
        """Make `/readyz` depend on a check, which raises while the process cannot work."""
        self.checks[name] = check

    def add_note_check(self, name: str, check: Check) -> None:
        """Show what a check raises among the notes of `/readyz`. The process stays ready."""
        self.note_checks[name] = check

    def on_start(self, begin: Close) -> None:
        """Do this once Postgres is there and before anything works: checks, for instance.

        `Unavailable` is waited for; anything else ends the process.
        """
        self.starters.append(begin)

    def on_stop(self, close: Close) -> None:
        """Close a client at the end, the last one opened first."""
        self.closers.append(close)
