"""A notifier's endpoints in this process. `test_webhooks_contract.py` compares it with one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from swap_api.management.decide.bounds import Bound
from swap_api.management.decide.listing import Part, Window
from swap_api.model.refusals import ApiRefusal, Invalid, NotFound
from swap_contracts.public.errors import ErrorCode

Row = Mapping[str, Any]
AT = "2026-01-02T03:04:05Z"
OPERATOR = "operator"
NEEDS_ENABLED = ("test", "replay")
LISTENER_URL = "listen:"


class FakeWebhooks:
    """Sends nothing: messages wait for ever, and those of a listener have ended."""

    def __init__(self) -> None:
        self.endpoints: dict[str, dict[str, Any]] = {}
        self.sent: dict[str, list[Row]] = {}  # messages by endpoint
        self.refused: set[str] = set()  # URLs that are refused
        self.done: list[tuple[str, str]] = []
        self.orders: list[Row] = []
        self.windows: list[Window] = []

    async def list_all(self, app_id: UUID) -> Sequence[Row]:
        return [row for row in self.endpoints.values() if row["app_id"] == str(app_id)]

    async def find(self, endpoint_id: UUID) -> Row:
        return self._find(endpoint_id)

    def _find(self, endpoint_id: UUID) -> dict[str, Any]:
        if str(endpoint_id) not in self.endpoints:
            raise NotFound
        return self.endpoints[str(endpoint_id)]

    async def add(self, app_id: UUID, settings: Row, *, bound: Bound | None) -> Row:
        if settings["url"] in self.refused:
            raise Invalid("nothing is sent there")
        others = await self.list_all(app_id)
        if bound is not None:
            if any(o["url"] == settings["url"] and _is_stopped(o) for o in others):
                raise _disabled_by_operator()
            if len(others) >= bound.most:
                raise bound.refusal()
        row = {
            "id": str(uuid4()),
            "app_id": str(app_id),
            "environment": "test",
            "created_at": AT,
            "enabled_from": AT,
            "disabled_at": None,
            "disabled_reason": None,
            "failing_since": None,
            "first_delivered_at": None,
            **settings,
        }
        self.endpoints[row["id"]] = row
        return {**row, "secret": f"whsec_{uuid4().hex}"}

    async def order(self, endpoint_id: UUID, what: str, details: Row) -> Row:
        row, id_ = self._find(endpoint_id), str(endpoint_id)
        if what in NEEDS_ENABLED and row["disabled_at"] is not None:
            raise NotFound
        by = details.get("by", OPERATOR)
        if what in ("enable", "remove") and by != OPERATOR and _is_stopped(row):
            raise _disabled_by_operator()
        self.done.append((id_, what))
        self.orders.append(details)
        if what == "events":
            row.update(details)
            return row
        return self._carry_out(row, id_, what, by)

    def _carry_out(self, row: dict[str, Any], id_: str, what: str, by: str) -> Row:
        match what:
            case "rotate":
                return {"id": id_, "secret": f"whsec_{uuid4().hex}"}
            case "test":
                return {"message_id": self._send(id_)}
            case "replay":
                return {"id": id_, "replayed": 0}  # no message has ended
            case "remove":
                del self.endpoints[id_]
                return {"id": id_, "is_removed": True}
        is_enabled = what == "enable"
        changes: Row = {"disabled_at": None, "disabled_reason": None}
        if not is_enabled:
            reason = OPERATOR if _is_stopped(row) else by
            changes = {"disabled_at": AT, "disabled_reason": reason}
        row.update(changes)
        return {"id": id_, "is_enabled": is_enabled}

    def _send(self, endpoint_id: str) -> str:
        is_listener = self.endpoints[endpoint_id]["url"] == LISTENER_URL
        message: Row = {
            "id": f"msg_{uuid4().hex}",
            "swap_id": None,
            "endpoint_id": endpoint_id,
            "sequence": 0,
            "event_type": "webhook.test",
            "state": "discarded" if is_listener else "waiting",
            "attempts": 0,
            "due_at": AT,
            "is_under_way": False,
            "created_at": AT,
            "ended_at": AT if is_listener else None,
            "log": [],
        }
        self.sent.setdefault(endpoint_id, []).append(message)
        return str(message["id"])

    async def messages(self, endpoint_id: UUID, filters: Row, window: Window) -> Part:
        self._find(endpoint_id)
        self.windows.append(window)
        sent = self.sent.get(str(endpoint_id), [])
        if filters.get("oldest_first"):
            sent = [message for message in sent if message["ended_at"] is not None]
        place = window.starting_after
        if place is not None and not str(place).isdecimal():
            raise Invalid.field("starting_after", "is no place of this list")
        begin = window.offset if place is None else int(str(place))
        end = begin + window.limit
        has_more = len(sent) > end
        return Part(
            sent[begin:end], len(sent), has_more=has_more, next=str(end) if has_more else None
        )

    async def message(self, endpoint_id: UUID, message_id: str) -> Row:
        sent = self.sent.get(str(endpoint_id), [])
        found = next((message for message in sent if message["id"] == message_id), None)
        if found is None:
            raise NotFound
        return {**found, "body": "{}"}

    async def figures(self, app_id: UUID, *, since: datetime) -> Sequence[Row]:
        return [
            {
                "endpoint_id": row["id"],
                "since": since.isoformat(),
                "delivered": 0,
                "undelivered": (waiting := len(self.sent.get(row["id"], []))),
                "waiting": waiting,
                "hours": [],
            }
            for row in await self.list_all(app_id)
        ]

    async def messages_of_swap(self, app_id: UUID, swap_id: UUID) -> Sequence[Row]:
        of_app = {row["id"] for row in await self.list_all(app_id)}
        return [
            message
            for endpoint_id, sent in self.sent.items()
            for message in sent
            if endpoint_id in of_app and message["swap_id"] == str(swap_id)
        ]

    async def replay(self, endpoint_id: UUID, message_id: str) -> Row:
        sent = [message["id"] for message in self.sent.get(str(endpoint_id), [])]
        row = self.endpoints.get(str(endpoint_id))
        if message_id not in sent or row is None or row["disabled_at"] is not None:
            raise NotFound
        self.done.append((str(endpoint_id), "replay"))
        return {"id": message_id, "is_due": True}


def _is_stopped(row: Row) -> bool:
    """Whether an operator disabled an endpoint."""
    return bool(row["disabled_reason"] == OPERATOR)


def _disabled_by_operator() -> ApiRefusal:
    return ApiRefusal(ErrorCode.DISABLED_BY_OPERATOR, "an operator disabled it")
