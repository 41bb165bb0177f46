"""Which broker a stack gets, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from swap_stack.daemon import StackError
from swap_stack.parts.embedded_broker import EmbeddedBroker
from swap_stack.parts.kafka import Kafka, unavailable_reason
from swap_stack.parts.kafka_security import ScramOverTls
from swap_stack.places import Places
from swap_stack.ports import Ports
from swap_stack.processes import Registry

CHOICES = ("auto", "kafka", "embedded")
SECURITY_CHOICES = ("none", "scram")

# The embedded broker holds each group join for half the session timeout and does not wake a
# waiting fetch, so both are short there.
EMBEDDED_SETTINGS = MappingProxyType(
    {
        "SWAP_KAFKA__SESSION_TIMEOUT_MS": "1000",
        "SWAP_KAFKA__HEARTBEAT_INTERVAL_MS": "100",
        "SWAP_KAFKA__FETCH_MAX_WAIT_MS": "20",
    }
)
KAFKA_SETTINGS = MappingProxyType(
    {
        "SWAP_KAFKA__SESSION_TIMEOUT_MS": "6000",
        "SWAP_KAFKA__HEARTBEAT_INTERVAL_MS": "500",
        "SWAP_KAFKA__FETCH_MAX_WAIT_MS": "500",
    }
)


@dataclass(frozen=True, slots=True)
class BrokerChoice:
    kind: str  # kafka or embedded
    why: str
    is_secured: bool = False  # SASL_SSL with SCRAM, and the ACLs of deploy/kafka

    @property
    def settings(self) -> MappingProxyType[str, str]:
        return KAFKA_SETTINGS if self.kind == "kafka" else EMBEDDED_SETTINGS


def choose_broker(wanted: str, places: Places, security: str = "none") -> BrokerChoice:
    """
    :raises StackError: for an unknown value, or when the requested broker cannot run.
    """
    if security not in SECURITY_CHOICES:
        raise StackError(f"KAFKA_SECURITY={security} is not one of {', '.join(SECURITY_CHOICES)}.")
    choice = _choose_kind(wanted, places)
    is_secured = security == "scram"
    if is_secured and choice.kind != "kafka":
        raise StackError(f"KAFKA_SECURITY=scram needs Apache Kafka, not {choice.kind}.")
    return replace(choice, is_secured=is_secured)


def _choose_kind(wanted: str, places: Places) -> BrokerChoice:
    if wanted not in CHOICES:
        raise StackError(f"BROKER={wanted} is not one of {', '.join(CHOICES)}.")
    if wanted == "embedded":
        return BrokerChoice("embedded", "asked for")
    reason = unavailable_reason(places)
    if reason is None:
        return BrokerChoice(
            "kafka", "asked for" if wanted == "kafka" else "Java and its jars are here"
        )
    if wanted == "kafka":
        raise StackError(f"BROKER=kafka cannot be had: {reason}.")
    return BrokerChoice("embedded", reason)


def make_broker(
    choice: BrokerChoice,
    places: Places,
    ports: Ports,
    registry: Registry,
    passwords: Mapping[str, str] = MappingProxyType({}),
) -> Kafka | EmbeddedBroker:
    """
    :param passwords: of Kafka's principals, for a broker that is secured.
    """
    if choice.kind != "kafka":
        return EmbeddedBroker(places, ports, registry)
    security = ScramOverTls(places, passwords) if choice.is_secured else None
    return Kafka(places, ports, registry, security)
