"""How every Kafka client of a process authenticates itself, and the broker to it."""

from __future__ import annotations

from typing import Any

from swap_runtime.settings import KafkaSettings
from swap_runtime.tls import client_context


def connection_options(kafka: KafkaSettings) -> dict[str, Any]:
    """Return what aiokafka's clients take: the brokers, and the security of the connection.

    The TLS files are read each time, so that a client made later uses rotated certificates.
    """
    options: dict[str, Any] = {
        "bootstrap_servers": kafka.bootstrap_servers.split(","),
        "security_protocol": kafka.security_protocol,
    }
    if kafka.uses_tls:
        options["ssl_context"] = client_context(
            kafka.ca_file, kafka.certificate_file, kafka.key_file
        )
    if kafka.uses_sasl:
        options["sasl_mechanism"] = kafka.sasl_mechanism
        options["sasl_plain_username"] = kafka.username
        options["sasl_plain_password"] = kafka.password.get_secret_value()
    return options
