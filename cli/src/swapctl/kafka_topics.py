"""The topics of a broker that the operator's login can see."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Collection, Mapping
from typing import Any, Final

from aiokafka.admin import AIOKafkaAdminClient  # type: ignore[import-untyped]
from aiokafka.errors import KafkaError  # type: ignore[import-untyped]

from swapctl.admin_client import RequestFailed
from swapctl.endpoints import Endpoints

PREFIX: Final = "SWAP_KAFKA__"
TIMEOUT_SECONDS: Final = 5
# A test compares them with the message contracts, which this package does not import.
TOPICS: Final = (
    "swap.requests.v1",
    "deposit-target.assigned.v1",
    "deposit.hinted.v1",
    "deposit.changed.v1",
    "payout.changed.v1",
    "swap.changed.v1",
    "inventory.changed.v1",
)


def kafka_settings(known: Endpoints) -> Mapping[str, str]:
    """Return the members of `SWAP_KAFKA__…`; the environment wins over a stack's description."""
    described = {name: str(value) for name, value in known.stack.get("kafka", {}).items()}
    configured = {
        name.removeprefix(PREFIX).lower(): value
        for name, value in known.environment.items()
        if name.startswith(PREFIX) and value
    }
    return {**described, **configured}


def list_topics(settings: Mapping[str, str]) -> Collection[str]:
    """
    :raises RequestFailed: when the broker does not answer, or refuses the login.
    """
    try:
        return asyncio.run(_list_topics(settings))
    except (KafkaError, OSError, TimeoutError) as error:
        raise RequestFailed(f"the topics of the broker cannot be listed: {error!r}") from error


async def _list_topics(settings: Mapping[str, str]) -> Collection[str]:
    admin = AIOKafkaAdminClient(client_id="swapctl", **_options(settings))
    async with asyncio.timeout(TIMEOUT_SECONDS):
        try:
            await admin.start()
            return set(await admin.list_topics())
        finally:
            await admin.close()


def _options(settings: Mapping[str, str]) -> dict[str, Any]:
    protocol = settings.get("security_protocol", "PLAINTEXT")
    options: dict[str, Any] = {
        "bootstrap_servers": settings["bootstrap_servers"].split(","),
        "security_protocol": protocol,
        "request_timeout_ms": TIMEOUT_SECONDS * 1000,
    }
    if "SSL" in protocol:
        context = ssl.create_default_context(cafile=settings.get("ca_file"))
        if "certificate_file" in settings:
            context.load_cert_chain(settings["certificate_file"], settings.get("key_file"))
        options["ssl_context"] = context
    if protocol.startswith("SASL"):
        options["sasl_mechanism"] = settings.get("sasl_mechanism", "SCRAM-SHA-512")
        options["sasl_plain_username"] = settings.get("username")
        options["sasl_plain_password"] = settings.get("password")
    return options
