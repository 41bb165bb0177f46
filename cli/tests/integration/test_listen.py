"""`swapctl listen` as a process, with a real api, notifier and local receiver."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr
from svix.webhooks import Webhook

from services.dashboard.tests.shop import Api, a_swap, an_api
from services.notifier.tests.sink import ReceivedRequest, Sink, answering, open_sink
from swap_contracts.swaps import SwapChanged
from swap_contracts.topics import SWAP_CHANGED
from swap_notifier.adapters.unit_of_work import PostgresUnitOfWork
from swap_notifier.usecases.create_messages import CreateMessages
from swap_runtime.postgres.database import create_engine
from swapctl.webhook_listener import LISTENER_URL
from tests.plugins.postgres import Database

pytestmark = [pytest.mark.connected, pytest.mark.timeout(240)]
SECRET = "whsec_" + "bG9jYWw" * 6 + "bA=="
START = "forwarding to"


@pytest.fixture(scope="module")
def api(database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with an_api(database, tmp_path_factory.mktemp("api")) as made:
        yield made


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with open_sink() as sink:
        yield sink


@dataclass(frozen=True, slots=True)
class App:
    """An app, and a developer of its organization."""

    id: str
    token: str


def an_app(api: Api) -> App:
    organization = api.an_organization(f"Shop {uuid4().hex}")
    invitation = api.invite(organization, "developer")
    joined = api.as_member("none", "/invitations/accept", {"token": invitation})
    return App(api.an_app(organization), joined["token"])


class Listening:
    """One run of the command."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []

    async def until(self, text: str) -> str:
        """Wait for a line with the text."""
        assert self.process.stderr is not None
        async with asyncio.timeout(30):
            while line := (await self.process.stderr.readline()).decode():
                self.lines.append(line)
                if text in line:
                    return line
        raise AssertionError("".join(self.lines))

    async def posted(self, number: int) -> None:
        """Wait until it has printed the responses to this number of further messages.

        The receiver gets a message before the command has its response.
        """
        for _ in range(number):
            await self.until("  msg_")

    async def end(self) -> tuple[int, dict[str, object]]:
        """Press Ctrl-C; return the exit code and the summary."""
        self.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(30):
            output, _ = await self.process.communicate()
        return self.process.returncode or 0, json.loads(output)


@asynccontextmanager
async def listening(api: Api, app: App, url: str, *options: str) -> AsyncIterator[Listening]:
    command = [
        *(sys.executable, "-m", "swapctl", "listen", "--app", app.id, "--forward-to", url),
        *("--secret", SECRET, "--json", *options),
    ]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # A shell ignores SIGINT for background processes, and so would the command.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        env={**os.environ, "SWAPCTL_PUBLIC_URL": api.url, "SWAPCTL_ACCESS_TOKEN": app.token},
    )
    try:
        yield Listening(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def change(api: Api, *swaps: SwapChanged) -> None:
    """Store a change as the notifier does when the settler publishes it."""
    engine = create_engine(SecretStr(api.database.url("notifier")), application_name="test")
    create = CreateMessages(
        PostgresUnitOfWork(engine, consumer="notifier"),
        lambda swap: json.dumps({"swap": {"id": str(swap.swap_id), "n": swap.sequence}}).encode(),
        keep=datetime.now(UTC) - datetime(2020, 1, 1, tzinfo=UTC),
        clock=lambda: datetime.now(UTC),
    )
    messages = [
        SWAP_CHANGED.seal(swap, version=swap.sequence, occurred_at=swap.changed_at, trace_id="t")
        for swap in swaps
    ]
    try:
        await create(messages)
    finally:
        await engine.dispose()


def steps_of(app: App, *sequences: int, swap_id: UUID | None = None) -> Sequence[SwapChanged]:
    """Return status changes of one swap."""
    step = {"swap_id": swap_id or uuid4(), "previous_status": None}
    return [
        a_swap(app.id, **{**step, "sequence": number, "changed_at": datetime.now(UTC)})
        for number in sequences
    ]


def numbers(received: Sequence[ReceivedRequest]) -> list[int]:
    return [json.loads(one.body)["swap"]["n"] for one in received]


async def test_changes_are_forwarded_in_order_with_a_valid_signature(api: Api, sink: Sink) -> None:
    app = an_app(api)

    async with listening(api, app, sink.at("/hooks")) as run:
        await run.until(START)
        swap_id = uuid4()
        await change(api, *steps_of(app, 2, 1, swap_id=swap_id))  # in one commit
        await sink.until(2)
        await change(api, *steps_of(app, 3, swap_id=swap_id))
        received = await sink.until(3)
        await run.posted(3)
        code, summary = await run.end()

    assert numbers(received) == [1, 2, 3]
    for one in received:
        Webhook(SECRET).verify(one.body, one.headers)
        assert one.headers["webhook-event-type"] == "swap.user_transfer_pending"
    assert (code, summary["forwarded"], summary["failed"]) == (0, 3, 0)
    assert any(SECRET in line for line in run.lines)


async def test_messages_stored_meanwhile_are_forwarded_after_a_restart(
    api: Api, sink: Sink
) -> None:
    app = an_app(api)
    async with listening(api, app, sink.at("/first")) as run:
        await run.until(START)
        await change(api, *steps_of(app, 1))
        await sink.until(1)
        await run.posted(1)
        _, summary = await run.end()
    await change(api, *steps_of(app, 2), *steps_of(app, 3))

    option, since = str(summary["go_on_with"]).split()
    async with listening(api, app, sink.at("/second"), option, since) as run:
        again = await sink.until(
            3, "/second"
        )  # times have whole seconds, so the first message is read again
        await run.end()
    async with listening(api, app, sink.at("/third")) as run:
        await run.until(START)
        await change(api, *steps_of(app, 4))
        from_now = await sink.until(1, "/third")
        await run.end()

    assert numbers(again) == [1, 2, 3]
    assert again[0].id == sink.received[0].id
    assert numbers(from_now) == [4]
    listeners = [
        one for one in api.operator_get(f"/apps/{app.id}/webhooks") if one["url"] == LISTENER_URL
    ]
    assert len(listeners) == 1


async def test_refusals_are_shown_and_make_the_exit_code_1(api: Api, sink: Sink) -> None:
    app = an_app(api)

    async with listening(api, app, sink.at("/hooks", answering(500))) as run:
        await run.until(START)
        await change(api, *steps_of(app, 1))
        line = await run.until(" 500 ")
        code, summary = await run.end()

    assert line.startswith("!")
    assert (code, summary["forwarded"], summary["failed"]) == (1, 1, 1)


async def test_a_url_that_does_not_answer_is_shown(api: Api) -> None:
    app = an_app(api)

    async with listening(api, app, "http://127.0.0.1:1/") as run:
        await run.until(START)
        await change(api, *steps_of(app, 1))
        await run.until("ConnectError")
        code, _ = await run.end()

    assert code == 1


async def test_a_removed_listener_ends_the_command(api: Api, sink: Sink) -> None:
    app = an_app(api)

    async with listening(api, app, sink.at("/hooks")) as run:
        await run.until(START)
        (listener,) = api.operator_get(f"/apps/{app.id}/webhooks")
        api.order(f"/webhooks/{listener['id']}/remove", {})
        await run.until("swapctl: api answered 404")
        async with asyncio.timeout(30):
            assert await run.process.wait() == 1


async def test_a_test_message_reaches_this_machine(api: Api, sink: Sink) -> None:
    app = an_app(api)

    async with listening(api, app, sink.at("/hooks")) as run:
        await run.until(START)
        (listener,) = api.operator_get(f"/apps/{app.id}/webhooks")
        tested = api.order(f"/webhooks/{listener['id']}/test", {})
        (received,) = await sink.until(1)
        await run.end()

    assert received.id == tested["message_id"]
    assert received.headers["webhook-event-type"] == "webhook.test"
