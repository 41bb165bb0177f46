"""Apache Kafka as it runs in production: SASL_SSL with SCRAM, one principal per service, ACLs."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from swap_runtime.settings import KafkaSettings
from swap_stack.acls import load_acls
from swap_stack.places import Places
from swap_stack.programs import run_to_end

LISTENER = "CLIENTS"
MECHANISM: Final = "SCRAM-SHA-512"
APPLY_ACLS = Path("deploy/kafka/ApplyAcls.java")
SET_PASSWORDS = Path("deploy/kafka/SetPasswords.java")
MODULE = "org.apache.kafka.common.security"


class ScramOverTls:
    """The files and settings of a secured broker: its certificate, its users, its ACLs.

    The certificate is its own authority. Users are written when the storage is formatted, because
    a KRaft broker authenticates no client before. Controllers do not support SCRAM, so the broker
    itself logs in to its controller with PLAIN, over the same TLS.
    """

    def __init__(self, places: Places, passwords: Mapping[str, str]) -> None:
        self._root = places.root
        self._folder = places.var / "kafka-security"
        self._keystore = self._folder / "keystore.p12"
        self._next_keystore = self._folder / "next.p12"
        self._passwords = passwords
        self.ca_file = self._folder / "ca.pem"

    def client(self, principal: str, bootstrap_servers: str) -> KafkaSettings:
        """Return how a client of this principal connects."""
        return KafkaSettings(
            bootstrap_servers=bootstrap_servers,
            security_protocol="SASL_SSL",
            sasl_mechanism=MECHANISM,
            username=principal,
            password=SecretStr(self._passwords[principal]),
            ca_file=self.ca_file,
        )

    async def prepare(self) -> None:
        """Make the certificate, where there is none."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.ca_file.is_file():
            self.ca_file.write_text(await self._make_certificate(self._keystore))

    async def add_certificate(self) -> None:
        """Make the next certificate: clients that start from now on trust both."""
        new = await self._make_certificate(self._next_keystore)
        self.ca_file.write_text(self.ca_file.read_text() + new)

    def use_added_certificate(self) -> None:
        """Give the broker the next certificate, which it shows after a restart."""
        self._next_keystore.replace(self._keystore)

    async def remove_former_certificate(self) -> None:
        """Trust the broker's certificate alone, in clients that start from now on."""
        self.ca_file.write_text(await self._read_certificate(self._keystore))

    async def _make_certificate(self, keystore: Path) -> str:
        """Make a certificate and its key, and return the certificate in PEM.

        Each has a name of its own, because OpenSSL finds an authority by its name. It would compare
        the new certificate with the former one of the same name.
        """
        keystore.unlink(missing_ok=True)  # noqa: ASYNC240  one call, on a development machine
        name = f"CN=localhost,OU={secrets.token_hex(4)}"
        await run_to_end([
            "keytool", "-genkeypair", *self._store(keystore), "-dname", name,
            "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "3650",
            "-ext", "san=ip:127.0.0.1,dns:localhost", "-ext", "bc:c=ca:true",
            "-ext", "ku:c=digitalSignature,keyCertSign",
        ])  # fmt: skip
        return await self._read_certificate(keystore)

    async def _read_certificate(self, keystore: Path) -> str:
        made = self._folder / "certificate.pem"
        await run_to_end(
            ["keytool", "-exportcert", "-rfc", *self._store(keystore), "-file", str(made)]
        )
        return made.read_text()

    def _store(self, keystore: Path) -> Sequence[str]:
        password = self._passwords["broker"]
        return ["-keystore", str(keystore), "-storepass", password, "-alias", "kafka"]

    @property
    def format_arguments(self) -> Sequence[str]:
        """Return what adds the users when the storage is formatted."""
        return [
            word
            for name, password in self._passwords.items()
            for word in ("--add-scram", f"{MECHANISM}=[name={name},password={password}]")
        ]

    def properties(self) -> Mapping[str, object]:
        """Return the broker's properties, beside those of any broker."""
        password = self._passwords["broker"]
        login = f'required username="broker" password="{password}"'
        return {
            "listener.security.protocol.map": f"{LISTENER}:SASL_SSL,CONTROLLER:SASL_SSL",
            "inter.broker.listener.name": LISTENER,
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            "sasl.mechanism.controller.protocol": "PLAIN",
            **{
                f"listener.name.clients.{name}": value
                for name, value in {
                    "sasl.enabled.mechanisms": MECHANISM,
                    "scram-sha-512.sasl.jaas.config": f"{MODULE}.scram.ScramLoginModule {login};",
                }.items()
            },
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.controller.plain.sasl.jaas.config": f"{MODULE}.plain.PlainLoginModule "
            f'{login} user_broker="{password}";',
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": self._keystore,
            "ssl.keystore.password": password,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.ca_file,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:broker;User:operator",
        }

    async def apply_acls(self, java: Sequence[str], bootstrap_servers: str) -> None:
        """Make the cluster's ACLs those of deploy/kafka/acls.yaml."""
        client = self._operators_properties(bootstrap_servers)
        acls = self._folder / "acls"
        acls.write_text("".join(f"{acl.line}\n" for acl in load_acls(self._root)))
        await run_to_end([*java, str(self._root / APPLY_ACLS), str(client), str(acls)])

    async def set_passwords(
        self, java: Sequence[str], bootstrap_servers: str, passwords: Mapping[str, str]
    ) -> None:
        """Give principals other passwords; connections that are open go on."""
        client = self._operators_properties(bootstrap_servers)
        lines = self._folder / "passwords"
        lines.touch(mode=0o600)
        lines.write_text("".join(f"{name} {password}\n" for name, password in passwords.items()))
        try:
            await run_to_end([*java, str(self._root / SET_PASSWORDS), str(client), str(lines)])
        finally:
            lines.unlink()

    def _operators_properties(self, bootstrap_servers: str) -> Path:
        """Return the file with which Java's clients log in as the operator."""
        client = self._folder / "operator.properties"
        client.touch(mode=0o600)
        client.write_text(
            f"bootstrap.servers={bootstrap_servers}\n"
            "security.protocol=SASL_SSL\n"
            f"sasl.mechanism={MECHANISM}\n"
            f"sasl.jaas.config={MODULE}.scram.ScramLoginModule required "
            f'username="operator" password="{self._passwords["operator"]}";\n'
            f"ssl.truststore.type=PEM\nssl.truststore.location={self.ca_file}\n"
        )
        return client
