"""Webhook endpoints: one suite for the fake and for the adapter, with a notifier on Postgres."""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from fake_webhooks import FakeWebhooks
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.routing import Route

from swap_api.management.adapters.webhook_endpoints import NotifierEndpoints
from swap_api.management.decide.bounds import Bound, CountedKind
from swap_api.management.decide.listing import Window
from swap_api.management.ports import WebhookEndpoints
from swap_api.model.refusals import ApiRefusal, Invalid, NotFound
from swap_contracts.public.errors import ErrorCode
from swap_contracts.public.figures import WebhookFiguresModel
from swap_contracts.public.management import WebhookMessageDetailModel, WebhookMessageModel
from swap_contracts.quoting import AssetRef
from swap_domain.catalogue import NATIVE
from swap_notifier.adapters.endpoints import PostgresEndpoints
from swap_notifier.adapters.guard import SystemNames
from swap_notifier.adapters.messages import PostgresMessages
from swap_notifier.http.admin import EndpointRoutes
from swap_notifier.usecases.add_endpoint import AddEndpoint
from swap_notifier.usecases.choose_events import ChooseEvents
from swap_notifier.usecases.list_sent import ListSent
from swap_notifier.usecases.replay_messages import ReplayMessages
from swap_notifier.usecases.rotate_secret import RotateSecret
from swap_notifier.usecases.send_test import SendTest
from swap_notifier.usecases.switch_endpoints import SwitchEndpoints
from swap_runtime.operators.admin_routes import Handler
from swap_runtime.postgres.database import Engine, create_engine
from swap_runtime.sealing import Sealing
from tests.support.serving import serve

SEALING = Sealing.with_keys([b64encode(b"k" * 32).decode()])
ETH = AssetRef(network="ETHEREUM_DEVNET", token=NATIVE, decimals=18)
BOTH = ["fake", pytest.param("notifier", marks=pytest.mark.connected)]
URL = "http://127.0.0.1:8080/"
REFUSED = "http://10.0.0.1/"
BOUND = Bound(CountedKind.WEBHOOKS, 2)


class Routes:
    """The part of a service that collects routes."""

    def __init__(self) -> None:
        self.routes: list[Route] = []

    def admin(self, method: str, path: str, handler: Handler, **_: Any) -> None:
        self.routes.append(Route(f"/admin{path}", handler, methods=[method]))


def a_notifier(engine: Engine) -> Starlette:
    def clock() -> datetime:
        return datetime.now(UTC)

    endpoints, messages, routes = (
        PostgresEndpoints(engine, SEALING),
        PostgresMessages(engine),
        Routes(),
    )
    EndpointRoutes(
        list_sent=ListSent(endpoints, messages),
        add_endpoint=AddEndpoint(
            endpoints,
            SystemNames(),
            environment="test",
            allow_loopback=True,
            clock=clock,
            new_id=uuid4,
            random_bytes=secrets.token_bytes,
        ),
        choose_events=ChooseEvents(endpoints),
        rotate_secret=RotateSecret(endpoints, clock=clock, random_bytes=secrets.token_bytes),
        switch_endpoints=SwitchEndpoints(endpoints, clock=clock),
        replay_messages=ReplayMessages(messages, clock=clock),
        send_test=SendTest(messages, lambda _: b"{}", asset=ETH, clock=clock, new_id=uuid4),
    ).add_to(routes)  # type: ignore[arg-type]  # it needs no more of a service
    return Starlette(routes=routes.routes)


@pytest.fixture(params=BOTH)
def notifier_url(request: pytest.FixtureRequest) -> str | None:
    """Return the notifier's schema, or None for the fake."""
    if request.param == "fake":
        return None
    migrated: Callable[[str], str] = request.getfixturevalue("migrate_schema")
    return migrated("notifier")


@pytest.fixture
async def webhooks(notifier_url: str | None) -> AsyncIterator[WebhookEndpoints]:
    if notifier_url is None:
        fake = FakeWebhooks()
        fake.refused.add(REFUSED)
        yield fake
        return
    engine = create_engine(SecretStr(notifier_url), application_name="test")
    async with serve(a_notifier(engine)) as url:
        endpoints = NotifierEndpoints(url, SecretStr("token"))
        yield endpoints
        await endpoints.close()
    await engine.dispose()


@pytest.fixture
def app_id() -> UUID:
    return uuid4()


def settings(url: str = URL, **changes: bool) -> Mapping[str, Any]:
    return {"url": url, "wants_updates": False, "wants_notices": False, **changes}


async def an_endpoint(webhooks: WebhookEndpoints, app_id: UUID) -> UUID:
    return UUID((await webhooks.add(app_id, settings(), bound=None))["id"])


async def is_refused_as_disabled(order: Any) -> None:
    with pytest.raises(ApiRefusal) as refused:
        await order
    assert refused.value.code is ErrorCode.DISABLED_BY_OPERATOR


class TestAdding:
    async def test_shows_the_secret_once(self, webhooks: WebhookEndpoints, app_id: UUID) -> None:
        added = dict(await webhooks.add(app_id, settings(wants_updates=True), bound=BOUND))

        assert added.pop("secret").startswith("whsec_")
        assert (added["app_id"], added["url"], added["wants_updates"]) == (str(app_id), URL, True)
        assert (added["disabled_at"], added["disabled_reason"]) == (None, None)
        assert await webhooks.find(UUID(added["id"])) == added
        assert list(await webhooks.list_all(app_id)) == [added]
        assert list(await webhooks.list_all(uuid4())) == []

    async def test_of_a_forbidden_address_is_refused(
        self, webhooks: WebhookEndpoints, app_id: UUID
    ) -> None:
        with pytest.raises(Invalid):
            await webhooks.add(app_id, settings(REFUSED), bound=None)

    async def test_is_bounded(self, webhooks: WebhookEndpoints, app_id: UUID) -> None:
        for _ in range(BOUND.most):
            await webhooks.add(app_id, settings(), bound=BOUND)
        with pytest.raises(ApiRefusal) as full:
            await webhooks.add(app_id, settings(), bound=BOUND)

        assert full.value.code is ErrorCode.LIMIT_REACHED
        await webhooks.add(app_id, settings(), bound=None)

    async def test_does_not_undo_what_an_operator_disabled(
        self, webhooks: WebhookEndpoints, app_id: UUID
    ) -> None:
        endpoint = await an_endpoint(webhooks, app_id)
        await webhooks.order(endpoint, "disable", {"by": "operator"})

        await is_refused_as_disabled(webhooks.add(app_id, settings(), bound=BOUND))


class TestOrders:
    @pytest.mark.parametrize("what", ["rotate", "disable", "enable", "remove", "test", "replay"])
    async def test_of_an_unknown_endpoint_are_refused(
        self, webhooks: WebhookEndpoints, what: str
    ) -> None:
        body = {"since": "2026-01-01T00:00:00+00:00"} if what == "replay" else {}

        with pytest.raises(NotFound):
            await webhooks.order(uuid4(), what, body)

    async def test_rotate_gives_another_secret(
        self, webhooks: WebhookEndpoints, app_id: UUID
    ) -> None:
        endpoint = await an_endpoint(webhooks, app_id)

        first, second = [await webhooks.order(endpoint, "rotate", {}) for _ in range(2)]

        assert first["id"] == second["id"] == str(endpoint)
        assert first["secret"] != second["secret"]

    async def test_choose_its_events(self, webhooks: WebhookEndpoints, app_id: UUID) -> None:
        endpoint = await an_endpoint(webhooks, app_id)
        before = await webhooks.find(endpoint)
        chosen = {"wants_updates": True, "wants_notices": True}

        changed = await webhooks.order(endpoint, "events", chosen)

        assert changed == {**before, **chosen}
        assert await webhooks.find(endpoint) == changed

    async def test_switch_it_off_and_on(self, webhooks: WebhookEndpoints, app_id: UUID) -> None:
        endpoint = await an_endpoint(webhooks, app_id)

        off = await webhooks.order(endpoint, "disable", {"by": "owner"})
        assert off == {"id": str(endpoint), "is_enabled": False}
        stopped = await webhooks.find(endpoint)
        assert stopped["disabled_at"] is not None
        assert stopped["disabled_reason"] == "owner"

        on = await webhooks.order(endpoint, "enable", {"by": "owner"})
        assert on == {"id": str(endpoint), "is_enabled": True}
        assert (await webhooks.find(endpoint))["disabled_at"] is None

    async def test_of_its_owner_do_not_undo_an_operators(
        self, webhooks: WebhookEndpoints, app_id: UUID
    ) -> None:
        endpoint = await an_endpoint(webhooks, app_id)
        await webhooks.order(endpoint, "disable", {"by": "owner"})
        await webhooks.order(endpoint, "disable", {"by": "operator"})
        await webhooks.order(endpoint, "disable", {"by": "owner"})

        assert (await webhooks.find(endpoint))["disabled_reason"] == "operator"
        await is_refused_as_disabled(webhooks.order(endpoint, "enable", {"by": "owner"}))
        await is_refused_as_disabled(webhooks.order(endpoint, "remove", {"by": "owner"}))
        await webhooks.order(endpoint, "enable", {"by": "operator"})

    async def test_remove_hides_it(self, webhooks: WebhookEndpoints, app_id: UUID) -> None:
        endpoint = await an_endpoint(webhooks, app_id)

        removed = await webhooks.order(endpoint, "remove", {"by": "owner"})

        assert removed == {"id": str(endpoint), "is_removed": True}
        assert list(await webhooks.list_all(app_id)) == []
        with pytest.raises(NotFound):
            await webhooks.find(endpoint)
        with pytest.raises(NotFound):
            await webhooks.order(endpoint, "remove", {"by": "owner"})


class TestMessages:
    async def test_are_listed_by_windows(self, webhooks: WebhookEndpoints, app_id: UUID) -> None:
        endpoint = await an_endpoint(webhooks, app_id)
        sent = {(await webhooks.order(endpoint, "test", {}))["message_id"] for _ in range(3)}

        first = await webhooks.messages(endpoint, {}, Window(2, 0))
        second = await webhooks.messages(endpoint, {"undelivered_only": True}, Window(2, 2))
        behind = await webhooks.messages(endpoint, {}, Window(2, 0, first.next))

        assert (first.total, first.has_more) == (3, True)
        assert (second.total, second.has_more, second.next) == (3, False, None)
        assert behind == second
        rows = [*first.rows, *second.rows]
        assert {row["id"] for row in rows} == sent
        assert {frozenset(row) for row in rows} == {frozenset(WebhookMessageModel.model_fields)}
        shown = {(row["endpoint_id"], row["swap_id"], row["sequence"]) for row in rows}
        assert shown == {(str(endpoint), None, 0)}
        found = {(row["event_type"], row["state"], row["attempts"]) for row in rows}
        assert found == {("webhook.test", "waiting", 0)}

    async def test_of_a_listener_have_ended_and_are_listed_oldest_first(
        self, webhooks: WebhookEndpoints, app_id: UUID
    ) -> None:
        added = await webhooks.add(app_id, settings("listen:"), bound=None)
        listener, other = UUID(added["id"]), await an_endpoint(webhooks, app_id)
        sent = [(await webhooks.order(listener, "test", {}))["message_id"] for _ in range(2)]
        await webhooks.order(other, "test", {})

        read, waiting = [
            await webhooks.messages(endpoint, {"oldest_first": True}, Window(9, 0))
            for endpoint in (listener, other)
        ]

        assert [row["id"] for row in read.rows] == sent
        assert {row["state"] for row in read.rows} == {"discarded"}
        assert None not in {row["ended_at"] for row in read.rows}
        assert (list(waiting.rows), waiting.total) == ([], 0)

    @pytest.mark.parametrize("place", ["Ef5sNO", "W10", "x"])
    async def test_behind_what_is_no_place_are_refused(
        self, webhooks: WebhookEndpoints, app_id: UUID, place: str
    ) -> None:
        endpoint = await an_endpoint(webhooks, app_id)

        with pytest.raises(Invalid) as refused:
            await webhooks.messages(endpoint, {"undelivered_only": True}, Window(2, 0, place))

        assert list(refused.value.metadata["field_errors"]) == ["starting_after"]

    async def test_of_an_unknown_endpoint_are_not_there(self, webhooks: WebhookEndpoints) -> None:
        with pytest.raises(NotFound):
            await webhooks.messages(uuid4(), {}, Window(2, 0))

    async def test_are_sent_again_by_the_name_of_their_endpoint(
        self, webhooks: WebhookEndpoints, app_id: UUID
    ) -> None:
        mine, another = [await an_endpoint(webhooks, app_id) for _ in range(2)]
        message = (await webhooks.order(mine, "test", {}))["message_id"]

        assert await webhooks.replay(mine, message) == {"id": message, "is_due": True}
        for endpoint, message_id in ((another, message), (mine, "msg_1"), (uuid4(), message)):
            with pytest.raises(NotFound):
                await webhooks.replay(endpoint, message_id)

    async def test_are_read_by_the_name_of_their_endpoint(
        self, webhooks: WebhookEndpoints, app_id: UUID
    ) -> None:
        mine, another = [await an_endpoint(webhooks, app_id) for _ in range(2)]
        message = (await webhooks.order(mine, "test", {}))["message_id"]

        read = await webhooks.message(mine, message)

        assert frozenset(read) == frozenset(WebhookMessageDetailModel.model_fields)
        assert (read["id"], read["body"], read["log"]) == (message, "{}", [])
        for endpoint, message_id in ((another, message), (mine, "msg_1"), (uuid4(), message)):
            with pytest.raises(NotFound):
                await webhooks.message(endpoint, message_id)

    async def test_are_counted_for_each_endpoint(
        self, webhooks: WebhookEndpoints, app_id: UUID
    ) -> None:
        mine, silent = [await an_endpoint(webhooks, app_id) for _ in range(2)]
        await an_endpoint(webhooks, uuid4())
        for _ in range(2):
            await webhooks.order(mine, "test", {})

        counted = await webhooks.figures(app_id, since=datetime(2026, 1, 1, tzinfo=UTC))

        names = frozenset(WebhookFiguresModel.model_fields)
        assert {frozenset(row) for row in counted} == {names}
        assert {
            row["endpoint_id"]: (row["delivered"], row["undelivered"], row["waiting"])
            for row in counted
        } == {str(mine): (0, 2, 2), str(silent): (0, 0, 0)}

    async def test_of_a_swap_without_any_are_none(
        self, webhooks: WebhookEndpoints, app_id: UUID
    ) -> None:
        endpoint = await an_endpoint(webhooks, app_id)
        await webhooks.order(endpoint, "test", {})

        assert list(await webhooks.messages_of_swap(app_id, uuid4())) == []

    async def test_that_wait_are_not_replayed(
        self, webhooks: WebhookEndpoints, app_id: UUID
    ) -> None:
        endpoint = await an_endpoint(webhooks, app_id)
        await webhooks.order(endpoint, "test", {})

        since = {"since": "2026-01-01T00:00:00+00:00"}
        replayed = await webhooks.order(endpoint, "replay", since)

        assert replayed == {"id": str(endpoint), "replayed": 0}

    async def test_are_neither_made_nor_replayed_while_it_is_disabled(
        self, webhooks: WebhookEndpoints, app_id: UUID
    ) -> None:
        endpoint = await an_endpoint(webhooks, app_id)
        message = (await webhooks.order(endpoint, "test", {}))["message_id"]
        await webhooks.order(endpoint, "disable", {"by": "owner"})

        with pytest.raises(NotFound):
            await webhooks.order(endpoint, "test", {})
        with pytest.raises(NotFound):
            await webhooks.order(endpoint, "replay", {"since": "2026-01-01T00:00:00+00:00"})
        with pytest.raises(NotFound):
            await webhooks.replay(endpoint, message)
