"""Who operates a stack: two operators, and the api at the notifier."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

import orjson

from swap_stack.keys import Secrets

FIRST: Final = "operator"
SECOND: Final = "second"
API: Final = "api"


def operator_settings(secrets: Secrets) -> dict[str, str]:
    """Return the settings of all services: hashes, so that no service holds an operator's token."""
    entries = [
        {"name": FIRST, "role": "operator", "token_sha256": _hash(secrets.operator_token)},
        {"name": SECOND, "role": "operator", "token_sha256": _hash(secrets.second_operator_token)},
        {"name": API, "role": "service", "token_sha256": _hash(secrets.api_token)},
    ]
    return {"SWAP_OPERATORS": orjson.dumps(entries).decode()}


def describe_operators(secrets: Secrets) -> list[dict[str, Any]]:
    """Return who may give orders, with their tokens."""
    return [
        {"name": FIRST, "role": "operator", "token": secrets.operator_token},
        {"name": SECOND, "role": "operator", "token": secrets.second_operator_token},
    ]


def _hash(token: str) -> str:
    return sha256(token.encode()).hexdigest()
