"""Names in the address of an order."""

from __future__ import annotations

import pytest

from swap_runtime.operators.admin_routes import OperatorOrder
from swap_settler.forms import WrongForm, read_id

BIGINT_MAX = 2**63 - 1


def an_order(id: str) -> OperatorOrder:
    return OperatorOrder(by="ann", target={"id": id}, body=b"{}")


@pytest.mark.parametrize("text", ["0", "7", "007", "9" * 18])
def test_an_id_is_a_number_that_fits_a_bigint(text: str) -> None:
    assert read_id(an_order(text), of="a balance") == int(text) <= BIGINT_MAX


@pytest.mark.parametrize("text", ["", "-1", "1.0", "x", "\u0661", "9" * 19, "9" * 5000])
def test_invalid_id_of_a_balance_is_refused(text: str) -> None:
    with pytest.raises(WrongForm, match="not the id of a balance"):
        read_id(an_order(text), of="a balance")
