"""Write the Postman collection from the OpenAPI document: every request, and what must be true of
its answer.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from generate_openapi import document
from generating import write_or_check

from swap_stack.sandbox.outcomes import OUTCOME_DESCRIPTIONS, SandboxOutcome

TARGET: Final = "sdk/collection/swap.postman_collection.json"
SCHEMA: Final = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
CREATE: Final = "POST /api/v2/swaps"
READ_PAY_LINK: Final = "GET /api/v2/swaps/{swapId}/pay_link"
PAY_TAG: Final = "pay"  # the tag of what is read and done by the token of a pay link
# A member's, not a partner's: those need a token.
EXCLUDED_PREFIX: Final = "/management/"
ABOUT: Final = """Every request that a partner makes, against any deployment: set `baseUrl` and
`apiKey`. Run in order, the first request makes a swap that the others are about; on a development
stack, with the key of its sandbox's partner, that swap is paid by itself. Generated from the
service's OpenAPI document."""
VARIABLES: Final = {
    "baseUrl": "http://127.0.0.1:28000",
    "apiKey": "svc_test_",
    "source_network": "ETHEREUM_DEVNET",
    "source_token": "ETH",
    "destination_network": "BASE_DEVNET",
    "destination_token": "USDC",
    "destination_address": OUTCOME_DESCRIPTIONS[SandboxOutcome.COMPLETED].address,
    "amount": "0.1",
    "swapId": "",
    "payToken": "",
    "transaction_id": "0x" + "5f" * 32,
}
# What a request says besides what it has to.
MEMBERS: Final = {
    **{name: f"{{{{{name}}}}}" for name in VARIABLES},
    "network": "{{source_network}}",
    "transactionHash": "{{transaction_id}}",
    "address": "{{destination_address}}",
    "addresses": "{{destination_address}}",
    "refund_address": "{{destination_address}}",
    "signer_address": "{{destination_address}}",
    "signature": "0x" + "00" * 65,
    "source": "{{source_network}}",
    "destination": "{{destination_network}}",
    "source_asset": "{{source_token}}",
    "destination_asset": "{{destination_token}}",
    "refuel": False,
}
SENT_OPTIONAL: Final = {"amount", "address", "addresses", "destination_asset"}
# Requests that a finished or an unsigned swap refuses: the example shows the refusal.
MAY_REFUSE: Final = {
    "swap_refund_address",
    "swap_deposit_speedup",
    "swap_read_by_hash",
    "authorization_authorize",
    "authorization_read",
    "attachment_show",
    "attachment_attach",
    "history_transaction_status",
    "pay_authorize",
    "pay_refund_address",
}
ENVELOPE: Final = """\
const answer = pm.response.json();
pm.test("the status is one that the documentation has", () =>
  pm.expect(DOCUMENTED).to.include(pm.response.code));
pm.test("the answer is what is asked for, or an error with a code", () => {
  if (pm.response.code === 200) pm.expect(answer.error).to.equal(null);
  else pm.expect(answer.error.code).to.match(/^[A-Z_]+$/);
});
pm.test("the request has an id", () =>
  pm.expect(pm.response.headers.has("x-request-id")).to.equal(true));"""
EXPECT_SUCCESS: Final = 'pm.test("it succeeds", () => pm.response.to.have.status(200));'
STORE_SWAP_ID: Final = """\
pm.test("there is a swap", () =>
  pm.expect(answer.data.swap.status).to.equal("user_transfer_pending"));
pm.collectionVariables.set("swapId", answer.data.swap.id);"""
STORE_PAY_TOKEN: Final = 'pm.collectionVariables.set("payToken", answer.data.read_token);'
EXTRA_TESTS: Final = {CREATE: STORE_SWAP_ID.splitlines(), READ_PAY_LINK: [STORE_PAY_TOKEN]}


def items() -> list[dict[str, Any]]:
    """Return one folder per tag; what makes the swap, and its pay link, comes before them."""
    folders: dict[str, list[dict[str, Any]]] = {}
    first: list[dict[str, Any]] = []
    for path, operations in json.loads(document())["paths"].items():
        for method, operation in operations.items():
            if path.startswith(EXCLUDED_PREFIX):
                continue
            name = f"{method.upper()} {path}"
            made = item(name, method, path, operation)
            folder = (
                folders.setdefault(operation["tags"][0], []) if name not in EXTRA_TESTS else first
            )
            folder.append(made)
    return [*first, *({"name": tag, "item": rows} for tag, rows in sorted(folders.items()))]


def item(name: str, method: str, path: str, operation: Mapping[str, Any]) -> dict[str, Any]:
    request: dict[str, Any] = {
        "method": method.upper(),
        "header": headers(operation),
        "url": url(path, operation),
        "description": operation["description"],
    }
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is not None:
        request["body"] = {"mode": "raw", "raw": json.dumps(body(content["schema"]), indent=2)}
    lines = tests(name, operation)
    event = {"listen": "test", "script": {"type": "text/javascript", "exec": lines}}
    return {"name": operation["summary"], "event": [event], "request": request}


def headers(operation: Mapping[str, Any]) -> list[dict[str, str]]:
    is_public = operation.get("security") == []
    key = [] if is_public else [{"key": "X-SVC-APIKEY", "value": "{{apiKey}}"}]
    if operation["tags"] == [PAY_TAG]:
        key = [{"key": "Authorization", "value": "Bearer {{payToken}}"}]
    has_body = "requestBody" in operation
    return [*key, *([{"key": "content-type", "value": "application/json"}] if has_body else [])]


def url(path: str, operation: Mapping[str, Any]) -> dict[str, Any]:
    parts = [
        MEMBERS[part.strip("{}")] if part.startswith("{") else part
        for part in path.strip("/").split("/")
    ]
    query = [
        {
            "key": one["name"],
            "value": MEMBERS.get(one["name"], ""),
            "description": one["description"],
            "disabled": not (one.get("required") or one["name"] in SENT_OPTIONAL),
        }
        for one in operation.get("parameters", ())
        if one["in"] == "query"
    ]
    parameters = "&".join(f"{one['key']}={one['value']}" for one in query if not one["disabled"])
    raw = "{{baseUrl}}/" + "/".join(parts) + (f"?{parameters}" if parameters else "")
    return {"raw": raw, "host": ["{{baseUrl}}"], "path": parts, "query": query}


def body(schema: Mapping[str, Any]) -> dict[str, Any]:
    required = set(schema.get("required", ()))
    return {
        name: MEMBERS[name]
        for name in schema["properties"]
        if name in required or name in SENT_OPTIONAL
    }


def tests(name: str, operation: Mapping[str, Any]) -> list[str]:
    documented = sorted(int(status) for status in operation["responses"] if status != "500")
    lines = [f"const DOCUMENTED = {documented};", *ENVELOPE.splitlines()]
    if operation["operationId"] not in MAY_REFUSE:
        lines.append(EXPECT_SUCCESS)
    return [*lines, *EXTRA_TESTS.get(name, ())]


def collection() -> str:
    made = {
        "info": {"name": "Swaps", "description": ABOUT, "schema": SCHEMA},
        "variable": [{"key": name, "value": value} for name, value in VARIABLES.items()],
        "item": items(),
    }
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    write_or_check({TARGET: collection()})
