"""The text for an operator about an executed order, by the service's answer."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse

from swap_dashboard.console.adapters.operator_api import HttpServices
from swap_dashboard.console.domain.sessions import (
    OperatorSession,
    OrderDraft,
    OrderState,
    PendingOrder,
)
from swap_dashboard.console.ports import ServiceName
from swap_dashboard.console.usecases.send_order import PAID_EXTERNALLY, STILL_SIGNED, SendOrder
from tests.support.serving import post, serve

NOW = datetime(2026, 11, 25, tzinfo=UTC)


@pytest.mark.parametrize(
    ("answer", "state", "words"),
    [
        ({"stops": [], "nothing_is_signed": True}, OrderState.DONE, ""),
        ({"stops": [], "nothing_is_signed": False}, OrderState.ACTION_REQUIRED, STILL_SIGNED),
        ({"paid_elsewhere": []}, OrderState.DONE, ""),
        ({"paid_elsewhere": ["1", "2"]}, OrderState.ACTION_REQUIRED, PAID_EXTERNALLY + "1, 2"),
    ],
)
async def test_order_that_needs_a_follow_up_is_not_shown_as_done(
    answer: dict[str, Any], state: OrderState, words: str
) -> None:
    draft = OrderDraft("settler", "/payouts/stop", {}, "Stop signing", [], "/stops")
    order = PendingOrder(uuid4(), draft, NOW)
    session = OperatorSession(uuid4(), "ada", "operator", "token", NOW, NOW, "browser", "::1")

    async def execute(_: Request) -> JSONResponse:
        return JSONResponse(answer)

    async with serve(Starlette(routes=[post("/admin/payouts/stop", execute)])) as url:
        services = HttpServices({ServiceName.SETTLER: url}, answer_seconds=5, order_seconds=5)
        await SendOrder(clock=lambda: NOW)(session, order, services.as_operator("token"))
        await services.close()

    assert (order.state, order.words) == (state, words)
