"""Settings of the services: one environment for all of them, each reads its own part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import orjson
from pydantic import SecretStr

from swap_runtime.settings import KafkaSettings
from swap_stack.infrastructure import Infrastructure
from swap_stack.keys import Secrets, key_of
from swap_stack.operators import operator_settings
from swap_stack.places import Places
from swap_stack.services import SERVICES, ServicePorts, own_settings

QUERIES: Final = "deploy/postgres/invariants/queries.sql"
# Development: one operator may order and resume alone. The amount is more than the chains hold.
ONE_OPERATOR: Final = {
    "SWAP_SETTLER__SECOND_OPERATOR_ABOVE_USD": "1000000000000",
    "SWAP_CHAIN_WATCHER__RESUMING_NEEDS_TWO": "false",
}


def client_settings(kafka: KafkaSettings) -> dict[str, str]:
    """Return the variables with which one service connects to Kafka."""
    return {f"SWAP_KAFKA__{name.upper()}": value for name, value in describe_client(kafka).items()}


def describe_client(kafka: KafkaSettings) -> dict[str, str]:
    """Return the members that are not left at their defaults."""
    members = kafka.model_dump(exclude_defaults=True)
    return members | {
        name: value.get_secret_value() if isinstance(value, SecretStr) else str(value)
        for name, value in members.items()
    }


def secret_settings(secrets: Secrets) -> dict[str, dict[str, str]]:
    """Return the secrets that one service alone has, by its name."""
    signer = key_of(secrets.signer_key)
    return {
        "api": {
            "SWAP_API__NOTIFIER_TOKEN": secrets.api_token,
            "SWAP_API__KEY_PEPPER": secrets.key_pepper,
            "SWAP_API__PAY_LINK_KEYS": _json([secrets.pay_link_key]),
        },
        "notifier": {"SWAP_NOTIFIER__SECRET_KEYS": _json([secrets.webhook_key])},
        "dashboard": {"SWAP_DASHBOARD__SECRET_KEYS": _json([secrets.dashboard_key])},
        "settler": {"SWAP_SETTLER__SIGNER_KEYS": _json({signer.address: signer.private_key})},
    }


def _json(value: Sequence[str] | Mapping[str, str]) -> str:
    return orjson.dumps(value).decode()


def make_settings(
    *,
    places: Places,
    parts: Infrastructure,
    ports: ServicePorts,
    secrets: Secrets,
    database_urls: dict[str, str],
    catalogue: Path,
    bench_url: str,
) -> dict[str, str]:
    """Return every SWAP_… variable that all services have alike.

    :param bench_url: where the sandbox answers the dashboard.
    """
    of_each = secret_settings(secrets).values()
    return {
        **own_settings(ports, database_urls),
        **parts.broker_choice.settings,
        "SWAP_REDIS__URL": parts.valkey.url,
        **operator_settings(secrets),
        "SWAP_CATALOGUE": str(catalogue),
        "SWAP_API__QUOTER_URL": ports.public_url("quoter"),
        "SWAP_API__NOTIFIER_URL": ports.internal_url("notifier"),
        "SWAP_SETTLER__QUOTER_URL": ports.public_url("quoter"),
        **{name: value for settings in of_each for name, value in settings.items()},
        "SWAP_QUOTER__PRICES_FILE": str(places.prices_file),
        "SWAP_QUOTER__PRICES_NEVER_EXPIRE": "true",
        "SWAP_NOTIFIER__ALLOW_LOOPBACK": "true",
        "SWAP_DASHBOARD__PUBLIC_URL": ports.public_url("dashboard"),
        "SWAP_API__PAY_PAGE_URL": f"{ports.public_url('dashboard')}/pay",
        "SWAP_DASHBOARD__API_URL": ports.public_url("api"),
        "SWAP_DASHBOARD__BENCH_URL": bench_url,
        "SWAP_SETTLER__INVARIANT_QUERIES": str(places.root / QUERIES),
        "SWAP_CONSOLE__PUBLIC_URL": ports.public_url("console"),
        **{f"SWAP_CONSOLE__{name.upper()}_URL": ports.internal_url(name) for name in SERVICES},
        **ONE_OPERATOR,
        # Only what costs time: a payment that cannot be made is given up after two tries.
        "SWAP_SETTLER__PAYOUT_ATTEMPTS_MAX": "2",
        "SWAP_SETTLER__PAYOUT_RETRY_PAUSE": "PT1S",
    }
