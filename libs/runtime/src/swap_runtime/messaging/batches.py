"""One batch of records through a use case: what cannot work is parked, the rest goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Final, Generic
from uuid import UUID

import structlog
from pydantic import ValidationError

from swap_contracts.envelope import Body, Envelope, Topic
from swap_runtime.errors import Unavailable
from swap_runtime.handling import handling
from swap_runtime.messaging.parking import Behind, Parking
from swap_runtime.messaging.records import Record
from swap_runtime.messaging.verification import UnverifiedMessages
from swap_runtime.telemetry import tracing
from swap_runtime.telemetry.metrics import counter, histogram

UseCase = Callable[[Sequence[Envelope[Body]]], Awaitable[None]]
BEHIND: Final = "behind a parked message of the same key"

HANDLED: Final = counter("messages_handled", "Messages that a use case handled", ["topic"])
HANDLING_TIME: Final = histogram(
    "messages_handling_seconds", "How long a use case takes for one batch", ["topic"]
)
PARKED: Final = counter("messages_parked", "Messages parked for an operator", ["topic"])
log = structlog.get_logger()


class TooManyParked(Exception):
    """No message can be processed: the fault is in the service or the topic, not in one message."""


@dataclass(frozen=True, slots=True)
class Readable(Generic[Body]):
    record: Record
    envelope: Envelope[Body]


@dataclass(frozen=True, slots=True)
class Unreadable:
    record: Record
    error: ValidationError


class Batches(Generic[Body]):
    def __init__(
        self,
        topic: Topic[Body],
        usecase: UseCase[Body],
        parking: Parking,
        *,
        consumer: str = "",
        parked_in_a_row_max: int = 20,
        timer: Callable[[], float] = perf_counter,
    ) -> None:
        """
        :param consumer: its name in the inbox, for the spans of what it handles.
        """
        self._topic = topic
        self._usecase = usecase
        self._parking = parking
        self._consumer = consumer
        self._parked_in_a_row_max = parked_in_a_row_max
        self._parked_in_a_row = 0
        self._timer = timer

    async def __call__(self, records: Sequence[Record]) -> None:
        """
        :raises Unavailable: when the whole batch has to be tried again.
        :raises TooManyParked: when one message after the other cannot work.
        """
        read = [self._read(record) for record in records]
        batch = [item for item in read if isinstance(item, Readable)]
        error = await self._attempt(batch) if len(batch) == len(read) else None
        if error is None and len(batch) == len(read):
            return
        # Whatever is wrong: nothing is parked, and no key held, for what its sender did not send.
        verified = await self._parking.select_verified(self._topic.name, records)
        if len(verified) < len(records):
            await self(verified)
            return
        # One that stands alone is tried twice before an operator has to look.
        is_known = len(batch) > 1 and not isinstance(error, Behind | UnverifiedMessages)
        await self._split_batch(read, error if is_known else None)

    async def run_alone(self, value: bytes) -> None:
        """Run one message by itself; raises whatever is wrong with it."""
        with handling():
            await self._usecase([self._topic.envelope.model_validate_json(value)])

    def _read(self, record: Record) -> Readable[Body] | Unreadable:
        try:
            return Readable(record, self._topic.envelope.model_validate_json(record.value))
        except ValidationError as error:
            return Unreadable(record, error)

    async def _split_batch(
        self, read: Sequence[Readable[Body] | Unreadable], error: Exception | None = None
    ) -> None:
        """Park what cannot work or waits behind such, in its order, and run the rest.

        :param error: what is wrong with all of it, where that was tried.
        """
        held = set(
            await self._parking.held_keys(self._topic.name, {item.record.key for item in read})
        )
        runnable: list[Readable[Body]] = []
        for item in read:
            if isinstance(item, Readable):
                runnable += await self._park_blocked([item], held)
            else:
                await self._run(runnable, held)  # what came before it on its key is not behind it
                runnable = []
                await self._park(item.record, None, item.error)
                held.add(item.record.key)
        await self._run(runnable, held, error if len(runnable) == len(read) else None)

    async def _run(
        self,
        batch: Sequence[Readable[Body]],
        held: set[bytes],
        error: Exception | None = None,
    ) -> None:
        """Halve a batch that fails until the message that cannot work stands alone.

        :param error: what is wrong with this batch, where it was tried.
        """
        error = error or await self._attempt(batch)
        if error is None:
            return
        if isinstance(error, UnverifiedMessages):
            raise Unavailable("the sender's outbox changed meanwhile")  # checked again next time
        if len(batch) == 1:
            (message,) = batch
            if isinstance(error, Behind):
                await self._park_behind(message)
            else:
                await self._park(message.record, message.envelope, error)
            held.add(message.record.key)
            return
        middle = len(batch) // 2
        await self._run(batch[:middle], held)
        await self._run(await self._park_blocked(batch[middle:], held), held)

    async def _attempt(self, batch: Sequence[Readable[Body]]) -> Exception | None:
        """Run the use case; return the error of the batch, which is then rolled back.

        :raises Unavailable: when nothing is wrong with it.
        """
        if not batch:
            return None
        began = self._timer()
        try:
            envelopes = [item.envelope for item in batch]
            with (
                self._parking.guarding(self._topic.name, [r.record for r in batch]),
                handling(),
                tracing.processing(self._topic.name, self._consumer, envelopes),
            ):
                await self._usecase(envelopes)
        except Unavailable:
            raise
        except Exception as error:
            return error
        self._parked_in_a_row = 0
        HANDLED.labels(self._topic.name).inc(len(batch))
        trace_id = batch[0].envelope.trace_id  # a batch is of many swaps: one of them is shown
        HANDLING_TIME.labels(self._topic.name).observe(
            self._timer() - began, tracing.exemplar(trace_id)
        )
        return None

    async def _park_blocked(
        self, batch: Sequence[Readable[Body]], held: set[bytes]
    ) -> Sequence[Readable[Body]]:
        """Return what is not behind a parked message; park the rest."""
        for message in batch:
            if message.record.key in held:
                await self._park_behind(message)
        return [message for message in batch if message.record.key not in held]

    async def _park_behind(self, message: Readable[Body]) -> None:
        await self._parking.park(
            message.record, message.envelope.message_id, reason=BEHIND, is_behind=True
        )

    async def _park(
        self, record: Record, envelope: Envelope[Body] | None, error: Exception
    ) -> None:
        reason = f"{type(error).__name__}: {error}"
        log.error("message parked", topic=record.topic, exc_info=error, **_log_fields(envelope))
        PARKED.labels(record.topic).inc()
        message_id = None if envelope is None else envelope.message_id
        await self._parking.park(record, message_id, reason=reason)
        self._parked_in_a_row += 1
        if self._parked_in_a_row > self._parked_in_a_row_max:
            raise TooManyParked(self._topic.name)


def _log_fields(envelope: Envelope[Body] | None) -> dict[str, object]:
    """Return by which names a message is found in other services' logs."""
    if envelope is None:
        return {}
    names: dict[str, object] = {"message_id": envelope.message_id, "trace_id": envelope.trace_id}
    swap_id: UUID | None = getattr(envelope.body, "swap_id", None)
    return names if swap_id is None else names | {"swap_id": swap_id}
