"""The logs lead from an error or a swap to everything about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from swap_contracts.tracing import trace_id_of
from tests.e2e.journey import run_journey
from tests.e2e.outside import FinishedSwap, Route
from tests.plugins.stack import KEY_HEADER, Stack
from tests.support.waiting import until_true_here

Line = Mapping[str, Any]
ROUTE = Route("BASE_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", "25")
WRITERS = {"api", "settler", "notifier", "quoter"}


@pytest.fixture(scope="module")
def done(stack: Stack) -> FinishedSwap:
    return run_journey(stack, ROUTE)


def lines_of(stack: Stack) -> list[Line]:
    """Return every complete line of every service; each must be a JSON object."""
    texts = [
        text
        for service in stack.description["services"]
        for text in stack.places.log(f"{service['name']}-{service['replica']}")
        .read_text()
        .splitlines(keepends=True)
    ]
    lines = [json.loads(text) for text in texts if text.endswith("\n")]
    assert all(isinstance(line, dict) for line in lines)
    return lines


@pytest.mark.each_broker
async def test_one_swap_has_one_trace_in_the_logs_of_all_services(
    stack: Stack, done: FinishedSwap
) -> None:
    def about() -> list[Line]:
        return [line for line in lines_of(stack) if line.get("swap_id") == done.id]

    await until_true_here(
        lambda: {line["service"] for line in about()} >= WRITERS, what="a line of each service"
    )

    assert {line["trace_id"] for line in about()} == {trace_id_of(UUID(done.id))}
    [created] = [line for line in about() if line["event"] == "swap created"]
    assert created["request_id"]
    assert created["route"] == "/api/v2/swaps"


async def test_an_error_is_found_by_the_request_id_of_its_answer(stack: Stack) -> None:
    unknown_id, partner = str(uuid4()), stack.description["partners"][0]
    url = f"{stack.description['gateway']['url']}/api/v2/swaps/{unknown_id}"
    async with httpx.AsyncClient() as client:
        answer = await client.get(url, headers={KEY_HEADER: partner["api_key"]})
    request_id = answer.json()["error"]["metadata"]["request_id"]

    def found() -> list[Line]:
        return [line for line in lines_of(stack) if line.get("request_id") == request_id]

    await until_true_here(found, what="a line with the request id")
    [line] = found()
    assert (line["service"], line["status"], line["swap_id"]) == ("api", 404, unknown_id)
    assert (line["route"], line["app_id"]) == ("/api/v2/swaps/{swapId}", partner["app_id"])
