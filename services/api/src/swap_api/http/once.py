"""Requests about a swap that may be sent again with the same idempotency key.

What they do is done once by itself; the key gives the first answer again, where the state has
moved on meanwhile. A creation keeps its answer with the swap, in `swap_api.usecases.create_swap`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from swap_api import observe
from swap_api.domain.refusals import ApiRefusal, Invalid
from swap_api.http.endpoints import Context, Endpoint
from swap_api.http.exchange import Answer, Request
from swap_api.http.parameters import id_of
from swap_api.ports import Claim, Idempotency
from swap_contracts.public.errors import ErrorCode
from swap_runtime.errors import Unavailable

IDEMPOTENCY_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
REPLAYED: Final = "Idempotent-Replayed"
REPLAYED_HEADERS: Final = {REPLAYED: "true when this is the first answer again"}
REFUSALS: Final = (ErrorCode.IDEMPOTENCY_KEY_REUSED, ErrorCode.IDEMPOTENCY_KEY_IN_PROGRESS)


def once(endpoint: Endpoint) -> Endpoint:
    """Let a POST about a swap be answered once; what is no such thing is left as it is."""
    if endpoint.method != "POST" or "{swapId}" not in endpoint.path:
        return endpoint
    return replace(
        endpoint,
        answers_once=True,
        refuses=(*endpoint.refuses, *REFUSALS),
        headers={**endpoint.headers, **REPLAYED_HEADERS},
    )


class AnswerOnce:
    def __init__(self, idempotency: Idempotency, *, new_id: Callable[[], UUID]) -> None:
        self._idempotency = idempotency
        self._new_id = new_id

    async def __call__(self, endpoint: Endpoint, request: Request, context: Context) -> Answer:
        """Answer, or give the first answer again.

        :raises ApiRefusal: when another body used the key, or the first request still runs.
        """
        key = idempotency_key(request)
        if key is None or not endpoint.answers_once:
            return await endpoint.handler(request, context)
        swap_id = id_of(request, "swapId")
        body = _content(await request.json_body())
        claim = Claim(context.caller.app_id, key, body_hash(request.path, body), self._new_id())
        replay = await self._idempotency.claim(claim)
        if replay is not None:
            observe.answer_replayed()
            return Answer(replay.answer, headers={REPLAYED.lower(): "true"})
        try:
            answer = await endpoint.handler(request, context)
        except (ApiRefusal, Unavailable):
            await self._idempotency.release(claim)
            raise
        await self._idempotency.save(claim, swap_id, answer.body)
        return answer


def idempotency_key(request: Request) -> str | None:
    """
    :raises Invalid: when it has not the form of one.
    """
    key = request.header("idempotency-key")
    if not key:
        return None
    if not IDEMPOTENCY_KEY.fullmatch(key):
        raise Invalid.field("Idempotency-Key", "must be 1 to 255 visible ASCII characters")
    return key


def body_hash(path: str, content: Any) -> bytes:
    """Hash what was asked: the order of members and the space between them do not matter."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return sha256(f"{path}\n{canonical}".encode()).digest()


def _content(body: bytes) -> Any:
    """Return the body as JSON; what is none is refused by whoever reads it."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.hex()
