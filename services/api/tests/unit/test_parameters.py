"""What is answered to values that a request may not have."""

from __future__ import annotations

from typing import Any

import pytest

from swap_api.http.json_body import decode_object
from swap_api.http.parameters import ListParameters, SwapBody, parse_body, parse_query
from swap_api.model.refusals import Invalid

ROUTE = {
    "source_network": "ETHEREUM_DEVNET",
    "source_token": "ETH",
    "destination_network": "BASE_DEVNET",
    "destination_token": "ETH",
    "destination_address": "0x1",
}


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"amount": True}, "amount: must be a number, or text of one"),
        ({"amount": ["1"]}, "amount: must be a number, or text of one"),
        ({"reference_id": "x" * 257}, "reference_id: has more than 256 characters"),
        ({"source_token": 5}, "source_token: must be text"),
    ],
)
def test_a_member_of_another_kind_is_refused_by_its_name(values: dict[str, Any], text: str) -> None:
    with pytest.raises(Invalid, match=f"^{text}$"):
        parse_body(SwapBody, {**ROUTE, **values})


def test_amounts_of_json_are_digits() -> None:
    content = decode_object(b'{"amount": 25.50}')

    body, _ = parse_body(SwapBody, {**ROUTE, **content})

    assert body.amount == "25.50"


def test_a_page_before_the_first_is_refused() -> None:
    with pytest.raises(Invalid, match="page: must be at least 1"):
        parse_query(ListParameters, [("page", "0")])
