"""Requests that may be sent again with the same idempotency key.

A POST about a swap changes it once anyway; the key repeats the first answer after the state has
moved on. A creation stores its answer with the swap (`swap_api.swaps.usecases.create_swap`). A
management POST creates something with every request: with a key at most once, even if its outcome
is unknown. Secrets are not stored, so an answer with one is not repeated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final
from uuid import UUID, uuid5

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from swap_api.admission.usecases.answer_once import AnswerOnce, StoredAnswer
from swap_api.http.endpoints import MANAGEMENT, Context, Endpoint
from swap_api.http.exchange import exchange_of
from swap_api.http.parameters import id_of
from swap_api.http.requests import Request
from swap_api.http.responses import CollectedResponse, JsonResponse
from swap_api.model.keys import Scope as KeyScope
from swap_api.model.keys import idempotency_owner
from swap_api.model.members import OPERATOR_NAME, Actor
from swap_api.model.refusals import ApiRefusal, Invalid
from swap_contracts.public.errors import ErrorCode

IDEMPOTENCY_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
REPLAYED: Final = "Idempotent-Replayed"
REPLAYED_HEADERS: Final = {REPLAYED: "true when this is the first answer again"}
REFUSALS: Final = (ErrorCode.IDEMPOTENCY_KEY_REUSED, ErrorCode.IDEMPOTENCY_KEY_IN_PROGRESS)
OPERATOR: Final = UUID(int=0)  # owner of the keys of the internal port


def with_idempotency_key(endpoint: Endpoint) -> Endpoint:
    """Make a POST about a swap, or a management POST, idempotent; leave others as they are."""
    is_about_swap = "{swapId}" in endpoint.path
    is_managing = endpoint.path.startswith(MANAGEMENT) and endpoint.scope is not KeyScope.NO_KEY
    if endpoint.method != "POST" or not (is_about_swap or is_managing):
        return endpoint
    headers = {} if endpoint.shows_secret else REPLAYED_HEADERS
    return replace(
        endpoint,
        is_idempotent=True,
        headers={**endpoint.headers, **headers},
    )


def idempotency_refusals(endpoint: Endpoint) -> Sequence[ErrorCode]:
    """Return what an endpoint refuses because of an idempotency key."""
    lost = (ErrorCode.IDEMPOTENCY_ANSWER_NOT_KEPT,) if endpoint.creates else ()
    return (*REFUSALS, *lost) if endpoint.is_idempotent else ()


class IdempotencyKeys:
    """Middleware that answers an idempotency key once, and repeats that answer."""

    def __init__(self, app: ASGIApp, *, endpoint: Endpoint, answer_once: AnswerOnce) -> None:
        self._app = app
        self._endpoint = endpoint
        self._answer_once = answer_once

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        :raises ApiRefusal: when another body used the key, the first request still runs, or its
            answer is not there to be given again.
        """
        exchange = exchange_of(scope)
        request, endpoint, collected = exchange.request, self._endpoint, CollectedResponse()
        key = idempotency_key(request)
        if key is None:
            return await self._app(scope, receive, send)

        async def answer() -> StoredAnswer:
            await self._app(scope, receive, collected)
            swap_id = id_of(request, "swapId") if "swapId" in request.path_params else None
            return StoredAnswer(swap_id, _stored_answer(endpoint, collected.body))

        assert exchange.context is not None
        content = None if endpoint.body is None else _content(await request.json_body())
        request_hash = body_hash(request.path, content)
        replay = await self._answer_once(
            _owner(exchange.context), key, request_hash, answer, creates=endpoint.creates
        )
        if replay is not None:
            return await _again(endpoint, replay.answer)(scope, receive, send)
        return await collected.send_to(send)


def idempotency_key(request: Request) -> str | None:
    """
    :raises Invalid: when it has not the form of one. An empty one would protect nothing.
    """
    key = request.header("idempotency-key")
    if key is None:
        return None
    if not IDEMPOTENCY_KEY.fullmatch(key):
        raise Invalid.field("Idempotency-Key", "must be 1 to 255 visible ASCII characters")
    return key


def body_hash(path: str, content: Any) -> bytes:
    """Hash a request; the order of members and blanks between them do not matter."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return sha256(f"{path}\n{canonical}".encode()).digest()


def _owner(context: Context) -> UUID:
    """Return the owner of the idempotency keys: an app, a client of it, a member or an operator."""
    if context.actor is None:
        return idempotency_owner(context.caller, context.client)
    actor = context.actor
    return actor.member_id or (OPERATOR if actor.name == OPERATOR_NAME else _of_operator(actor))


def _of_operator(actor: Actor) -> UUID:
    return uuid5(OPERATOR, actor.name)


def _stored_answer(endpoint: Endpoint, answer: bytes) -> bytes:
    """Return the stored part of an answer; of one with a secret, the id."""
    if not endpoint.shows_secret:
        return answer
    return orjson.dumps({"id": orjson.loads(answer)["data"]["id"]})


def _again(endpoint: Endpoint, stored: bytes) -> JsonResponse:
    """
    :raises ApiRefusal: when the answer had a secret, or there never was one.
    """
    if not stored:
        raise ApiRefusal(
            ErrorCode.IDEMPOTENCY_ANSWER_NOT_KEPT,
            "The first request with this idempotency key was not answered; look whether it was "
            "done, and ask again with a new key",
        )
    if endpoint.shows_secret:
        raise ApiRefusal(
            ErrorCode.IDEMPOTENCY_ANSWER_NOT_KEPT,
            "The first request with this idempotency key was done, and its secret was shown then; "
            "it is not kept. If it did not arrive, replace what `id` names",
            metadata=orjson.loads(stored),
        )
    return JsonResponse(stored, headers={REPLAYED.lower(): "true"})


def _content(body: bytes) -> Any:
    """Return the body as JSON, or in hex; the endpoint refuses what is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.hex()
