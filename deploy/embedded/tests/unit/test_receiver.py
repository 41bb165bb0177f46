"""The sample receiver stores messages, and answers 2xx only to genuine ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from starlette.types import ASGIApp
from svix.webhooks import Webhook

from swap_stack.demo.deliveries import read_deliveries
from swap_stack.receiver import make_app

SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
BODY = '{"swap": {"id": "one", "status": "completed"}}'


def client_of(app: ASGIApp) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(transport=transport, base_url="http://receiver")


def signed(body: str) -> dict[str, str]:
    at = datetime.now(UTC)
    signature = Webhook(SECRET).sign("message-1", at, body)
    return {
        "webhook-id": "message-1",
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": signature,
        "webhook-event-type": "swap.completed",
    }


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(make_app(SECRET, tmp_path / "got.jsonl")) as client:
        yield client


async def test_a_genuine_delivery_is_stored_and_accepted(
    client: httpx.AsyncClient,
    tmp_path: Path,
) -> None:
    answer = await client.post("/hooks", content=BODY, headers=signed(BODY))
    assert answer.status_code == 204
    (delivery,) = read_deliveries(tmp_path / "got.jsonl", "one")
    assert delivery.verified
    assert (delivery.status, delivery.event_type) == ("completed", "swap.completed")


@pytest.mark.parametrize("signature", ["v1,AAAA", "no comma", "v1,%%%", ""])
async def test_a_forged_delivery_is_stored_and_refused(
    client: httpx.AsyncClient,
    tmp_path: Path,
    signature: str,
) -> None:
    headers = {**signed(BODY), "webhook-signature": signature}
    answer = await client.post("/hooks", content=BODY, headers=headers)
    assert answer.status_code == 400
    (delivery,) = read_deliveries(tmp_path / "got.jsonl", "one")
    assert not delivery.verified


async def test_a_genuine_delivery_can_be_made_to_fail(tmp_path: Path) -> None:
    app = make_app(SECRET, tmp_path / "got.jsonl", refuses=lambda *_: True)
    async with client_of(app) as client:
        answer = await client.post("/hooks", content=BODY, headers=signed(BODY))
    assert answer.status_code == 500
    (delivery,) = read_deliveries(tmp_path / "got.jsonl", "one")
    assert delivery.verified
