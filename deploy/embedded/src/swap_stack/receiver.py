"""A webhook receiver that does what receivers must: verify, keep, then say so.

    WEBHOOK_SECRET=whsec_… RECEIVED=deliveries.jsonl python -m swap_stack.receiver --port 8080

It writes one JSON line per delivery (`at`, `headers`, `body` in base64, `verified`) and answers
2xx only once the line is on disk. Deliveries may come twice or out of order: a real receiver
looks at `webhook-id` and `swap.metadata.sequence` before it acts.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from svix.webhooks import Webhook


def is_genuine(webhook: Webhook, body: bytes, headers: dict[str, str]) -> bool:
    try:
        webhook.verify(body, headers)
    except Exception:  # a malformed signature raises more than one kind of error
        return False
    return True


def refuses_nothing(_message_id: str, _content: Mapping[str, Any]) -> bool:
    return False


def make_app(
    secret: str,
    received: Path,
    *,
    refuses: Callable[[str, Mapping[str, Any]], bool] = refuses_nothing,
    beside: Sequence[BaseRoute] = (),
) -> Starlette:
    """Return the application; every delivery is appended to `received`.

    :param refuses: whether a genuine delivery, by its id and content, is answered with 500.
    :param beside: what else is served there.
    """
    webhook = Webhook(secret)

    async def receive(request: Request) -> Response:
        body = await request.body()
        headers = dict(request.headers)
        verified = is_genuine(webhook, body, headers)
        append(
            received,
            {
                "at": datetime.now(UTC).isoformat(),
                "headers": headers,
                "body": base64.b64encode(body).decode(),
                "verified": verified,
            },
        )
        if not verified:
            return Response(status_code=400)
        failed = refuses(headers["webhook-id"], orjson.loads(body))
        return Response(status_code=500 if failed else 204)

    return Starlette(routes=[Route("/hooks", receive, methods=["POST"]), *beside])


def append(path: Path, delivery: dict[str, object]) -> None:
    """Add one line and wait until it is on disk."""
    with path.open("ab") as file:
        file.write(orjson.dumps(delivery) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def main() -> None:
    received = Path(os.environ["RECEIVED"])
    received.parent.mkdir(parents=True, exist_ok=True)
    port = int(sys.argv[sys.argv.index("--port") + 1])
    app = make_app(os.environ["WEBHOOK_SECRET"], received)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
