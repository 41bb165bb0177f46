"""The state of one request; each middleware adds to it."""

from __future__ import annotations

import re
from typing import Final
from uuid import UUID

from starlette.types import Message, Scope, Send

from swap_api.admission.usecases.limit_requests import QuotaState
from swap_api.http.endpoints import Context
from swap_api.http.requests import Request
from swap_api.request_log.decide.records import AnsweredRequest
from swap_api.request_log.decide.redaction import BODY_MAX

REQUEST_ID: Final = "x-request-id"
NOWHERE: Final = "none"

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Exchange:
    """One request with its id, and the headers that its answer will have."""

    def __init__(self, request: Request, request_id: str) -> None:
        self.request = request
        self.request_id = request_id
        self.headers = {REQUEST_ID.encode(): request_id.encode()}
        self.route = NOWHERE
        self.app_id: UUID | None = None
        self.key_id: UUID | None = None  # of the API key, where one let the request in
        self.error_code: str | None = None
        self.context: Context | None = None
        self.status: int | None = None  # of the answer, once it has started

    def add_quota_state(self, quota_state: QuotaState) -> None:
        """Add the headers of the rate limit."""
        self.headers[b"ratelimit-limit"] = b"%d" % quota_state.limit
        self.headers[b"ratelimit-remaining"] = b"%d" % quota_state.remaining
        self.headers[b"ratelimit-reset"] = b"%d" % quota_state.reset_seconds

    def facts(self) -> dict[str, object]:
        """Return the fields of a log line; a swap id only if it is a UUID."""
        facts: dict[str, object] = {"request_id": self.request_id, "route": self.route}
        if self.app_id is not None:
            facts["app_id"] = self.app_id
        swap_id = self.request.path_params.get("swapId", "")
        if _UUID.fullmatch(swap_id):
            facts["swap_id"] = swap_id.lower()
        return facts

    def request_record(self, seconds: float) -> AnsweredRequest | None:
        """Return the record for the log of requests; None for requests without an API key."""
        if self.app_id is None or self.key_id is None or self.status is None:
            return None
        swap_id = self.request.path_params.get("swapId", "")
        body = self.request.received_body
        return AnsweredRequest(
            app_id=self.app_id,
            key_id=self.key_id,
            request_id=self.request_id,
            method=self.request.method,
            route=None if self.route == NOWHERE else self.route,
            status=self.status,
            error_code=self.error_code,
            milliseconds=round(seconds * 1000),
            swap_id=UUID(swap_id) if _UUID.fullmatch(swap_id) else None,
            body=body and body[: BODY_MAX + 1],  # no more is retained until it is saved
        )

    def sending(self, send: Send) -> Send:
        """Return what sends the answer with the headers; those that it has itself stay.

        An answer has each header once.
        """

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                headers = {**self.headers, **dict(message["headers"])}
                message = {**message, "headers": list(headers.items())}
            await send(message)

        return send_with_headers


def exchange_of(scope: Scope) -> Exchange:
    """Return the exchange that `RequestIds` has begun."""
    exchange: Exchange = scope["state"]["exchange"]
    return exchange
