"""Hooks for Schemathesis: it acts as one of two tenants, and must see nothing of the other.

Schemathesis loads them in its own process; FUZZ_TENANTS names the file of the tenants.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import schemathesis

TENANTS = json.loads(Path(os.environ["FUZZ_TENANTS"]).read_text())
KEY_HEADER = "X-SVC-APIKEY"
# Internal details in the answer to an uncaught error.
INTERNAL_TEXTS = ("Traceback", "psycopg", "SELECT ", "asyncio", 'File "', "127.0.0.1:")
EVEN = 0.5
SERVED = {
    "source_network": "ETHEREUM_DEVNET",
    "source_token": "ETH",
    "destination_network": "BASE_DEVNET",
    "destination_token": "USDC",
    "destination_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "refund_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "signer_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "network": "ETHEREUM_DEVNET",
}


@schemathesis.auth(refresh_interval=None)
class FirstTenantAuth:
    """Sends both credentials with each request, because the service chooses the one it needs.

    The other tenant's are never used, so any data of that tenant in an answer is an error.
    """

    def get(self, case: Any, context: Any) -> Any:
        return TENANTS[0]

    def set(self, case: Any, data: Any, context: Any) -> None:
        case.headers = {
            **(case.headers or {}),
            KEY_HEADER: data["key"],
            "Authorization": f"Bearer {data['token']}",
        }


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: Any) -> Any:
    """Use existing ids three times out of four, and most often the tenant's own."""
    if not path_parameters:
        return path_parameters
    random = Random(repr(sorted(path_parameters.items(), key=str)))
    tenant = random.choice([TENANTS[0], *TENANTS, None])
    if tenant is None:
        return path_parameters
    known = {**tenant["values"], "swapId": random.choice(tenant["swaps"])}
    return {name: known.get(name, value) for name, value in path_parameters.items()}


def _with_known_values(values: Any) -> Any:
    """Use served networks and tokens half of the time, with the other generated values."""
    if not isinstance(values, dict):
        return values
    random = Random(repr(sorted(values.items(), key=str)))
    if random.random() < EVEN:
        return values
    tenant = random.choice(TENANTS)
    known = {**SERVED, "transaction_id": tenant["values"]["transactionHash"]}
    return {name: known.get(name, value) for name, value in values.items()}


@schemathesis.hook
def map_query(context: Any, query: Any) -> Any:
    return _with_known_values(query)


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    return _with_known_values(body)


@schemathesis.check
def shows_no_other_tenant(context: Any, response: Any, case: Any) -> None:
    sent = f"{response.request.url} {response.request.body!r}"
    other = TENANTS[1]
    shown = [mark for mark in other["marks"] if mark in response.text and mark not in sent]
    assert not shown, f"of another tenant: {shown}"


@schemathesis.check
def shows_no_internals(context: Any, response: Any, case: Any) -> None:
    if response.status_code >= 400:
        assert not [word for word in INTERNAL_TEXTS if word in response.text], response.text


@schemathesis.check
def is_enveloped(context: Any, response: Any, case: Any) -> None:
    if response.status_code not in (204, 304) and case.method != "HEAD":
        content = json.loads(response.text)
        assert "error" in content
        assert (content["error"] is None) == (response.status_code < 400)
        # A request that is not valid HTTP is refused before request ids are assigned.
        is_http = "not valid HTTP" not in response.text
        assert not is_http or response.headers.get("x-request-id")
