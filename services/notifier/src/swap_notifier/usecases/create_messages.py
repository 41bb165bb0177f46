"""Converts changes of swaps to webhook messages with immutable bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from swap_contracts.envelope import Envelope
from swap_contracts.swaps import SwapChanged
from swap_notifier import observe
from swap_notifier.adapters.rows import Change
from swap_notifier.adapters.unit_of_work import PostgresUnitOfWork
from swap_notifier.domain.events import UPDATED, event_type
from swap_runtime.clock import Clock

Render = Callable[[SwapChanged], bytes]


class CreateMessages:
    def __init__(
        self, unit_of_work: PostgresUnitOfWork, render: Render, *, keep: timedelta, clock: Clock
    ) -> None:
        """
        :param keep: how long messages of a disabled endpoint are stored for a replay; they are
            not sent.
        """
        self._unit_of_work = unit_of_work
        self._render = render
        self._keep = keep
        self._clock = clock

    async def __call__(self, messages: Sequence[Envelope[SwapChanged]]) -> None:
        now = self._clock()
        kept_from = now - self._keep
        async with self._unit_of_work() as work:
            fresh = await work.mark_seen([message.message_id for message in messages])
            swaps = [message.body for message in messages if message.message_id in fresh]
            app_ids = {swap.app_id for swap in swaps}
            audience = await work.find_audience(app_ids, kept_from=kept_from)
            # Rendering is most of the work, so only changes with a receiver are rendered.
            changes = [
                self._change(swap, kind)
                for swap in swaps
                if (kind := _kind(swap)) != UPDATED or audience.get(swap.app_id)
                if swap.app_id in audience
            ]
            if changes:
                await work.add_messages(changes, at=now, kept_from=kept_from)
        observe.messages_created(work.created)

    def _change(self, swap: SwapChanged, kind: str) -> Change:
        return Change(
            app_id=swap.app_id,
            swap_id=swap.swap_id,
            sequence=swap.sequence,
            event_type=kind,
            changed_at=swap.changed_at,
            body=self._render(swap),
        )


def _kind(swap: SwapChanged) -> str:
    return event_type(status=swap.status, previous_status=swap.previous_status)
