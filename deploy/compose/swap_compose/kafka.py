"""The broker that the stack uses: its own plain one, or a secured one elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from swap_runtime.settings import KafkaSettings
from swap_stack.keys import Secrets
from swap_stack.settings import describe_client

PREFIX = "SWAP_KAFKA__"
OWN = "kafka:9092"  # as the containers reach the stack's own broker


def login_settings(principal: str, secrets: Secrets, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a login; none for a broker that asks for none."""
    if not environ.get(f"{PREFIX}SECURITY_PROTOCOL", "").startswith("SASL_"):
        return {}
    return {
        f"{PREFIX}USERNAME": principal,
        f"{PREFIX}PASSWORD": secrets.kafka_passwords[principal],
    }


def kafka_of(principal: str, secrets: Secrets, environ: Mapping[str, str]) -> KafkaSettings:
    """Return how a client of this principal connects. What the environment says wins."""
    environment = {**login_settings(principal, secrets, environ), **environ}
    return KafkaSettings.model_validate(
        {
            name.removeprefix(PREFIX).lower(): value
            for name, value in environment.items()
            if name.startswith(PREFIX) and value
        }
    )


def describe_kafka(port: int, secrets: Secrets, environ: Mapping[str, str]) -> dict[str, str]:
    """Return how the operator connects from the host.

    :param port: of the stack's own broker.
    """
    kafka = kafka_of("operator", secrets, environ)
    if kafka.bootstrap_servers == OWN:
        return {"bootstrap_servers": f"127.0.0.1:{port}"}
    return describe_client(kafka)
