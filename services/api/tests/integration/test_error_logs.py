"""Every error is in the logs under the request id that its answer carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import pytest
from api_factories import a_body
from api_harness import Harness
from structlog.testing import capture_logs

pytestmark = pytest.mark.connected


def line_of(logs: list[Any], answer: Any) -> Mapping[str, Any]:
    """Return the one line that carries the request id of an answer's error."""
    request_id = answer.json()["error"]["metadata"]["request_id"]
    [line] = [line for line in logs if line.get("request_id") == request_id]
    return dict(line)


class TestErrorLogs:
    async def test_a_refusal_names_route_app_and_swap(self, api: Harness) -> None:
        app, unknown = await api.an_app(), str(uuid4())

        with capture_logs() as logs:
            answer = await api.get(app, f"/swaps/{unknown}")

        line = line_of(logs, answer)
        assert line["event"] == "request refused"
        assert (line["status"], line["code"]) == (404, answer.json()["error"]["code"])
        assert line["route"] == "/api/v2/swaps/{swapId}"
        assert (line["app_id"], line["swap_id"]) == (app.id, unknown)

    async def test_a_refused_creation_names_the_app(self, api: Harness) -> None:
        app = await api.an_app()

        with capture_logs() as logs:
            answer = await api.create(app, a_body(source_token="NOPE"))

        line = line_of(logs, answer)
        assert (line["route"], line["app_id"]) == ("/api/v2/swaps", app.id)
        assert "swap_id" not in line

    async def test_invalid_id_is_not_logged_as_a_swap_id(self, api: Harness) -> None:
        app = await api.an_app()

        with capture_logs() as logs:
            answer = await api.get(app, "/swaps/not-an-id")

        assert "swap_id" not in line_of(logs, answer)
