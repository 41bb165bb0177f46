"""A notifier's endpoints, kept in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from swap_api.domain.bounds import Bound
from swap_api.domain.refusals import NotFound
from swap_api.management_ports import Part, Window

Row = Mapping[str, Any]
AT = "2026-01-02T03:04:05Z"


class FakeWebhooks:
    def __init__(self) -> None:
        self.endpoints: dict[str, Row] = {}
        self.done: list[tuple[str, str]] = []
        self.said: list[Row] = []
        self.windows: list[Window] = []

    async def list_all(self, app_id: UUID) -> Sequence[Row]:
        return [row for row in self.endpoints.values() if row["app_id"] == str(app_id)]

    async def find(self, endpoint_id: UUID) -> Row:
        if str(endpoint_id) not in self.endpoints:
            raise NotFound
        return self.endpoints[str(endpoint_id)]

    async def add(self, app_id: UUID, asked: Row, *, bound: Bound | None) -> Row:
        row = {
            "id": str(uuid4()),
            "app_id": str(app_id),
            "environment": "test",
            "created_at": AT,
            "enabled_from": AT,
            "disabled_at": None,
            "disabled_reason": None,
            "failing_since": None,
            **asked,
        }
        self.endpoints[row["id"]] = row
        return {**row, "secret": "whsec_test"}

    async def order(self, endpoint_id: UUID, what: str, asked: Row) -> Row:
        self.done.append((str(endpoint_id), what))
        self.said.append(asked)
        match what:
            case "rotate":
                return {"id": str(endpoint_id), "secret": "whsec_new"}
            case "test":
                return {"message_id": "msg_1"}
            case "replay":
                return {"id": str(endpoint_id), "replayed": 0}
            case "remove":
                return {"id": str(endpoint_id), "is_removed": True}
        return {"id": str(endpoint_id), "is_enabled": what == "enable"}

    async def messages(self, endpoint_id: UUID, asked: Row, window: Window) -> Part:
        self.windows.append(window)
        return Part([], 50, has_more=True)

    async def replay(self, endpoint_id: UUID, message_id: str) -> Row:
        self.done.append((str(endpoint_id), "replay"))
        return {"id": message_id, "is_due": True}
