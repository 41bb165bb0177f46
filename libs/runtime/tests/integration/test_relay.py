from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from libs.runtime.tests.fakes import FakeProducer, decide, outgoing
from swap_runtime.crashpoint import KILLED
from swap_runtime.messaging.outbox import add_to_outbox
from swap_runtime.messaging.relay import TOO_LARGE, Outbound, Relay
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql

pytestmark = pytest.mark.connected
WAITING = sql("SELECT count(*) FROM outbox WHERE published_at IS NULL")


class HangingProducer(FakeProducer):
    async def publish(self, messages: Sequence[Outbound]) -> Sequence[Outbound]:
        await asyncio.Event().wait()
        return ()


async def waiting(engine: Engine) -> int:
    async with engine.connect() as connection:
        return int(await connection.scalar(WAITING) or 0)


class TestPublishBatch:
    async def test_publishes_in_order_and_once(self, engine: Engine) -> None:
        producer = FakeProducer()
        relay = Relay(engine, producer, holder="a", batch_size=3)
        await decide(engine, *(outgoing(f"{n}") for n in range(5)))

        assert [await relay.publish_batch() for _ in range(3)] == [3, 2, 0]
        assert producer.delivered == [b"0", b"1", b"2", b"3", b"4"]

    async def test_waits_three_times_for_a_batch_with_the_lease_and_twice_without(
        self, engine: Engine, round_trips: list[int]
    ) -> None:
        relay = Relay(engine, FakeProducer(), holder="a", batch_size=1)
        await decide(engine, outgoing("1"), outgoing("2"))
        round_trips.clear()

        await relay.publish_batch()
        with_the_lease = len(round_trips)
        await relay.publish_batch()

        assert (with_the_lease, len(round_trips)) == (3, 3 + 2)

    async def test_has_the_id_and_the_sequence_of_a_message_in_headers(
        self, engine: Engine
    ) -> None:
        producer, message = FakeProducer(), outgoing()
        await decide(engine, message)

        await Relay(engine, producer, holder="a").publish_batch()

        source, xid, row_id = producer.headers[0]["outbox"].decode().split("/")
        assert producer.headers[0]["message_id"].decode() == str(message.message_id)
        assert (source, row_id) == ("settler", "1")
        assert int(xid) > 2

    async def test_sends_the_whole_batch_again_when_one_row_failed(self, engine: Engine) -> None:
        producer = FakeProducer(lost=b"x")
        relay = Relay(engine, producer, holder="a")
        await decide(engine, outgoing("w"), outgoing("x"))

        with pytest.raises(ConnectionError):
            await relay.publish_batch()

        assert await relay.publish_batch() == 2
        assert producer.delivered == [b"w", b"w", b"x"]

    async def test_skips_a_row_that_is_too_large_and_publishes_the_others(
        self, engine: Engine
    ) -> None:
        producer = FakeProducer(too_large=b"b")
        relay = Relay(engine, producer, holder="a")
        await decide(engine, outgoing("a"), outgoing("b"), outgoing("c"))
        counted = TOO_LARGE._value.get()

        assert await relay.publish_batch() == 3

        assert producer.delivered == [b"a", b"c"]
        assert await waiting(engine) == 0
        assert TOO_LARGE._value.get() == counted + 1

    @pytest.mark.fault("K3")
    async def test_k3_does_not_lose_a_lower_id_that_commits_late(self, engine: Engine) -> None:
        producer = FakeProducer()
        relay = Relay(engine, producer, holder="a")
        async with engine.begin() as slow:
            add_to_outbox(slow, [outgoing("low")])
            await slow.execute("SELECT 1")  # it has its transaction id
            await decide(engine, outgoing("high"))
            assert await relay.publish_batch() == 1

        assert await relay.publish_batch() == 1
        assert producer.delivered == [b"high", b"low"]

    @pytest.mark.fault("K4")
    async def test_k4_stands_by_until_the_lease_of_another_runs_out(self, engine: Engine) -> None:
        producer = FakeProducer()
        gone = Relay(engine, producer, holder="a", term=timedelta(milliseconds=300))
        standby = Relay(engine, producer, holder="b")
        await decide(engine, outgoing("1"))
        assert await gone.publish_batch() == 1
        await decide(engine, outgoing("2"))

        assert await standby.publish_batch() == 0
        async with asyncio.timeout(5):
            while await standby.publish_batch() == 0:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

        assert producer.delivered == [b"1", b"2"]
        assert await gone.publish_batch() == 0
        async with engine.connect() as connection:
            assert await connection.scalar(sql("SELECT epoch FROM lease")) == 2

    async def test_marks_no_rows_when_it_is_cancelled_while_publishing(
        self, engine: Engine
    ) -> None:
        relay = Relay(engine, HangingProducer(), holder="a")
        await decide(engine, outgoing())

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(relay.publish_batch(), 0.3)

        assert await waiting(engine) == 1


class TestRelay:
    @pytest.mark.fault("K13")
    async def test_k13_keeps_rows_and_restarts_when_the_broker_fails(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("swap_runtime.messaging.relay.PAUSE_SECONDS", 0)
        producer = FakeProducer(lost=b"a")
        relay = Relay(engine, producer, holder="a")
        await decide(engine, outgoing("a"))

        assert await relay() is False

        assert producer.discarded == 1
        assert await waiting(engine) == 1
        await relay()
        assert producer.delivered == [b"a"]

    async def test_lets_another_begin_when_it_stops(self, engine: Engine) -> None:
        producer = FakeProducer()
        stopped, standby = (Relay(engine, producer, holder=holder) for holder in ("a", "b"))
        await decide(engine, outgoing("1"))
        await stopped.stop()
        await decide(engine, outgoing("2"))

        await standby.publish_batch()

        assert producer.delivered == [b"1", b"2"]


# Appends every delivery to a file, as a broker that outlives the relay.
DYING_RELAY = """
import asyncio, sys
from pydantic import SecretStr
from swap_runtime.postgres.database import create_engine
from swap_runtime.messaging.relay import Relay

class Producer:
    async def publish(self, messages):
        with open(sys.argv[2], "ab") as delivered:
            for message in messages:
                delivered.write(dict(message.headers)["message_id"] + b"\\n")
        return ()
    async def discard(self): ...

async def main():
    engine = create_engine(SecretStr(sys.argv[1]), application_name="dying")
    relay = Relay(engine, Producer(), holder="the same after its restart")
    print(await relay.publish_batch())

asyncio.run(main())
"""


class TestCrash:
    @pytest.mark.parametrize(
        ("point", "deliveries"),
        [
            pytest.param("relay.before_publish", 1, id="k1_before_publishing"),
            pytest.param("relay.after_publish", 2, id="k2_before_marking"),
        ],
    )
    @pytest.mark.fault("K1", "K2")
    async def test_a_message_survives_a_crash(
        self, engine: Engine, url: str, tmp_path: Path, point: str, deliveries: int
    ) -> None:
        message, delivered = outgoing(), tmp_path / "delivered"
        await decide(engine, message)
        command = [sys.executable, "-c", DYING_RELAY, url, str(delivered)]

        died = await asyncio.to_thread(run, command, CRASH_AT=f"{point}:1")
        again = await asyncio.to_thread(run, command)

        assert died.returncode == KILLED
        assert again.stdout == "1\n"
        assert delivered.read_text() == f"{message.message_id}\n" * deliveries
        assert await waiting(engine) == 0


def run(command: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
