"""The error for an unknown network lists the nearest names."""

from __future__ import annotations

import pytest
from api_factories import a_catalogue

from swap_api.swaps.decide.network_names import unserved_text


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("ETHERUM_DEVNET", "ETHEREUM_DEVNET"),
        ("ethereum", "ETHEREUM_DEVNET"),
        ("BASE_MAINNET", "BASE_DEVNET"),
    ],
)
def test_the_nearest_name_is_listed_first(name: str, first: str) -> None:
    assert unserved_text(a_catalogue(), name).split("nearest ")[1].split()[1].strip(",") == first


def test_a_name_that_resembles_none_is_referred_to_the_list() -> None:
    assert unserved_text(a_catalogue(), "1") == "is not served; GET /api/v2/networks lists what is"
