"""Recipients with a meaning in the sandbox are refused on live networks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from api_factories import a_body, a_catalogue_document
from api_harness import Harness, start

from swap_api.model.keys import Environment
from swap_domain.rehearsals import REHEARSED

pytestmark = pytest.mark.connected


@pytest.fixture
async def live(database_url: str, redis_url: str, tmp_path: Path) -> AsyncIterator[Harness]:
    path = tmp_path / "live.yaml"
    path.write_text(json.dumps(a_catalogue_document() | {"environment": "live"}))
    harness = start(database_url, redis_url, path)
    yield harness
    await harness.stop()


@pytest.mark.parametrize("field", ["destination_address", "refund_address"])
async def test_rehearsed_recipients_are_refused_by_a_live_catalogue(
    live: Harness, field: str
) -> None:
    app = await live.an_app(environment=Environment.LIVE)

    refused = await live.create(app, a_body(**{field: REHEARSED + "001"}))
    like_any_other = await live.create(app, a_body(**{field: "0x7357" + "0" * 34 + "0a"}))

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "BLACKLISTED_ADDRESS")
    assert like_any_other.status_code == 200, like_any_other.text


async def test_rehearsed_recipients_are_accepted_by_a_test_catalogue(api: Harness) -> None:
    app = await api.an_app()

    created = await api.create(app, a_body(destination_address=REHEARSED + "001"))

    assert created.status_code == 200, created.text
