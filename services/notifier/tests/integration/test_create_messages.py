"""Changes of swaps that become messages, and their rendering."""

from __future__ import annotations

from uuid import uuid4

import orjson
import pytest

from services.notifier.tests.factories import POL, a_swap, seal_swap
from services.notifier.tests.process_parts import KEEP, Notifier
from swap_contracts.public.catalogue import PublicCatalogue
from swap_contracts.public.models import WebhookPayloadModel
from swap_contracts.swaps import SwapChanged
from swap_notifier.adapters.unit_of_work import PostgresUnitOfWork
from swap_notifier.app import renderer
from swap_notifier.usecases.create_messages import CreateMessages

pytestmark = pytest.mark.connected
APP = uuid4()


class Renderer:
    def __init__(self) -> None:
        self.rendered: list[SwapChanged] = []

    def __call__(self, swap: SwapChanged) -> bytes:
        self.rendered.append(swap)
        return b"{}"


async def created(notifier: Notifier, *swaps: SwapChanged) -> tuple[list[str], int]:
    """Return the kinds of all messages so far, and how many changes were rendered now."""
    renderer = Renderer()
    work = PostgresUnitOfWork(notifier.engine, consumer="notifier")
    await CreateMessages(work, renderer, keep=KEEP, clock=notifier.clock)(
        [seal_swap(swap) for swap in swaps]
    )
    return [row.event_type for row in await notifier.rows()], len(renderer.rendered)


class TestCreateMessages:
    async def test_sends_changes_of_status(self, notifier: Notifier) -> None:
        await notifier.endpoint("http://a.example", app_id=APP)
        first = a_swap(app_id=APP)
        second = a_swap(
            app_id=APP,
            status="ls_transfer_pending",
            previous_status="user_transfer_pending",
            sequence=2,
        )

        kinds, _ = await created(notifier, first, second)

        assert sorted(kinds) == ["swap.ls_transfer_pending", "swap.user_transfer_pending"]

    async def test_sends_progress_only_to_endpoints_with_updates(self, notifier: Notifier) -> None:
        wants, other = uuid4(), uuid4()
        await notifier.endpoint("http://a.example", app_id=other)
        await notifier.endpoint("http://b.example", app_id=wants, wants_updates=True)
        progress = {"previous_status": "user_transfer_pending", "sequence": 2}

        of_other_app, rendered = await created(notifier, a_swap(app_id=other, **progress))
        request_body, _ = await created(notifier, a_swap(app_id=wants, **progress))

        assert (of_other_app, rendered) == ([], 0)
        assert request_body == ["swap.updated"]

    async def test_renders_no_message_for_apps_without_an_endpoint(
        self, notifier: Notifier
    ) -> None:
        await notifier.endpoint("http://a.example", wants_updates=True)

        kinds, rendered = await created(notifier, a_swap(app_id=APP))

        assert (kinds, rendered) == ([], 0)

    async def test_renders_a_redelivered_message_once(self, notifier: Notifier) -> None:
        await notifier.endpoint("http://a.example", app_id=APP)
        swap = a_swap(app_id=APP)

        assert await created(notifier, swap) == (["swap.user_transfer_pending"], 1)
        assert await created(notifier, swap) == (["swap.user_transfer_pending"], 0)

    async def test_of_networks_that_left_the_catalogue_are_sent_too(
        self, notifier: Notifier
    ) -> None:
        await notifier.endpoint("http://a.example", app_id=APP)
        work = PostgresUnitOfWork(notifier.engine, consumer="notifier")
        create_messages = CreateMessages(
            work, renderer(PublicCatalogue({})), keep=KEEP, clock=notifier.clock
        )

        await create_messages([seal_swap(a_swap(app_id=APP, status="completed"))])

        [message] = await notifier.rows()
        WebhookPayloadModel.model_validate_json(message.body)
        swap = orjson.loads(message.body)["swap"]
        assert (swap["status"], swap["destination_network"]["name"]) == ("completed", POL.network)
