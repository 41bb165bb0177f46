"""A webhook receiver of the suite's own, opened where the deployment can reach it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic, sleep
from typing import Any, Final

from tests.conformance.development import Operator
from tests.conformance.settings import Settings
from tests.conformance.signing import Lacking

POLL_SECONDS: Final = 0.1
SECRET_PREFIX: Final = "whsec_"
NOT_OPENED: Final = (
    "no webhook can come: give CONFORMANCE_WEBHOOK_LISTEN and _SECRET, or stack.json"
)


@dataclass(frozen=True, slots=True)
class Delivery:
    headers: Mapping[str, str]
    body: bytes

    @property
    def payload(self) -> Mapping[str, Any]:
        return dict(json.loads(self.body))

    @property
    def swap_id(self) -> str:
        return str(self.payload["swap"]["id"])

    def signatures(self, family: str) -> list[str]:
        return self.headers.get(f"{family}-signature", "").split()

    def expected_signature(self, secret: str, family: str) -> str:
        """Return what Standard Webhooks has a sender sign with."""
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
        name, moment = self.headers[f"{family}-id"], self.headers[f"{family}-timestamp"]
        signed = f"{name}.{moment}.".encode() + self.body
        return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


class Receiver:
    """Keeps everything that is sent; answers 204, or what it is told to."""

    def __init__(self, server: ThreadingHTTPServer | None, why_not: str = "") -> None:
        self._server = server
        self._why_not = why_not
        self._operator: Operator | None = None
        self.endpoint_id: str | None = None
        self.secret = ""
        self.deliveries: list[Delivery] = []
        self.refusals: list[int] = []  # statuses of the next answers

    @classmethod
    def open(cls, settings: Settings, operator: Operator | None) -> Receiver:
        host, _, port = (settings.webhook_listen or "").rpartition(":")
        if not port and operator is None:
            return cls(None, NOT_OPENED)
        server = ThreadingHTTPServer((host or "127.0.0.1", int(port or 0)), _Handler)
        receiver = cls(server)
        server.receiver = receiver  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        if settings.webhook_secret is not None:
            receiver.secret = settings.webhook_secret
        elif operator is not None:
            receiver._register(operator)
        return receiver

    def _register(self, operator: Operator) -> None:
        assert self._server is not None
        url = f"http://127.0.0.1:{self._server.server_port}/hooks"
        self.endpoint_id, self.secret = operator.add_endpoint(url)
        self._operator = operator

    @property
    def operator(self) -> Operator:
        """
        :raises Lacking: where the suite may not do what operators do.
        """
        if self._operator is None or self.endpoint_id is None:
            raise Lacking(self._why_not or "only an operator can do this: give stack.json")
        return self._operator

    def about(self, swap_id: str, status: str, *, within: float = 20) -> Delivery:
        """Return the delivery that says a swap's status.

        :raises Lacking: where nothing was heard of any swap: the deployment cannot reach us.
        """
        return self.wait_for(
            lambda one: one.swap_id == swap_id and one.payload["swap"]["status"] == status,
            within=within,
        )[0]

    def wait_for(self, wanted: Any, *, number: int = 1, within: float = 20) -> list[Delivery]:
        if self._server is None:
            raise Lacking(self._why_not)
        ends_at = monotonic() + within
        while True:
            found = [one for one in list(self.deliveries) if wanted(one)]
            if len(found) >= number:
                return found
            if monotonic() > ends_at:
                break
            sleep(POLL_SECONDS)
        if not self.deliveries:
            raise Lacking("no webhook came: the deployment does not reach the suite's receiver")
        raise AssertionError(f"{len(found)} of {number} webhooks came in {within:.0f} s")

    def close(self) -> None:
        if self._operator is not None and self.endpoint_id is not None:
            self._operator.disable_endpoint(self.endpoint_id)
        if self._server is not None:
            self._server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        receiver: Receiver = self.server.receiver  # type: ignore[attr-defined]
        headers = {name.lower(): value for name, value in self.headers.items()}
        receiver.deliveries.append(Delivery(headers, body))
        self.send_response(receiver.refusals.pop(0) if receiver.refusals else 204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the report does."""
