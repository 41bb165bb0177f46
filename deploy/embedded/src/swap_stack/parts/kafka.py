"""Apache Kafka: one node, broker and controller in one process."""

from __future__ import annotations

import re
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from swap_runtime.settings import KafkaSettings
from swap_stack.daemon import Daemon
from swap_stack.parts.kafka_client import has_brokers
from swap_stack.parts.kafka_security import LISTENER, ScramOverTls
from swap_stack.places import Places
from swap_stack.ports import Ports
from swap_stack.processes import Registry

JAVA_MIN = 17
LOG4J = """\
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n
"""


def jars_folder(places: Places) -> Path:
    return places.root / ".cache" / "kafka" / "lib"


def unavailable_reason(places: Places) -> str | None:
    """Say why Apache Kafka cannot run here, or nothing when it can."""
    if shutil.which("java") is None:
        return f"there is no Java {JAVA_MIN}"
    java = subprocess.run(["java", "-version"], check=False, capture_output=True, text=True)
    found = re.search(r'version "(\d+)', java.stderr + java.stdout)
    if found is None or int(found.group(1)) < JAVA_MIN:
        return f"Java is older than {JAVA_MIN}"
    if not any(jars_folder(places).glob("kafka_2.13-*.jar")):
        return "its jars are not in .cache/kafka (`make install` fetches them with Maven)"
    return None


class Kafka(Daemon):
    """Topics and offsets last over a restart; data below `var/kafka`."""

    ready_seconds = 60.0

    def __init__(
        self,
        places: Places,
        ports: Ports,
        registry: Registry,
        security: ScramOverTls | None = None,
    ) -> None:
        super().__init__("kafka", places, registry)
        self.port = ports.take(self.name)
        self.advertised_port = self.port  # another one where a proxy stands in between
        self._controller_port = ports.take("kafka-controller")
        self._security = security
        # Users are made with the storage, so that each kind of security has its own.
        self._folder = places.var / ("kafka" if security is None else "kafka-scram")

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.advertised_port}"

    def client(self, principal: str) -> KafkaSettings:
        """Return how a client of this principal connects."""
        if self._security is None:
            return KafkaSettings(bootstrap_servers=self.bootstrap_servers)
        return self._security.client(principal, self.bootstrap_servers)

    async def start(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._security is not None:
            await self._security.prepare()
        properties = self._folder / "server.properties"
        properties.write_text(self._properties())
        (self._folder / "log4j2.properties").write_text(LOG4J)
        if not (self._folder / "data" / "meta.properties").is_file():
            shutil.rmtree(self._folder / "data", ignore_errors=True)
            # With the `=`: a random id may start with a dash.
            identity = f"--cluster-id={secrets.token_urlsafe(16)}"
            users = () if self._security is None else self._security.format_arguments
            tool = ["kafka.tools.StorageTool", "format", identity, "-c", str(properties)]
            await self.prepare([*self._java(), *tool, *users])
        self.spawn([*self._java(), "kafka.Kafka", str(properties)])

    async def ready(self) -> None:
        await super().ready()
        if self._security is not None:
            await self._security.apply_acls(self._java(), self.bootstrap_servers)

    async def set_passwords(self, passwords: Mapping[str, str]) -> None:
        """Give principals other passwords, where the broker has any.

        :raises ValueError: when the broker asks for no login.
        """
        await self._require_security().set_passwords(
            self._java(), self.bootstrap_servers, passwords
        )

    async def add_certificate(self) -> None:
        """Make the broker's next certificate, which clients that start now trust as well.

        :raises ValueError: when the broker has no certificate.
        """
        await self._require_security().add_certificate()

    async def restart_with_added_certificate(self) -> None:
        """Restart the broker with the certificate that was added.

        :raises ValueError: when the broker has no certificate.
        :raises StackError: when it is not ready in time.
        """
        self._require_security().use_added_certificate()
        await self.stop()
        await self.start()
        await self.ready()

    async def remove_former_certificate(self) -> None:
        """Let clients that start now trust the new certificate alone.

        :raises ValueError: when the broker has no certificate.
        """
        await self._require_security().remove_former_certificate()

    def _require_security(self) -> ScramOverTls:
        if self._security is None:
            raise ValueError("this broker has no certificate and asks for no login")
        return self._security

    async def probe(self) -> bool:
        return await has_brokers(self.client("operator"))

    def _java(self) -> list[str]:
        return [
            "java",
            *("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            f"-Dlog4j2.configurationFile={self._folder / 'log4j2.properties'}",
            *("-cp", f"{jars_folder(self.places)}/*"),
        ]

    def _properties(self) -> str:
        listener = "PLAINTEXT" if self._security is None else LISTENER
        settings = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller_port}",
            "listeners": f"{listener}://127.0.0.1:{self.port},"
            f"CONTROLLER://127.0.0.1:{self._controller_port}",
            "advertised.listeners": f"{listener}://{self.bootstrap_servers}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": self._folder / "data",
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "share.coordinator.state.topic.replication.factor": 1,
            "share.coordinator.state.topic.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            "group.min.session.timeout.ms": 500,
            "auto.create.topics.enable": "false",
            # A node that was killed comes back in five seconds instead of thirteen.
            "broker.session.timeout.ms": 2000,
            "broker.heartbeat.interval.ms": 500,
            **({} if self._security is None else self._security.properties()),
        }
        return "".join(f"{name}={value}\n" for name, value in settings.items())
