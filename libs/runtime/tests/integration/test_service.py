"""A process from start to stop, with and without Kafka."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import psycopg.sql
import pytest
from aiokafka.admin import AIOKafkaAdminClient  # type: ignore[import-untyped]
from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from libs.runtime.tests.fakes import KeepNotes, Note, a_note, decide, make_tables
from swap_contracts.envelope import Envelope, Topic
from swap_runtime.messaging.batches import UseCase
from swap_runtime.messaging.consuming import consume
from swap_runtime.messaging.outbox import Outgoing
from swap_runtime.messaging.topics import ensure_topics, has_leaders
from swap_runtime.postgres.database import Engine, reading
from swap_runtime.postgres.sql import sql
from swap_runtime.process.running import Running
from swap_runtime.process.service import Service
from swap_runtime.process.supervision import Beat
from swap_runtime.settings import (
    KafkaSettings,
    OperatorSettings,
    RedisSettings,
    ServiceGroup,
    SharedSettings,
    SweepSettings,
    WatchdogSettings,
)
from tests.plugins.broker import Broker
from tests.plugins.kafka_proxy import Api, kafka_proxy
from tests.plugins.postgres import Database
from tests.support.waiting import until

pytestmark = pytest.mark.connected
TOKEN = "operator's"
NOWHERE = KafkaSettings(bootstrap_servers="127.0.0.1:1")
HINTED = Topic("deposit.hinted.v1", Envelope[Note], lambda note: note.thing)  # the api's
REQUESTED = Topic("swap.requests.v1", Envelope[Note], lambda note: note.thing)
LOCK_LEASE = "SELECT FROM lease WHERE name = 'sweep/test/' || %s FOR UPDATE"
LEASES = sql("SELECT name FROM lease WHERE holder <> '' AND name LIKE 'sweep/%'")
WAITING_SESSIONS = sql("""
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
""")
SEVERAL_ROUNDS_SECONDS = 0.5
WITHIN_SECONDS = 30
DRAIN = timedelta(hours=1)  # the end of the test stops the process again, which ends it
STUCK_AFTER = timedelta(seconds=30)
START_ANEW_WITHIN_SECONDS = 90
JOIN_WITHIN_SECONDS = 35  # less than the 40 of aiokafka's request timeout


def a_service(
    name: str,
    url: str,
    kafka: KafkaSettings = NOWHERE,
    *,
    stuck_after: timedelta = timedelta(minutes=1),
    drain: timedelta = timedelta(0),
    **more: Any,
) -> Service:
    settings = SharedSettings(
        kafka=kafka,
        redis=RedisSettings(url=SecretStr("redis://nowhere")),
        operator=OperatorSettings(token=SecretStr(TOKEN)),
        catalogue=Path("catalogue.yaml"),
        sweep=SweepSettings(
            interval=timedelta(milliseconds=100), idle_after=timedelta(milliseconds=200)
        ),
        watchdog=WatchdogSettings(task_failures_max=3, stuck_after=stuck_after, drain=drain),
    )
    group = ServiceGroup(database_url=SecretStr(url), internal_port=0)
    return Service(name, settings, group, **more)


def consuming(service: Service, usecase: UseCase[Note], topic: Topic[Note] = HINTED) -> None:
    consume(
        service.subscriptions,
        topic,
        consumer_name="test",
        usecase=usecase,
        parking=service.parking("test"),
    )


@asynccontextmanager
async def running(service: Service) -> AsyncIterator[Running]:
    one = Running(service)
    task = asyncio.create_task(one.run())
    try:
        await until(lambda: _is(one.internal_port > 0))
        yield one
    finally:
        one.stop()
        await task


async def get(one: Running, path: str, *, token: str | None = None) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{one.internal_port}{path}", headers=headers) as answer,
    ):
        return answer.status, await answer.text()


async def _is(value: bool) -> bool:
    return value


@pytest.fixture
def api_url(database: Database) -> str:
    make_tables(database.url("api"))
    return database.url("api")


class TestWithoutKafka:
    @pytest.mark.fault("K14")
    async def test_k14_is_ready_and_every_message_arrives(
        self, url: str, api_url: str, engine: Engine
    ) -> None:
        api, settler = a_service("api", api_url), a_service("settler", url)
        notes = KeepNotes(settler.engine)
        consuming(settler, notes)

        async with running(api), running(settler) as one:
            await until(lambda: ready(one))
            for version in range(1, 4):
                note = a_note(version=version)
                await decide(api.engine, Outgoing.of(HINTED, note))
            await until(lambda: has_stored(notes, 3))
            status, answer_text = await get(one, "/livez")

        assert status == 200, answer_text
        assert '"away"' in answer_text

    @pytest.mark.fault("K12")
    async def test_k12_a_message_whose_handler_runs_at_the_stop_acts_once(
        self, url: str, api_url: str
    ) -> None:
        api, settler = a_service("api", api_url), a_service("settler", url)
        runs, may_end, notes = asyncio.Event(), asyncio.Event(), KeepNotes(settler.engine)

        async def slow(messages: Sequence[Envelope[Note]]) -> None:
            runs.set()
            await may_end.wait()
            await notes(messages)

        consuming(settler, slow)
        await decide(api.engine, Outgoing.of(HINTED, a_note()))
        async with running(settler) as one:
            await asyncio.wait_for(runs.wait(), WITHIN_SECONDS)
            one.stop()
            may_end.set()
        again = a_service("settler", url)
        notes = KeepNotes(again.engine)
        consuming(again, notes)
        async with running(again):
            await decide(api.engine, Outgoing.of(HINTED, a_note(version=2)))
            await until(lambda: has_stored(notes, 2))

            assert await notes.stored_notes() == [("a", 1), ("a", 2)]

    async def test_no_sweep_acquires_its_lease_again_while_the_process_stops(
        self, url: str, api_url: str, engine: Engine
    ) -> None:
        settler = a_service("settler", url)
        for topic in (HINTED, REQUESTED):
            consuming(settler, KeepNotes(settler.engine), topic)
        async with running(settler) as one:
            await until(lambda: has_leases(engine, {HINTED.name, REQUESTED.name}))
            async with await psycopg.AsyncConnection.connect(url.replace("+psycopg", "")) as other:
                await other.execute(LOCK_LEASE, [REQUESTED.name])
                one.stop()
                await until(lambda: is_waited_for(engine))  # the first lease is free by now
                await asyncio.sleep(SEVERAL_ROUNDS_SECONDS)

        assert await has_leases(engine, set())

    @pytest.mark.fault("A20")
    async def test_a20_waits_for_postgres_at_the_start_alive_and_not_ready(self) -> None:
        service = a_service("settler", "postgresql+psycopg://nobody@127.0.0.1:1/none")

        async with running(service) as one:
            assert (await get(one, "/livez"))[0] == 200
            assert (await get(one, "/readyz"))[0] == 503

    async def test_is_ready_while_a_remark_fails_and_shows_it(self, url: str) -> None:
        service = a_service("settler", url)

        async def is_not_halted() -> None:
            raise RuntimeError("the chain differs")

        service.add_note_check("network A", is_not_halted)
        async with running(service) as one:
            await until(lambda: ready(one))

            _, readiness = await get(one, "/readyz")
            assert "RuntimeError: the chain differs" in json.loads(readiness)["notes"]["network A"]
            assert "network A" not in json.loads((await get(one, "/livez"))[1])["notes"]

    @pytest.mark.fault("A20")
    async def test_a20_a_database_that_goes_away_makes_it_unready_and_not_dead(
        self, url: str, database: Database
    ) -> None:
        service = a_service("settler", url)
        consuming(service, KeepNotes(service.engine))
        async with running(service) as one:
            await until(lambda: ready(one))
            try:
                allow_connections(database, False)
                await until(lambda: unready(one))

                assert (await get(one, "/livez"))[0] == 200
            finally:
                allow_connections(database, True)
            await until(lambda: ready(one))


class TestWithKafka:
    @pytest.mark.fault("K13")
    async def test_k13_messages_take_the_fast_path_when_kafka_comes_later(
        self, url: str, api_url: str, broker: Broker, engine: Engine
    ) -> None:
        api = a_service("api", api_url, broker.settings)
        settler = a_service("settler", url, broker.settings)
        notes = KeepNotes(settler.engine)
        consuming(settler, notes)
        broker.program.stop()
        try:
            async with running(api), running(settler) as one:
                await decide(api.engine, Outgoing.of(HINTED, a_note("while away")))
                await until(lambda: has_stored(notes, 1))
                broker.program.start()
                await until(lambda: says(one, '"joined"'))
                await decide(api.engine, Outgoing.of(HINTED, a_note("when back")))
                await until(lambda: has_stored(notes, 2))
                await until(lambda: published(api.engine))
        finally:
            broker.program.start()

        assert await notes_of(engine) == [("while away", 1), ("when back", 1)]

    async def test_publishes_what_it_has_just_decided_before_it_stops(
        self, api_url: str, broker: Broker
    ) -> None:
        api = a_service("api", api_url, broker.settings)

        async with running(api) as one:
            await until(lambda: ready(one))
            await decide(api.engine, Outgoing.of(HINTED, a_note()))

        reader = a_service("api", api_url).engine
        assert await published(reader)
        await reader.dispose()


@pytest.mark.slow
class TestConsumersThatGetNoAnswers:
    """Requests with a lost response, and partitions without a leader, at the start."""

    @pytest.mark.fault("K20")
    async def test_k20_wait_for_leaders_and_the_process_goes_on(
        self, url: str, broker: Broker
    ) -> None:
        async with kafka_proxy(broker.settings) as (proxy, kafka):
            await ensure_topics(kafka)
            await until(lambda: has_leaders(kafka, HINTED.name))
            proxy.remove_leaders(await node_of(kafka), kafka.topic_partitions)
            assert not await has_leaders(kafka, HINTED.name)
            settler = a_service("settler", url, kafka, stuck_after=STUCK_AFTER)
            consuming(settler, KeepNotes(settler.engine))

            async with running(settler) as one:
                await until(lambda: says(one, '"away"'))
                await asyncio.sleep(STUCK_AFTER.total_seconds() + 2)
                assert await ready(one)
                proxy.heal()
                await until(lambda: says(one, '"joined"'))

    @pytest.mark.fault("K20")
    async def test_k20_restart_when_a_poll_has_no_response(
        self, url: str, broker: Broker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # The client itself would retry only after this time.
        monkeypatch.setattr("swap_runtime.messaging.consuming.REBALANCE_MS", 120_000)
        async with kafka_proxy(broker.settings) as (proxy, kafka):
            settler = a_service("settler", url, kafka, stuck_after=STUCK_AFTER)
            consuming(settler, KeepNotes(settler.engine))
            proxy.lose(Api.FETCH)

            async with running(settler) as one:
                await until(lambda: says(one, '"joined"'), within=START_ANEW_WITHIN_SECONDS)

        assert proxy.lost == [Api.FETCH]

    @pytest.mark.fault("K20")
    async def test_k20_ask_again_when_a_join_has_no_response(
        self, url: str, broker: Broker
    ) -> None:
        async with kafka_proxy(broker.settings) as (proxy, kafka):
            settler = a_service("settler", url, kafka)
            consuming(settler, KeepNotes(settler.engine))
            proxy.lose(Api.JOIN_GROUP)

            async with running(settler) as one:
                await until(lambda: says(one, '"joined"'), within=JOIN_WITHIN_SECONDS)

        assert proxy.lost == [Api.JOIN_GROUP]


async def node_of(kafka: KafkaSettings) -> int:
    """Return the id of the only broker."""
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    await admin.start()
    try:
        [broker] = (await admin.describe_cluster())["brokers"]
    finally:
        await admin.close()
    return int(broker["node_id"])


class TestOperators:
    async def test_reach_admin_routes_with_their_token_only(self, url: str) -> None:
        async def paused(_: Request) -> Response:
            return JSONResponse({"paused": True})

        service = a_service("settler", url)
        service.admin("GET", "/signers", paused)

        async with running(service) as one:
            assert (await get(one, "/admin/signers"))[0] == 401
            assert (await get(one, "/admin/signers", token="guessed"))[0] == 401
            assert await get(one, "/admin/signers", token=TOKEN) == (200, '{"paused":true}')
            assert (await get(one, "/admin/nothing"))[0] == 401
            await until(lambda: ready(one))
            assert await get(one, "/admin/parked", token=TOKEN) == (
                200,
                '{"parked":[],"next":null}',
            )


class TestTasks:
    async def test_task_that_fails_repeatedly_ends_the_process(self, url: str) -> None:
        async def broken(_: Beat) -> None:
            raise ZeroDivisionError

        service = a_service("settler", url)
        service.task("broken", broken)

        assert await Running(service).run() == 1

    async def test_work_is_done_again_at_once_while_there_is_more(self, url: str) -> None:
        left = [1, 2, 3]

        async def work() -> bool:
            left.pop()
            return bool(left)

        service = a_service("settler", url)
        service.every("work", timedelta(hours=1), work)

        async with running(service):
            await until(lambda: _is(not left))

    async def test_the_round_that_runs_ends_before_the_process_does(self, url: str) -> None:
        request_begun, ended = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            request_begun.set()
            await asyncio.sleep(0.3)
            ended.set()

        service = a_service("settler", url)
        service.every("work", timedelta(hours=1), work)

        async with running(service):
            await request_begun.wait()

        assert ended.is_set()

    async def test_task_of_a_leader_runs_in_one_replica(self, url: str) -> None:
        leading, counts, term = set[object](), list[int](), timedelta(seconds=2)

        async def lead(beat: Beat, lease: object) -> None:
            leading.add(lease)
            counts.append(len(leading))
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                leading.discard(lease)

        services = [a_service("settler", url) for _ in range(2)]
        for service in services:
            service.lead("lane", lead, term=term)

        async with running(services[0]) as first, running(services[1]) as second:
            await until(lambda: ready(first))
            await until(lambda: ready(second))
            await until(lambda: _is(bool(counts)))
            await asyncio.sleep(2 * term.total_seconds())  # a standby takes one that is not renewed

        assert set(counts) == {1}


class TestServe:
    async def test_k12_an_application_is_served_beside_and_while_the_process_drains(
        self, url: str
    ) -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                return
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"hello"})

        service = a_service("settler", url, drain=DRAIN)
        service.serve(app, port=0)

        async with running(service) as one, aiohttp.ClientSession() as session:
            await until(lambda: ready(one))
            address = f"http://127.0.0.1:{one.ports[0]}/"
            async with session.get(address) as answer:
                assert await answer.text() == "hello"
                assert "connection" not in answer.headers
            one.stop()
            await until(lambda: unready(one))
            for _ in ("on the connection that it kept", "on a new one"):
                async with session.get(address) as answer:
                    assert await answer.text() == "hello"
                    assert answer.headers["connection"] == "close"


SMALL = """
import sys
from datetime import timedelta
from swap_runtime.process.service import Service, run
from swap_runtime.settings import ServiceGroup, SharedSettings

class Settings(SharedSettings):
    notifier: ServiceGroup

async def build(service: Service) -> None:
    async def tell() -> None:
        heavy = {"faststream", "web3"} & set(sys.modules)
        own = [line for line in open("/proc/self/status") if line.startswith("RssAnon")]
        print("TOLD", sorted(heavy), own[0].split()[1], flush=True)
    service.every("tell", timedelta(hours=1), tell)

settings = Settings()
run("notifier", settings, settings.notifier, build, schema_revision="0002")
"""


@pytest.fixture
def apply_revision(database: Database) -> Iterator[Callable[[str | None], None]]:
    """Migrate the notifier's schema to a revision; with None no migration has run."""
    url = database.url("notifier")
    make_tables(url)
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:

        def apply(revision: str | None) -> None:
            connection.execute("DROP TABLE IF EXISTS alembic_version")
            if revision is not None:
                connection.execute("CREATE TABLE alembic_version (version_num text)")
                connection.execute("INSERT INTO alembic_version VALUES (%s)", [revision])

        yield apply
        apply(None)


async def start_small(database: Database) -> asyncio.subprocess.Process:
    """Start a service that needs revision 0002 of its schema."""
    environment = {
        **os.environ,
        "SWAP_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "SWAP_REDIS__URL": "redis://nowhere",
        "SWAP_OPERATOR__TOKEN": TOKEN,
        "SWAP_CATALOGUE": "catalogue.yaml",
        "SWAP_NOTIFIER__DATABASE_URL": database.url("notifier"),
        "SWAP_NOTIFIER__INTERNAL_PORT": "0",
        "SWAP_BUILD__VERSION": "v9.9.9",
        "SWAP_BUILD__REVISION": "abc123",
    }
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", SMALL, env=environment, stdout=subprocess.PIPE
    )


class TestProcess:
    @pytest.mark.parametrize("applied", [None, "0001"])
    @pytest.mark.fault("P9")
    async def test_p9_does_not_start_on_an_older_schema(
        self,
        database: Database,
        apply_revision: Callable[[str | None], None],
        applied: str | None,
    ) -> None:
        apply_revision(applied)

        process = await start_small(database)
        async with asyncio.timeout(WITHIN_SECONDS):
            output, _ = await process.communicate()

        assert process.returncode == 1
        logged = [json.loads(line) for line in output.splitlines()]
        first = {name: logged[0][name] for name in ("event", "version", "revision")}
        assert first == {"event": "starting", "version": "v9.9.9", "revision": "abc123"}
        [reason] = [line["reason"] for line in logged if line["event"] == "process failed"]
        assert f"is at revision {applied or 'none'}, and this release needs 0002" in reason
        assert "`python -m swap_runtime.postgres.migrate services/notifier/migrations`" in reason

    @pytest.mark.fault("K12")
    async def test_k12_stops_on_sigterm_and_is_small(
        self, database: Database, apply_revision: Callable[[str | None], None]
    ) -> None:
        apply_revision("0003")  # newer than its own: a rollback
        process = await start_small(database)
        assert process.stdout is not None
        lines: list[bytes] = []
        async with asyncio.timeout(WITHIN_SECONDS):
            while not (lines and lines[-1].startswith(b"TOLD")):
                lines.append(await process.stdout.readline())
                assert lines[-1], b"".join(lines).decode()
            process.send_signal(signal.SIGTERM)
            code = await process.wait()

        _, heavy, own_kilobytes = lines[-1].decode().split(maxsplit=2)
        assert code == 0
        assert heavy == "[]"
        assert int(own_kilobytes) < 75 * 1024


async def ready(one: Running) -> bool:
    return (await get(one, "/readyz"))[0] == 200


async def unready(one: Running) -> bool:
    return (await get(one, "/readyz"))[0] == 503


def allow_connections(database: Database, is_allowed: bool) -> None:
    """Let the database accept logins, or refuse them and end every session."""
    name = psycopg.sql.Identifier(database.name)
    with psycopg.connect(database.server.url("postgres"), autocommit=True) as connection:
        allowed = psycopg.sql.Literal(is_allowed)
        alter = psycopg.sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        connection.execute(alter.format(name, allowed))
        if not is_allowed:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                [database.name],
            )


async def says(one: Running, words: str) -> bool:
    return words in (await get(one, "/livez"))[1]


async def has_leases(engine: Engine, topics: set[str]) -> bool:
    async with reading(engine) as connection:
        rows = await connection.execute(LEASES)
    return {row.name for row in rows} == {f"sweep/test/{topic}" for topic in topics}


async def is_waited_for(engine: Engine) -> bool:
    async with reading(engine) as connection:
        return bool(await connection.scalar(WAITING_SESSIONS))


async def has_stored(notes: KeepNotes, number: int) -> bool:
    return len(await notes.stored_notes()) >= number


async def notes_of(engine: Engine) -> Sequence[tuple[str, int]]:
    return await KeepNotes(engine).stored_notes()


async def published(engine: Engine) -> bool:
    async with reading(engine) as connection:
        waiting = await connection.scalar(
            sql("SELECT count(*) FROM outbox WHERE published_at IS NULL")
        )
    return not waiting
