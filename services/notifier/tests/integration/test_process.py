"""The whole process: from a message on Kafka to a request at a receiver, also after a crash."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
import standardwebhooks

from services.notifier.tests.factories import (
    SEALING_KEY,
    a_catalogue_document,
    a_swap,
    seal_swap,
)
from services.notifier.tests.sink import Sink
from swap_contracts.swaps import SwapChanged
from swap_contracts.topics import SWAP_CHANGED
from swap_runtime.clock import utc_now
from swap_runtime.crashpoint import KILLED
from swap_runtime.messaging.outbox import Outgoing
from swap_runtime.messaging.topics import ensure_topics
from tests.plugins.broker import Broker
from tests.plugins.outbox_messages import send_from_outbox
from tests.plugins.processes import free_port

pytestmark = [pytest.mark.connected, pytest.mark.timeout(120)]
TOKEN = "operator"


class Process:
    def __init__(self, running: asyncio.subprocess.Process, url: str) -> None:
        self.running = running
        self.url = url

    async def admin(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.request(method, f"{self.url}/admin{path}", json=body) as answer,
        ):
            assert answer.status < 400, await answer.text()
            return await answer.json()

    async def ready(self) -> None:
        async with asyncio.timeout(40), aiohttp.ClientSession() as session:
            while True:
                try:
                    async with session.get(f"{self.url}/readyz") as answer:
                        if answer.status == 200:
                            return
                except aiohttp.ClientError:
                    assert self.running.returncode is None
                await asyncio.sleep(0.05)


@asynccontextmanager
async def a_process(environment: Mapping[str, str], **more: str) -> AsyncIterator[Process]:
    port = free_port()
    variables = {**os.environ, **environment, **more, "SWAP_NOTIFIER__INTERNAL_PORT": str(port)}
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "swap_notifier", env=variables, stdout=asyncio.subprocess.DEVNULL
    )
    try:
        process = Process(running, f"http://127.0.0.1:{port}")
        await process.ready()
        yield process
    finally:
        if running.returncode is None:
            running.terminate()
        await running.wait()


@pytest.fixture
async def environment(
    migrate_schema: Callable[[str], str], broker: Broker, tmp_path: Path
) -> dict[str, str]:
    await ensure_topics(broker.settings)
    catalogue = str(tmp_path / "catalogue.yaml")
    write_catalogue(catalogue)
    return {
        "SWAP_KAFKA__BOOTSTRAP_SERVERS": broker.settings.bootstrap_servers,
        "SWAP_KAFKA__SESSION_TIMEOUT_MS": str(broker.settings.session_timeout_ms),
        "SWAP_KAFKA__HEARTBEAT_INTERVAL_MS": str(broker.settings.heartbeat_interval_ms),
        "SWAP_KAFKA__FETCH_MAX_WAIT_MS": str(broker.settings.fetch_max_wait_ms),
        "SWAP_REDIS__URL": "redis://127.0.0.1:1",
        "SWAP_OPERATOR__TOKEN": TOKEN,
        "SWAP_CATALOGUE": catalogue,
        "SWAP_NOTIFIER__DATABASE_URL": migrate_schema("notifier"),
        "SWAP_NOTIFIER__SECRET_KEYS": json.dumps([SEALING_KEY]),
        "SWAP_NOTIFIER__ALLOW_LOOPBACK": "true",
        "SWAP_NOTIFIER__ATTEMPT_TIMEOUT": "PT1S",
    }


def write_catalogue(path: str, **members: Any) -> None:
    Path(path).write_text(json.dumps(a_catalogue_document() | members))  # JSON is valid YAML


Publish = Callable[[SwapChanged], Awaitable[None]]


@pytest.fixture
def publish(migrate_schema: Callable[[str], str], broker: Broker) -> Publish:
    """Return a function that publishes a swap's change as the settler does."""

    async def of(swap: SwapChanged) -> None:
        message = Outgoing.of(SWAP_CHANGED, seal_swap(swap))
        await send_from_outbox(migrate_schema("settler"), broker, message)

    return of


async def an_endpoint(process: Process, url: str) -> dict[str, Any]:
    added: dict[str, Any] = await process.admin(
        "POST", "/endpoints", {"app_id": str(uuid4()), "url": url}
    )
    return added


class TestProcess:
    async def test_sends_a_receiver_what_kafka_delivered(
        self, environment: dict[str, str], publish: Publish, sink: Sink
    ) -> None:
        async with a_process(environment) as process:
            endpoint = await an_endpoint(process, sink.at("/hooks"))
            swap = a_swap(app_id=endpoint["app_id"], changed_at=utc_now())
            await publish(swap)
            (received,) = await sink.until(1)
            await publish(swap.model_copy(update={"sequence": 2, "previous_status": "x"}))
            await sink.until(2)
            listed = await process.admin("GET", f"/messages?swap_id={swap.swap_id}")

        standardwebhooks.Webhook(endpoint["secret"]).verify(received.body, received.headers)
        assert json.loads(received.body)["swap"]["id"] == str(swap.swap_id)
        assert [message["sequence"] for message in listed["messages"]] == [1, 2]

    @pytest.mark.fault("N16")
    async def test_n16_sends_the_same_message_again_after_a_crash(
        self, environment: dict[str, str], publish: Publish, sink: Sink
    ) -> None:
        async with a_process(environment, CRASH_AT="notifier.after_post:1") as process:
            endpoint = await an_endpoint(process, sink.at("/hooks"))
            await publish(a_swap(app_id=endpoint["app_id"], changed_at=utc_now()))
            await sink.until(1)
            assert await process.running.wait() == KILLED
        async with a_process(environment) as process:
            first, second = await sink.until(2)

        assert (first.id, first.body) == (second.id, second.body)
        for received in (first, second):
            standardwebhooks.Webhook(endpoint["secret"]).verify(received.body, received.headers)

    async def test_an_operator_tests_replays_and_reads_what_was_sent(
        self, environment: dict[str, str], sink: Sink
    ) -> None:
        async with a_process(environment) as process:
            endpoint = await an_endpoint(process, sink.at("/hooks"))
            at = f"/endpoints/{endpoint['id']}"
            tested = await process.admin("POST", f"{at}/test")
            await sink.until(1)
            path = f"/messages/{tested['message_id']}"
            async with asyncio.timeout(10):
                while (shown := await process.admin("GET", path))["state"] != "delivered":  # noqa: ASYNC110
                    await asyncio.sleep(0.05)  # only the database has the state
            body = {"since": "2026-01-01T00:00:00Z"}
            replayed = await process.admin("POST", f"{at}/replay", body)
            first, second = await sink.until(2)
            listed = await process.admin("GET", f"{at}/messages?undelivered_only=false")
            rest = await process.admin("GET", f"{at}/messages?limit=1&offset=1")
            with pytest.raises(AssertionError, match="limit: "):
                await process.admin("GET", f"{at}/messages?limit=101")
            with pytest.raises(AssertionError, match="since: "):
                await process.admin("POST", f"{at}/replay", {"since": "yesterday"})
            with pytest.raises(AssertionError, match="no such endpoint"):
                await process.admin("GET", f"/endpoints/{uuid4()}/messages")

        assert (first.id, first.body) == (second.id, second.body)
        assert json.loads(shown["body"])["swap"]["status"] == "user_transfer_pending"
        assert replayed["replayed"] == 1
        assert [message["id"] for message in listed["messages"]] == [tested["message_id"]]
        assert rest == {"messages": [], "total": 1, "has_more": False, "next": None}
        standardwebhooks.Webhook(endpoint["secret"]).verify(first.body, first.headers)

    async def test_takes_only_https_where_the_catalogue_is_live(
        self, environment: dict[str, str]
    ) -> None:
        write_catalogue(environment["SWAP_CATALOGUE"], environment="live")

        async with a_process(environment) as process:
            with pytest.raises(AssertionError, match="must be https"):
                await an_endpoint(process, "http://127.0.0.1:5000/")
            added = await an_endpoint(process, "https://127.0.0.1:5000/")

        assert added["environment"] == "live"

    async def test_refuses_an_endpoint_inside(self, environment: dict[str, str]) -> None:
        async with a_process(environment, SWAP_NOTIFIER__ALLOW_LOOPBACK="false") as process:
            with pytest.raises(AssertionError, match="not a public one"):
                await an_endpoint(process, "http://127.0.0.1:5000/")
            with pytest.raises(AssertionError, match="full name"):
                await an_endpoint(process, "http://localhost:5000/")
