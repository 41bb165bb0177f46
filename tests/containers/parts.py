"""PostgreSQL, Apache Kafka and Valkey from their official images, for `STACK=containers`.

Ports are those of this machine. The cleanup container of testcontainers is disabled: it needs one
more image, and fixtures stop every container here.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")
os.environ.setdefault("TESTCONTAINERS_CONNECTION_MODE", "docker_host")
os.environ.setdefault("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")

from testcontainers.community.postgres import PostgresContainer
from testcontainers.community.redis import RedisContainer
from testcontainers.core.container import DockerContainer

from swap_runtime.settings import KafkaSettings
from tests.plugins.processes import START_SECONDS, Program, free_port

POSTGRES_IMAGE = "postgres:18"
KAFKA_IMAGE = "apache/kafka:4.3.0"
VALKEY_IMAGE = "valkey/valkey:8"
PASSWORD = "test"
INSIDE = 9092
KAFKA = {
    "KAFKA_HEAP_OPTS": "-Xms256m -Xmx512m",
    "KAFKA_NODE_ID": "1",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_LISTENERS": f"HOST://:{INSIDE},CONTROLLER://:9093",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "HOST:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "HOST",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
    "KAFKA_LOG_DIRS": "/var/lib/kafka/data",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR": "1",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    "KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS": "500",
    "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
    "KAFKA_BROKER_SESSION_TIMEOUT_MS": "2000",
    "KAFKA_BROKER_HEARTBEAT_INTERVAL_MS": "500",
}


class ContainerProgram(Program):
    """A container that a test may stop and start again as if it were a local program."""

    def __init__(self, container: DockerContainer, *, ready: Callable[[], bool]) -> None:
        super().__init__([], log=Path(os.devnull), ready=ready)
        self._container = container.get_wrapped_container()

    @property
    def runs(self) -> bool:
        self._container.reload()
        return bool(self._container.status == "running")

    def start(self) -> None:
        self._container.start()
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        ends_at = time.monotonic() + START_SECONDS
        while not self._ready():
            if time.monotonic() > ends_at:
                raise RuntimeError(self._container.logs().decode(errors="replace")[-2000:])
            time.sleep(0.1)

    def send(self, number: int) -> None:
        self._container.kill(signal=number)

    def _end(self, number: int) -> None:
        if self.runs:
            self._container.kill(signal=number)
            self._container.wait(timeout=30)


def answers(port: int) -> bool:
    """Return whether a broker reports its API versions; Docker itself accepts connections."""
    question = struct.pack(">ihhih", 10, 18, 0, 1, -1)  # ApiVersions, without a client id
    with socket.socket() as one:
        one.settimeout(1)
        try:
            one.connect(("127.0.0.1", port))
            one.sendall(question)
            return len(one.recv(8)) == 8
        except OSError:
            return False


@contextmanager
def postgres_container() -> Iterator[PostgresContainer]:
    fast = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=300"
    container = PostgresContainer(
        POSTGRES_IMAGE, username="postgres", password=PASSWORD, dbname="postgres", driver=None
    )
    with container.with_command(f"postgres {fast}") as running:
        yield running


@contextmanager
def kafka_container() -> Iterator[tuple[KafkaSettings, ContainerProgram]]:
    # The broker's advertised port must be known before it starts.
    port = free_port()
    container = DockerContainer(KAFKA_IMAGE).with_envs(
        **KAFKA, KAFKA_ADVERTISED_LISTENERS=f"HOST://127.0.0.1:{port}"
    )
    with container.with_bind_ports(INSIDE, port) as running:
        program = ContainerProgram(running, ready=lambda: answers(port))
        program.wait_until_ready()
        yield (
            KafkaSettings(
                bootstrap_servers=f"127.0.0.1:{port}",
                session_timeout_ms=1000,
                heartbeat_interval_ms=100,
            ),
            program,
        )


@contextmanager
def valkey_url() -> Iterator[str]:
    with RedisContainer(VALKEY_IMAGE) as running:
        yield f"redis://{running.get_container_host_ip()}:{running.get_exposed_port(6379)}/0"
