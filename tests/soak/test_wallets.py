"""Users and operators of the soak when a fault makes a first answer useless."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.e2e.faults.test_kill import pay_claim
from tests.e2e.outside import Outside, Route

SWAP_ID = "s"
TOKEN = {"contract": "0x1"}
APPROVE = {"step": "approve"}
DEPOSIT = {"step": "deposit", "token": TOKEN, "encoded_args": ["id", "token", "receiver", "1"]}
ROUTE = Route("A", "USDC", "B", "USDC", "1")


class Wallet:
    """A wallet without allowances."""

    address = "0x2"

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.allowing = asyncio.Lock()

    async def would_succeed(self, _: Mapping[str, Any]) -> bool:
        return False

    async def fund(self, *actions: Mapping[str, Any]) -> list[str]:
        self.sent += [str(one["step"]) for one in actions]
        return self.sent

    async def receipt(self, sent: str) -> None:
        assert sent == self.sent[-1]


class OperatedStack:
    """A stack with a first order that needs a second operator, because there is no price."""

    def __init__(self) -> None:
        self.claims = [{"id": 1, "swap_id": SWAP_ID, "base_units": "7"}]
        self.orders: list[Mapping[str, Any]] = []

    async def admin(self, _service: str, _path: str) -> Any:
        return {"claimable": list(self.claims)}

    async def order(self, _service: str, _path: str, body: Mapping[str, Any]) -> Any:
        self.orders.append(body)
        if len(self.orders) > 1:
            self.claims.clear()


async def test_a_wallet_reads_the_actions_again_where_its_deposit_would_revert(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outside, wallet = Outside({}, patience=10), Wallet()
    answers: list[Sequence[Mapping[str, Any]]] = [
        [DEPOSIT],
        [DEPOSIT],
        [APPROVE, DEPOSIT],
    ]  # no node was read for the first ones

    class Api:
        async def get(self, _path: str, **_query: Any) -> Sequence[Mapping[str, Any]]:
            return answers.pop(0)

    monkeypatch.setattr(outside, "partner", Api)
    monkeypatch.setattr(outside, "user", lambda _network, _number: wallet)

    await outside.fund({"deposit_actions": [DEPOSIT], "swap": {"id": SWAP_ID}}, ROUTE)

    assert wallet.sent == ["approve", "deposit"]


async def test_a_claim_is_ordered_again_while_its_order_waits_for_approval() -> None:
    stack = OperatedStack()

    await pay_claim(stack, SWAP_ID, "0x3")  # type: ignore[arg-type]

    assert [order["base_units"] for order in stack.orders] == ["7", "7"]
