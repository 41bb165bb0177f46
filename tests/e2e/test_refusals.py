"""Every refusal has the error envelope, with a code from the catalogue of errors.

An idempotency key replays the first answer, and refuses another order.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from swap_contracts.public.errors import ERRORS, ErrorCode
from swap_contracts.public.models import ApiErrorModel
from tests.e2e.outside import Outside, new_address

ORDER: dict[str, Any] = {
    "source_network": "ETHEREUM_DEVNET",
    "source_token": "ETH",
    "destination_network": "BASE_DEVNET",
    "destination_token": "ETH",
    "destination_address": new_address(),
    "amount": "0.5",
    "use_depository": True,
}
# What is changed of the order, and the error.
REFUSED: tuple[tuple[dict[str, Any], ErrorCode], ...] = (
    ({"source_network": "NOWHERE"}, ErrorCode.ROUTE_NOT_FOUND_ERROR),
    ({"destination_token": "SHELLS"}, ErrorCode.ROUTE_NOT_FOUND_ERROR),
    ({"destination_network": "ETHEREUM_DEVNET"}, ErrorCode.ROUTE_NOT_FOUND_ERROR),
    ({"amount": "0"}, ErrorCode.LESS_THAN_MIN_ERROR),
    ({"amount": "0.00000001"}, ErrorCode.LESS_THAN_MIN_ERROR),
    ({"amount": "1000000"}, ErrorCode.GREATER_THAN_MAX_ERROR),
    ({"amount": "NaN"}, ErrorCode.VALIDATION_ERROR),
    ({"amount": "-1"}, ErrorCode.VALIDATION_ERROR),
    ({"amount": "1e400"}, ErrorCode.VALIDATION_ERROR),
    ({"amount": None}, ErrorCode.VALIDATION_ERROR),
    ({"destination_address": "0x1234"}, ErrorCode.INVALID_ADDRESS_ERROR),
    ({"refund_address": "nobody"}, ErrorCode.INVALID_ADDRESS_ERROR),
    ({"slippage": "0.8"}, ErrorCode.VALIDATION_ERROR),
)
UNKNOWN_SWAP = "6f0e7a52-5a07-4d5a-9f0e-0f5b7b2a9c11"


def refusal(answer: httpx.Response, code: ErrorCode) -> ApiErrorModel:
    """Return the error of an answer, after a check of its form and code."""
    body = answer.json()
    assert set(body) == {"error", "data"}
    assert body["data"] is None
    error = TypeAdapter(ApiErrorModel).validate_python(body["error"], strict=True)
    assert error.code == code, answer.text
    assert answer.status_code == ERRORS[code].http_status
    assert error.message
    assert error.metadata["request_id"]
    assert error.metadata["doc_url"]
    return error


class TestRefusedOrders:
    @pytest.mark.parametrize(("changed", "code"), REFUSED)
    async def test_name_what_is_wrong(
        self, outside: Outside, changed: dict[str, Any], code: ErrorCode
    ) -> None:
        answer = await outside.partner().ask("POST", "/swaps", json={**ORDER, **changed})

        refusal(answer, code)

    async def test_say_the_limit(self, outside: Outside) -> None:
        answer = await outside.partner().ask("POST", "/swaps", json={**ORDER, "amount": "1000000"})

        error = refusal(answer, ErrorCode.GREATER_THAN_MAX_ERROR)
        assert float(error.metadata["AmountLimit"]) > 0

    async def test_of_two_funding_methods_at_once(self, outside: Outside) -> None:
        both = {**ORDER, "use_deposit_address": True}

        answer = await outside.partner().ask("POST", "/swaps", json=both)

        refusal(answer, ErrorCode.CONFLICTING_FUNDING_METHODS)

    async def test_make_no_swap(self, outside: Outside) -> None:
        order, partner = {**ORDER, "destination_address": new_address()}, outside.partner()

        for changed, code in REFUSED:
            refusal(await partner.ask("POST", "/swaps", json={**order, **changed}), code)

        assert await partner.get("/swaps", address=order["destination_address"]) == []


class TestEnvelope:
    async def test_is_there_without_a_key(self, outside: Outside) -> None:
        answer = await outside.partner(None).ask("GET", "/networks")

        refusal(answer, ErrorCode.API_KEY_REQUIRED)

    async def test_is_there_with_a_wrong_key(self, outside: Outside) -> None:
        headers = {"X-SVC-APIKEY": "svc_test_" + 64 * "0"}

        answer = await outside.partner(None).ask("GET", "/networks", headers=headers)

        refusal(answer, ErrorCode.API_KEY_FORBIDDEN)

    @pytest.mark.parametrize(
        ("method", "path", "code"),
        [
            ("GET", "/nothing", ErrorCode.NOT_FOUND),
            ("DELETE", "/networks", ErrorCode.METHOD_NOT_ALLOWED),
            ("GET", f"/swaps/{UNKNOWN_SWAP}", ErrorCode.NOT_FOUND),
            ("GET", f"/swaps/{UNKNOWN_SWAP}/deposit_actions", ErrorCode.NOT_FOUND),
            ("GET", f"/swaps/by_transaction_hash/0x{64 * '0'}", ErrorCode.NOT_FOUND),
            ("GET", "/swaps/not-an-id", ErrorCode.VALIDATION_ERROR),
            ("GET", "/swaps?page=0", ErrorCode.VALIDATION_ERROR),
            ("GET", "/networks?network_types=bicycle", ErrorCode.VALIDATION_ERROR),
            ("GET", "/quote", ErrorCode.VALIDATION_ERROR),
        ],
    )
    async def test_is_there_wherever_one_asks(
        self, outside: Outside, method: str, path: str, code: ErrorCode
    ) -> None:
        refusal(await outside.partner().ask(method, path), code)

    async def test_is_there_for_what_is_no_json(self, outside: Outside) -> None:
        headers = {"Content-Type": "application/json"}

        answer = await outside.partner().ask("POST", "/swaps", content=b"{", headers=headers)

        refusal(answer, ErrorCode.VALIDATION_ERROR)

    async def test_is_there_for_another_media_type(self, outside: Outside) -> None:
        headers = {"Content-Type": "text/plain"}

        answer = await outside.partner().ask("POST", "/swaps", content=b"{}", headers=headers)

        refusal(answer, ErrorCode.UNSUPPORTED_MEDIA_TYPE)

    async def test_is_there_for_too_long_a_body(self, outside: Outside) -> None:
        long = {**ORDER, "reference_id": "x" * 2_000_000}

        refusal(
            await outside.partner().ask("POST", "/swaps", json=long), ErrorCode.PAYLOAD_TOO_LARGE
        )


class TestIdempotency:
    async def test_gives_the_first_answer_again(self, outside: Outside) -> None:
        order = {**ORDER, "destination_address": new_address()}
        headers = {"Idempotency-Key": f"again-{order['destination_address']}"}
        partner = outside.partner()

        first = await partner.ask("POST", "/swaps", json=order, headers=headers)
        second = await partner.ask("POST", "/swaps", json=order, headers=headers)
        other = await partner.ask("POST", "/swaps", json=ORDER, headers=headers)

        assert first.status_code == second.status_code == 200
        assert first.content == second.content
        assert second.headers["idempotent-replayed"] == "true"
        refusal(other, ErrorCode.IDEMPOTENCY_KEY_REUSED)
