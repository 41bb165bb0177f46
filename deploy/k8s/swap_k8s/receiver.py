"""The sample receiver of webhooks, in the notifier's pod: `python -m swap_k8s.receiver`.

A module of its own: the Jobs start sooner without a web server.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from swap_stack.receiver import make_app

PORT: Final = 8090
SECRET: Final = Path("/run/secrets/webhooks/secret")
RECEIVED: Final = Path("/received/deliveries.jsonl")


class Receiver:
    """Answers 503 until there is a secret to verify with, and follows a change of it."""

    def __init__(self, secret_file: Path, received: Path) -> None:
        self._secret_file = secret_file
        self._received = received
        self._secret = ""
        self._app: ASGIApp = PlainTextResponse("no secret to verify with\n", status_code=503)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._follow_secret()
        await self._app(scope, receive, send)

    def _follow_secret(self) -> None:
        secret = self._secret_file.read_text().strip() if self._secret_file.exists() else ""
        if secret and secret != self._secret:
            self._secret, self._app = secret, make_app(secret, self._received)


def main() -> None:
    uvicorn.run(
        Receiver(SECRET, RECEIVED),
        host="127.0.0.1",
        port=PORT,
        lifespan="off",
        log_level="warning",
        access_log=False,
    )


if __name__ == "__main__":
    main()
