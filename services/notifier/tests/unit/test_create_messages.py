from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from services.notifier.tests.factories import NOW, a_swap, sealed
from swap_contracts.swaps import SwapChanged
from swap_notifier.ports import Change
from swap_notifier.usecases.create_messages import CreateMessages

APP = uuid4()


class FakeWork:
    def __init__(self, audience: Mapping[UUID, bool]) -> None:
        self.audience = audience
        self.seen: set[UUID] = set()
        self.added: list[Change] = []

    async def mark_seen(self, message_ids: Sequence[UUID]) -> frozenset[UUID]:
        fresh = frozenset(message_ids) - self.seen
        self.seen |= fresh
        return fresh

    async def find_audience(
        self, app_ids: Collection[UUID], *, kept_from: datetime
    ) -> Mapping[UUID, bool]:
        return {app: wants for app, wants in self.audience.items() if app in app_ids}

    async def add_messages(
        self, changes: Sequence[Change], *, at: datetime, kept_from: datetime
    ) -> None:
        self.added += changes

    @property
    def created(self) -> int:
        return len(self.added)

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[FakeWork]:
        yield self


class Renderer:
    def __init__(self) -> None:
        self.rendered: list[SwapChanged] = []

    def __call__(self, swap: SwapChanged) -> bytes:
        self.rendered.append(swap)
        return b"{}"


async def created(work: FakeWork, *swaps: SwapChanged) -> tuple[list[str], int]:
    renderer = Renderer()
    await CreateMessages(work, renderer, keep=timedelta(days=30), clock=lambda: NOW)(
        [sealed(swap) for swap in swaps]
    )
    return [change.event_type for change in work.added], len(renderer.rendered)


class TestCreateMessages:
    async def test_tells_changes_of_status(self) -> None:
        first = a_swap(app_id=APP)
        second = a_swap(
            app_id=APP,
            status="ls_transfer_pending",
            previous_status="user_transfer_pending",
            sequence=2,
        )

        kinds, _ = await created(FakeWork({APP: False}), first, second)

        assert kinds == ["swap.user_transfer_pending", "swap.ls_transfer_pending"]

    async def test_tells_progress_only_to_who_wants_it(self) -> None:
        progress = a_swap(app_id=APP, previous_status="user_transfer_pending", sequence=2)

        unwanted, rendered = await created(FakeWork({APP: False}), progress)
        wanted, _ = await created(FakeWork({APP: True}), progress)

        assert (unwanted, rendered) == ([], 0)
        assert wanted == ["swap.updated"]

    async def test_renders_nothing_for_apps_without_an_endpoint(self) -> None:
        kinds, rendered = await created(FakeWork({uuid4(): True}), a_swap(app_id=APP))

        assert (kinds, rendered) == ([], 0)

    async def test_takes_a_redelivered_message_once(self) -> None:
        work, swap = FakeWork({APP: False}), a_swap(app_id=APP)

        await created(work, swap)
        kinds, _ = await created(work, swap)

        assert len(kinds) == 1
