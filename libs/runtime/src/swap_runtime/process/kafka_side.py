"""The part of a process that has to do with Kafka, and what stands in when Kafka is away."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import structlog

from swap_runtime.messaging.outbox import OUTBOX
from swap_runtime.messaging.relay import Relay
from swap_runtime.messaging.sources import OUTBOX_SCHEMAS
from swap_runtime.messaging.sweep import Sweep
from swap_runtime.process.components import Service
from swap_runtime.process.supervision import Beat
from swap_runtime.telemetry.metrics import gauge

if TYPE_CHECKING:
    from swap_runtime.messaging.watchdog import Watchdog

JOIN_PAUSE_SECONDS: Final = 2
FIRST_POLL_PAUSE_SECONDS: Final = 0.1
TOPICS_INTERVAL: Final = timedelta(seconds=15)
WATCH_INTERVAL: Final = timedelta(seconds=1)

JOINED: Final = gauge(
    "consumers_joined", "1 while the consumers of this process have joined their groups"
)
log = structlog.get_logger()


class KafkaSide:
    """The relay, consumers, sweeps and watchdog that the service needs."""

    def __init__(self, service: Service) -> None:
        self._service = service
        # Requested by the service's `build`, or not at all: then FastStream is not loaded.
        self._subscriptions = service.__dict__.get("subscriptions")
        self._relay: Relay | None = None
        self._sweeps: list[Sweep] = []
        self._watchdog: Watchdog | None = None
        self._state = "joining"

    @property
    def groups(self) -> tuple[str, ...]:
        """The names under which this process marks its inbox."""
        return tuple(consumer.group for consumer, _ in self._consumers())

    def build(self) -> None:
        """Add to the service's tasks what it takes."""
        if self._service.publishes:
            self._publish()
        if self._consumers():
            self._consume()
        if self._service.publishes or self._consumers():
            self._service.every("topics", TOPICS_INTERVAL, self._recreate_topics)

    async def stop_consuming(self) -> None:
        """Let the running batches end, and leave the groups."""
        if self._subscriptions is not None:
            await self._subscriptions.broker.stop()

    async def stop_sweeping(self) -> None:
        """Release the leases of the sweeps.

        Not before their last rounds: a round would acquire its lease again.
        """
        for sweep in self._sweeps:
            await sweep.stop()

    async def stop_publishing(self) -> None:
        """Publish what this process has just decided."""
        if self._relay is not None:
            await self._relay.stop()

    def missing_parts(self) -> dict[str, str]:
        """Not ready while the consumers join; ready when Kafka is away, for the sweep works."""
        is_joining = self._consumers() and self._state == "joining"
        return {"consumers": "joining"} if is_joining else {}

    def notes(self) -> dict[str, str]:
        """Say how the consumers are, which keeps the process from nothing."""
        if not self._consumers() or self._watchdog is None:
            return {}
        return {"consumers": self._state} | self._watchdog.unassigned_consumers()

    def problems(self) -> dict[str, str]:
        """Name the consumers that stopped for good."""
        return self._watchdog.problems() if self._watchdog is not None else {}

    @property
    def _published(self) -> frozenset[str]:
        name = self._service.name
        return frozenset(topic for topic, source in OUTBOX_SCHEMAS.items() if source == name)

    @property
    def _topics(self) -> frozenset[str]:
        """Return the topics of this process; its principal may not see any others."""
        return self._published | {consumer.topic.name for consumer, _ in self._consumers()}

    def _consumers(self) -> list[tuple[Any, Any]]:
        return self._subscriptions.consumers if self._subscriptions is not None else []

    def _publish(self) -> None:
        from swap_runtime.messaging.producing import KafkaProducer  # noqa: PLC0415  loads aiokafka

        service = self._service
        self._relay = relay = Relay(
            service.engine,
            KafkaProducer(service.settings.kafka, self._published),
            holder=service.holder,
        )
        wake = service.wakes.on(OUTBOX)
        wake.set_local_condition(lambda: relay.is_leader)
        service.every(
            "relay",
            service.group.outbox_poll_interval,
            relay,
            wake=wake,
            rest=service.group.outbox_rest,
        )

    def _consume(self) -> None:
        from swap_runtime.messaging.topics import has_leaders  # noqa: PLC0415  loads aiokafka
        from swap_runtime.messaging.watchdog import Watchdog  # noqa: PLC0415

        service, settings = self._service, self._service.settings
        for consumer, _ in self._consumers():
            sweep = Sweep(
                service.engine,
                consumer,
                source=OUTBOX_SCHEMAS[consumer.topic.name],
                holder=service.holder,
                settings=settings.sweep,
            )
            self._sweeps.append(sweep)
            name = f"sweep {consumer.topic.name}"
            service.every(name, settings.sweep.interval, sweep)
        self._watchdog = Watchdog(
            self._consumers(),
            stuck_after=settings.watchdog.stuck_after,
            has_leaders=lambda topic: has_leaders(settings.kafka, topic),
        )
        service.every("watchdog", WATCH_INTERVAL, self._watchdog, failures_max=1)
        service.task("consumers", self._join)

    async def _join(self, beat: Beat) -> None:
        """Start the consumers when Kafka lets them; the watchdog sees to the rest."""
        assert self._watchdog is not None
        await self._start_when_available(beat)
        self._watchdog.restart_silence_count()
        self._state = "joined"
        JOINED.set(1)
        log.info("consumers joined", groups=self.groups)
        while True:
            beat()
            await asyncio.sleep(JOIN_PAUSE_SECONDS)

    async def _start_when_available(self, beat: Beat) -> None:
        """Start the consumers anew until each has had an answer to a poll.

        A new client is as good as a new process here, and the process does more than consume.
        """
        assert self._watchdog is not None
        patience_seconds = self._service.settings.watchdog.stuck_after.total_seconds()
        while True:
            beat()
            try:
                await self._await_topics()
                beat()  # the start has all of its time, by the liveness probe's count too
                self._watchdog.restart_silence_count(seconds=patience_seconds)
                async with asyncio.timeout(patience_seconds):
                    return await self._start_consumers(beat)
            except Exception as error:
                self._state = "away"
                log.warning("kafka unavailable", error=f"{type(error).__name__}: {error}")
            await asyncio.sleep(JOIN_PAUSE_SECONDS)

    async def _start_consumers(self, beat: Beat) -> None:
        assert self._watchdog is not None
        assert self._subscriptions is not None
        try:
            await self._subscriptions.start()
            while True:
                if not self._watchdog.unpolled_consumers():
                    return
                await asyncio.sleep(FIRST_POLL_PAUSE_SECONDS)
        except BaseException:
            beat()
            log.warning("consumers not started", phases=self._watchdog.unpolled_consumers())
            await self._subscriptions.broker.stop()
            raise

    async def _await_topics(self) -> None:
        """Return once the consumers' topics exist and can be read; until then none is stuck."""
        from swap_runtime.messaging.topics import await_leaders, ensure_topics  # noqa: PLC0415

        assert self._watchdog is not None
        kafka = self._service.settings.kafka
        try:
            await ensure_topics(kafka, self._topics)
            await await_leaders(kafka, {each.topic.name for each, _ in self._consumers()})
        except Exception:
            self._watchdog.restart_silence_count()
            raise

    async def _recreate_topics(self) -> bool:
        """A broker may lose its topics; producers and consumers would not report it."""
        from swap_runtime.messaging.topics import ensure_topics  # noqa: PLC0415

        try:
            await ensure_topics(self._service.settings.kafka, self._topics)
        except Exception as error:
            log.info("topics not checked", error=f"{type(error).__name__}: {error}")
        return False
