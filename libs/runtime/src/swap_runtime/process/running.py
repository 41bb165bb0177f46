"""Starts what a service is made of, watches it, and stops it in order."""

from __future__ import annotations

import asyncio
import gc
import secrets
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import structlog
import uvloop

from swap_runtime.errors import Unavailable
from swap_runtime.http.asgi import AsgiServer
from swap_runtime.http.internal import Check, Internal
from swap_runtime.http.traced_requests import TracedRequests
from swap_runtime.messaging.parked_routes import ParkedRoutes
from swap_runtime.operators.order_desk import OrderDesk
from swap_runtime.operators.proposals import Proposals
from swap_runtime.postgres.assets_in_use import AssetsAbsent
from swap_runtime.postgres.database import ping
from swap_runtime.postgres.maintenance import Maintenance
from swap_runtime.postgres.schema_version import SchemaTooOld, require_schema
from swap_runtime.process.components import Build, Close, Service
from swap_runtime.process.files import raise_file_limit
from swap_runtime.process.kafka_side import KafkaSide
from swap_runtime.process.supervision import PAUSES, SupervisedTask, cancel_and_wait
from swap_runtime.telemetry import tracing
from swap_runtime.telemetry.build_info import report_build
from swap_runtime.telemetry.logging import configure_logging

MAINTENANCE_INTERVAL: Final = timedelta(hours=1)
MEASURE_INTERVAL: Final = timedelta(seconds=10)
CHECK_SECONDS: Final = 2
COLLECT_AFTER: Final = 50_000  # objects made and not yet freed; Python begins at 700
log = structlog.get_logger()


def run_service(create: Callable[[], Service], build: Build) -> None:
    """Run one process until SIGTERM or SIGINT.

    :raises SystemExit: with the process's code.
    """

    async def main() -> int:
        service = create()
        configure_logging(service.name, level=service.group.log_level)
        report_build(service.settings.build.version, service.settings.build.revision)
        raise_file_limit()
        stop_tracing = _start_tracing(service)
        await build(service)
        running = Running(service)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, running.stop)
        code = await running.run()
        await stop_tracing()
        return code

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sys.exit(runner.run(main()))


def _start_tracing(service: Service) -> Close:
    """Send spans where a collector is configured; return what ends that."""
    settings = service.settings
    if not settings.otel_endpoint:
        return _nothing
    # The SDK is not loaded where nothing is sent.
    from swap_runtime.telemetry.span_export import export_spans  # noqa: PLC0415

    export = export_spans(
        service.name,
        settings.otel_endpoint,
        ratio=settings.otel_sample_ratio,
        version=settings.build.version,
    )
    return export.stop


async def _nothing() -> None:
    pass


class Running:
    """One process from start to end."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._kafka = KafkaSide(service)
        operators = service.settings.known_operators(clock=service.clock)
        if any(route.needs_second for route in service.order_routes) and not operators.can_approve:
            log.warning("only one operator: orders that need approval cannot be approved")
        self._internal = Internal(
            operators=operators,
            desk=OrderDesk(
                service.engine,
                operators=operators,
                proposals=Proposals(
                    service.engine, lifetime=service.settings.operator.proposal_lifetime
                ),
                new_id=_random_id,
            ),
            alive=self._problems,
            ready=self._missing_parts,
            notes=self._kafka.notes,
            note_checks=self._notes_of_checks,
            admin=(*ParkedRoutes(service.engine).routes(), *service.admin_routes),
            orders=service.order_routes,
        )
        self._servers: list[AsgiServer] = []
        self._running: dict[SupervisedTask, asyncio.Task[None]] = {}
        self._has_started = False
        self._stop_requested = asyncio.Event()
        self._drain_ended = asyncio.Event()
        self.internal_port = 0
        self.ports: list[int] = []

    async def run(self) -> int:
        """Run until a stop signal (0) or until a required part has failed (1)."""
        code = 1
        try:
            code = await self._until_stopped(self._start_and_watch())
        except (SchemaTooOld, AssetsAbsent) as error:
            log.error("process failed", reason=str(error))
        except Exception:
            log.exception("process failed")
        finally:
            await self._stop()
        log.info("stopped", code=code)
        return code

    def stop(self) -> None:
        """Ask for the end, as SIGTERM does. A second call ends the drain."""
        if self._stop_requested.is_set():
            self._drain_ended.set()
        self._stop_requested.set()

    async def _until_stopped(self, work: Coroutine[Any, Any, int]) -> int:
        working = asyncio.create_task(work)
        stop_requested = asyncio.create_task(self._stop_requested.wait())
        await asyncio.wait({working, stop_requested}, return_when=asyncio.FIRST_COMPLETED)
        stop_requested.cancel()
        if self._has_started:
            await self._drain(working)
        if working.done():
            return working.result()
        await cancel_and_wait(working)
        return 0

    async def _drain(self, working: asyncio.Task[int]) -> None:
        """Serve what still comes until load balancers send requests to other processes."""
        self._internal.drain()
        for server in self._servers:
            server.drain()
        asked_again = asyncio.create_task(self._drain_ended.wait())
        try:
            await asyncio.wait(
                {working, asked_again},
                timeout=self._service.settings.watchdog.drain.total_seconds(),
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            asked_again.cancel()

    async def _start_and_watch(self) -> int:
        service = self._service
        self.internal_port = await self._internal.start(
            service.group.host, service.group.internal_port
        )
        log.info("internal port open", port=self.internal_port)
        await self._run_when_available("postgres", self._require_schema)
        await self._start_maintenance()
        for begin in service.starters:
            await self._run_when_available("start", begin)
        self._kafka.build()
        service.task("wakes", service.wakes.listen)
        service.task("wake others", service.wakes.notify_processes)
        for task in service.tasks:
            self._running[task] = asyncio.create_task(task.keep_running(), name=task.name)
        await self._serve()
        _tune_garbage_collector()
        self._has_started = True
        log.info("started", tasks=[task.name for task in service.tasks])
        # Unlike `gather` it leaves the tasks alone when the wait itself is cancelled.
        ended, _ = await asyncio.wait(self._running.values(), return_when=asyncio.FIRST_EXCEPTION)
        for item in ended:
            item.result()
        return 0

    async def _require_schema(self) -> None:
        """
        :raises SchemaTooOld: when the service's migrations have not run.
        """
        service = self._service
        await ping(service.engine)
        if service.schema_revision is not None:
            await require_schema(service.engine, service.name, needed=service.schema_revision)

    async def _start_maintenance(self) -> None:
        """Put the tables in order before anything writes, and keep them so."""
        service = self._service
        maintenance = Maintenance(service.engine, consumers=self._kafka.groups)
        await self._run_when_available("maintenance", maintenance.reset_restored_xids)
        await self._run_when_available("maintenance", maintenance.create_partitions)
        service.every("maintenance", MAINTENANCE_INTERVAL, maintenance)
        service.every("measure", MEASURE_INTERVAL, maintenance.measure)

    async def _serve(self) -> None:
        for one in self._service.asgi:
            app = one.app
            if tracing.is_on():
                app = TracedRequests(app, trusts_callers=one.is_internal)
            server = AsgiServer(app, one.host, one.port, one.idle_timeout)
            self.ports.append(await server.start())
            self._servers.append(server)
            log.info("serving", port=self.ports[-1])

    async def _run_when_available(self, what: str, begin: Close) -> None:
        """Do it as soon as it can be done: nothing works without it."""
        tries = 0
        while True:
            try:
                return await begin()
            except Unavailable as error:
                log.warning("start delayed", what=what, reason=str(error))
            await asyncio.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1

    async def _stop(self) -> None:
        timeout = self._service.settings.watchdog.stop_timeout
        self._stop_requested.set()
        try:
            async with asyncio.timeout(timeout.total_seconds()):
                await self._stop_in_order(timeout)
        except TimeoutError:
            log.error("stop timed out")
        await self._internal.stop()
        await self._service.engine.dispose()

    async def _stop_in_order(self, at_most: timedelta) -> None:
        """Nothing new comes in, what runs ends, what waits goes out, then clients close."""
        for server in self._servers:
            await _run_logging_errors(server.stop)
        await _run_logging_errors(self._kafka.stop_consuming)
        for rounds in self._service.rounds:
            rounds.stop()
        ending = [running for task, running in self._running.items() if task.ends_after_stop]
        if ending:
            await asyncio.wait(ending, timeout=at_most.total_seconds() / 2)
        for running in self._running.values():
            await cancel_and_wait(running)
        await _run_logging_errors(self._kafka.stop_sweeping)
        await _run_logging_errors(self._kafka.stop_publishing)
        for close in reversed(self._service.closers):
            await _run_logging_errors(close)

    def _problems(self) -> dict[str, str]:
        stuck_after = self._service.settings.watchdog.stuck_after.total_seconds()
        silent = {
            task.name: f"silent for {task.silence_seconds:.0f} s"
            for task in self._running
            if task.silence_seconds > stuck_after and not self._running[task].done()
        }
        return silent | self._kafka.problems()

    async def _missing_parts(self) -> dict[str, str]:
        if self._stop_requested.is_set() or not self._has_started:
            return {"process": "stopping" if self._stop_requested.is_set() else "starting"}
        missing_parts = self._kafka.missing_parts()
        checks = {"postgres": lambda: ping(self._service.engine)} | self._service.checks
        return missing_parts | await _failures(checks)

    async def _notes_of_checks(self) -> dict[str, str]:
        return await _failures(self._service.note_checks) if self._has_started else {}


async def _failures(checks: Mapping[str, Check]) -> dict[str, str]:
    failures = {}
    for name, check in checks.items():
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await check()
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {error}"
    return failures


def _random_id() -> UUID:
    return UUID(bytes=secrets.token_bytes(16), version=4)


def _tune_garbage_collector() -> None:
    """Keep what a process is made of out of every collection, and collect less often.

    A batch makes some ten thousand objects that live as long as it does; none of them is garbage.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 50)


async def _run_logging_errors(step: Close) -> None:
    """Continue the stop regardless of the errors of one part."""
    try:
        await step()
    except Exception:
        log.exception("stop step failed")
