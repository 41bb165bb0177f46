"""The suite's webhook receiver, at a URL that the deployment can reach."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

from tests.conformance.development import Operator
from tests.conformance.settings import Settings
from tests.conformance.signing import RequirementMissing

POLL_SECONDS: Final = 0.1
PATH: Final = "/hooks"
GONE_PATH: Final = "/gone"
GONE: Final = 410
TEST_EVENT: Final = "webhook.test"
REDIRECT: Final = 307
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
        """Return the signature that Standard Webhooks requires."""
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
        name, moment = self.headers[f"{family}-id"], self.headers[f"{family}-timestamp"]
        signed = f"{name}.{moment}.".encode() + self.body
        return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


class Receiver:
    """Stores every message; answers 204, or the configured status.

    A stack in containers cannot reach this machine. Its receiver writes messages to a file, which
    is read here, and no message can be refused.
    """

    def __init__(self, why_not: str = "") -> None:
        self._why_not = why_not
        self._server: ThreadingHTTPServer | None = None
        self._file: Path | None = None
        self._operator: Operator | None = None
        self._deliveries: list[Delivery] = []
        self.endpoint_id: str | None = None
        self.secrets = [""]  # signing secrets, the newest last
        # The statuses of the next answers to test events, because other messages may arrive in
        # between.
        self.refusals: list[int] = []

    @classmethod
    def open(cls, settings: Settings, operator: Operator | None) -> Receiver:
        host, _, port = (settings.webhook_listen or "").rpartition(":")
        if port:
            receiver = cls()
            receiver._listen(host, int(port))
            receiver.secrets = [settings.webhook_secret or ""]
        elif operator is None:
            receiver = cls(NOT_OPENED)
        elif settings.stack.get("containers"):
            receiver = cls()
            receiver._read(settings, operator)
        else:
            receiver = cls()
            port = receiver._listen("127.0.0.1", 0)
            url = f"http://127.0.0.1:{port}{PATH}"
            receiver.endpoint_id, secret = operator.add_endpoint(url)
            receiver.secrets = [secret]
            receiver._operator = operator
        return receiver

    @property
    def secret(self) -> str:
        return self.secrets[-1]

    def _listen(self, host: str, port: int) -> int:
        server = ThreadingHTTPServer((host, port), _Handler)
        server.receiver = self  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self._server = server
        return server.server_port

    def _read(self, settings: Settings, operator: Operator) -> None:
        webhook = settings.stack["partners"][0]["webhook"]
        self._file = settings.folder / webhook["received"]
        self._operator, self.secrets = operator, [webhook["secret"]]
        self.endpoint_id = operator.endpoint(webhook["url"])

    @property
    def deliveries(self) -> Sequence[Delivery]:
        if self._file is None:
            return list(self._deliveries)
        rows = [json.loads(line) for line in self._file.read_text().splitlines()]
        return [Delivery(row["headers"], base64.b64decode(row["body"])) for row in rows]

    def keep(self, delivery: Delivery) -> int:
        """Return the status of the answer."""
        self._deliveries.append(delivery)
        is_test = delivery.headers.get("webhook-event-type") == TEST_EVENT
        return self.refusals.pop(0) if is_test and self.refusals else 204

    @property
    def gone_url(self) -> str:
        """Return a URL at which every webhook is answered with 410.

        :raises RequirementMissing: where the suite has no receiver.
        """
        return f"http://127.0.0.1:{self.needs_own().server_port}{GONE_PATH}"

    @property
    def operator(self) -> Operator:
        """
        :raises RequirementMissing: where the suite has no operator access.
        """
        if self._operator is None or self.endpoint_id is None:
            raise RequirementMissing(
                self._why_not or "only an operator can do this: give stack.json"
            )
        return self._operator

    def needs_own(self) -> ThreadingHTTPServer:
        """Return the suite's own server.

        :raises RequirementMissing: where webhooks are sent to another receiver, or to none.
        """
        if self._file is not None:
            raise RequirementMissing(
                "a deployment in containers does not reach the suite's own receiver"
            )
        if self._server is None:
            raise RequirementMissing(self._why_not)
        return self._server

    def about(self, swap_id: str, status: str, *, within: float = 20) -> Delivery:
        """Return the delivery with a swap's status.

        :raises RequirementMissing: where no webhook arrived for any swap: the deployment cannot
            reach this machine.
        """
        return self.wait_for(
            lambda one: one.swap_id == swap_id and one.payload["swap"]["status"] == status,
            within=within,
        )[0]

    def wait_for(self, wanted: Any, *, number: int = 1, within: float = 20) -> list[Delivery]:
        if self._server is None and self._file is None:
            raise RequirementMissing(self._why_not)
        ends_at = monotonic() + within
        while True:
            deliveries = self.deliveries
            found = [one for one in deliveries if wanted(one)]
            if len(found) >= number:
                return found
            if monotonic() > ends_at:
                break
            sleep(POLL_SECONDS)
        if not deliveries:
            raise RequirementMissing(
                "no webhook came: the deployment does not reach the suite's receiver"
            )
        raise AssertionError(f"{len(found)} of {number} webhooks came in {within:.0f} s")

    def close(self) -> None:
        if self._server is None:
            return
        if self._operator is not None and self.endpoint_id is not None:
            self._operator.disable_endpoint(self.endpoint_id)
        self._server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        receiver: Receiver = self.server.receiver  # type: ignore[attr-defined]
        headers = {name.lower(): value for name, value in self.headers.items()}
        is_gone = self.path == GONE_PATH
        status = GONE if is_gone else receiver.keep(Delivery(headers, body))
        self.send_response(status)
        if status == REDIRECT:
            self.send_header("Location", self.path)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the report contains it."""
