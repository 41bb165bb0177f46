"""The OpenAPI document, made by FastAPI from the table of endpoints and the public models.

FastAPI describes and does not serve: it would cost more time per request than everything else
together. It is loaded where the document is made, which is not where it is served.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Final, Generic, TypeVar, get_args

from pydantic import BaseModel

from swap_api.http.descriptions import (
    ABOUT,
    ANY_TAG,
    ENDPOINTS,
    PARAMETERS,
    TAGS,
    WEBHOOK,
    WEBHOOKS,
)
from swap_api.http.endpoints import API, Endpoint
from swap_api.http.errors import Errors
from swap_api.http.examples import LIVE_EXAMPLES, example_of, refusal_example
from swap_api.http.idempotent_requests import REPLAYED, idempotency_refusals
from swap_api.http.request_schemas import body_of, query_of
from swap_api.http.shipped_openapi import TOKEN_SCHEME, finish_document
from swap_api.http.unknown_names import IGNORED_BYTES_MAX
from swap_api.model.keys import Scope
from swap_contracts.public.errors import ERRORS, ErrorCode
from swap_contracts.public.models import ApiErrorModel
from swap_contracts.public.webhooks import PUSHED

Data = TypeVar("Data")
ALWAYS: Final = (
    ErrorCode.VALIDATION_ERROR,
    ErrorCode.RATE_LIMITED,
    ErrorCode.UNEXPECTED_ERROR,
    ErrorCode.SERVICE_UNAVAILABLE,
)
OF_BODY: Final = (ErrorCode.PAYLOAD_TOO_LARGE, ErrorCode.UNSUPPORTED_MEDIA_TYPE)
BY_KEY: Final = (ErrorCode.API_KEY_REQUIRED, ErrorCode.API_KEY_FORBIDDEN)
BY_TOKEN: Final = (ErrorCode.ACCESS_TOKEN_REQUIRED, ErrorCode.ACCESS_TOKEN_FORBIDDEN)
# Refusals that depend on the caller.
BY_SCOPE: Final = {
    Scope.ANY: BY_KEY,
    Scope.SECRET: BY_KEY,
    Scope.NO_KEY: (),
    Scope.PAY_LINK: (),
    Scope.MEMBER: BY_TOKEN,
    Scope.SELF: BY_TOKEN,
}
ALLOWED_CALLERS: Final = {
    Scope.ANY: "Any key opens it.",
    Scope.SECRET: "Needs a secret key.",
    Scope.NO_KEY: "Needs no key.",
    Scope.PAY_LINK: "Needs no key.",
    Scope.MEMBER: "Needs a member's access token.",
    Scope.SELF: "Needs a member's access token.",
}
PATH_VALUES: Final = {
    "swapId": {"type": "string", "format": "uuid"},
    "transactionHash": {"type": "string"},
    "organizationId": {"type": "string", "format": "uuid"},
    "appId": {"type": "string", "format": "uuid"},
    "keyId": {"type": "string", "format": "uuid"},
    "memberId": {"type": "string", "format": "uuid"},
    "invitationId": {"type": "string", "format": "uuid"},
    "tokenId": {"type": "string", "format": "uuid"},
    "webhookId": {"type": "string", "format": "uuid"},
    "messageId": {"type": "string"},
}
CONTACT: Final = {
    "name": "The operator of this deployment",
    "url": "https://swaps.example",
    "email": "swaps@swaps.example",
}
LICENSE: Final = {"name": "MIT", "url": "https://opensource.org/license/mit"}
JSON: Final = "application/json"
UNCHANGED: Final = {"description": "The answer is the one that `If-None-Match` names."}
IF_NONE_MATCH: Final = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The `ETag` of an earlier answer: the same one again is 304, without a body",
}
LAST_EVENT: Final = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The `id` of the last event that was received: only what came after it, live",
}
STREAM: Final = "text/event-stream"
IDEMPOTENCY_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "description": "The same key and body give the first answer again for 24 hours",
}
MADE_ONCE: Final = (
    "The same key and body make nothing a second time for 24 hours: 409, with the `id` of what was "
    "made, for its secret is shown once"
)
SIGNED: Final = {
    "id": "The message: the same in every attempt",
    "timestamp": "When this attempt was made, in Unix seconds",
    "signature": "`v1,` and a signature, one for each secret that is valid now",
}
IGNORED_NAME: Final = "X-Ignored"
IGNORED_HEADER: Final = {
    "description": "Unknown members and query parameters that were ignored; absent without any",
    "schema": {"type": "string", "maxLength": IGNORED_BYTES_MAX},
    "example": "colour, app_name",
}
# Both families have the same content; receivers read the one that they support.
WEBHOOK_HEADERS: Final = {
    "webhook-event-type": "What happened",
    **{f"{family}-{what}": text for family in ("webhook", "svix") for what, text in SIGNED.items()},
}


class ErrorEnvelope(BaseModel):
    """What every refusal looks like."""

    data: None
    error: ApiErrorModel


class ErrorAlone(BaseModel):
    """The answer without data."""

    error: None


class Envelope(BaseModel, Generic[Data]):
    """What every answer looks like."""

    data: Data
    error: None


def openapi_document(
    endpoints: Sequence[Endpoint], *, key_headers: Sequence[str], version: str
) -> bytes:
    """Return the document of OpenAPI 3.1 as JSON, made from the endpoints."""
    from fastapi import FastAPI  # noqa: PLC0415  loaded when it is first needed

    app = FastAPI(
        title="Swap API",
        version=version,
        summary="Swaps between networks, funded by the user, paid out by the service",
        description=ABOUT,
        license_info=LICENSE,
        openapi_url=None,
    )
    for endpoint in endpoints:
        _describe(app, endpoint)
    _describe_webhooks(app)
    document = app.openapi()
    document["info"]["contact"] = CONTACT
    document["components"]["headers"] = {IGNORED_NAME: IGNORED_HEADER}
    document["tags"] = _tags(document)
    _show_examples(document, endpoints)
    document["servers"] = [{"url": "/"}]
    return finish_document(document, key_headers=key_headers, version=version)


def _describe(app: Any, endpoint: Endpoint) -> None:
    async def endpoint_stub() -> None:
        raise NotImplementedError

    app.add_api_route(
        endpoint.path,
        endpoint_stub,
        methods=[endpoint.method],
        operation_id=_operation_id(endpoint),
        summary=endpoint.summary,
        tags=[endpoint.path.removeprefix(API).split("/")[1]],
        description=_prose(endpoint),
        response_model=_envelope(endpoint),
        responses=_answers(endpoint),
        openapi_extra=_extra(endpoint),
    )


def refusals_of(endpoint: Endpoint) -> Mapping[int, Sequence[ErrorCode]]:
    """Return what an endpoint refuses with, by HTTP status."""
    by_status: dict[int, list[ErrorCode]] = {}
    of_body = () if endpoint.body is None else OF_BODY
    of_name = (ErrorCode.NOT_FOUND,) if endpoint.names_owned else ()
    of_key = idempotency_refusals(endpoint)
    own = (*of_name, *endpoint.refuses, *of_body, *of_key)
    for code in dict.fromkeys((*ALWAYS, *BY_SCOPE[endpoint.scope], *own)):
        by_status.setdefault(ERRORS[code].http_status, []).append(code)
    return by_status


def _envelope(endpoint: Endpoint) -> Any:
    if endpoint.answers is NoneType:
        return ErrorAlone
    return Envelope.__class_getitem__(endpoint.answers)


def _answers(endpoint: Endpoint) -> dict[int | str, dict[str, Any]]:
    refusals: dict[int | str, dict[str, Any]] = {
        status: {
            "model": ErrorEnvelope,
            "description": " ".join(f"`{code}`: {ERRORS[code].meaning}" for code in codes),
        }
        for status, codes in refusals_of(endpoint).items()
    }
    headers: dict[str, dict[str, Any]] = {
        name: {"description": meaning, "schema": {"type": "string"}}
        for name, meaning in endpoint.headers.items()
    }
    headers[IGNORED_NAME] = {"$ref": f"#/components/headers/{IGNORED_NAME}"}
    success: dict[str, Any] = {"description": "What was asked for.", "headers": headers}
    if endpoint.is_conditional:
        headers["ETag"] = {"description": "Names this answer", "schema": {"type": "string"}}
    if endpoint.is_live:
        example = LIVE_EXAMPLES[endpoint.answers]
        success["content"] = {STREAM: {"schema": {"type": "string"}, "example": example}}
    if endpoint.is_conditional:
        refusals[304] = dict(UNCHANGED)
    return {200: success, **refusals}


def _refusal_examples(codes: Sequence[ErrorCode]) -> dict[str, Any]:
    errors = Errors()
    return {
        code.value: {
            "summary": ERRORS[code].meaning,
            "value": refusal_example(code, errors.doc_url(code)),
        }
        for code in codes
    }


def _show_examples(document: dict[str, Any], endpoints: Sequence[Endpoint]) -> None:
    """Put an example to every answer. FastAPI would leave out every null in it."""
    for endpoint in endpoints:
        answers = document["paths"][endpoint.path][endpoint.method.lower()]["responses"]
        has_data = endpoint.answers is not NoneType
        content = answers["200"]["content"][JSON]
        if isinstance(endpoint.answers, UnionType):
            content["examples"] = _examples_of_each(endpoint.answers)
        else:
            data = {"data": example_of(endpoint.answers)} if has_data else {}
            content["example"] = {**data, "error": None}
        for status, codes in refusals_of(endpoint).items():
            answers[str(status)]["content"][JSON]["examples"] = _refusal_examples(codes)
    for name, operations in document["webhooks"].items():
        operations["post"]["requestBody"]["content"][JSON]["example"] = example_of(PUSHED[name])


def _examples_of_each(answers: UnionType) -> dict[str, Any]:
    return {
        model.__name__.removesuffix("Model"): {
            "summary": model.__doc__,
            "value": {"data": example_of(model), "error": None},
        }
        for model in get_args(answers)
    }


def _operation_id(endpoint: Endpoint) -> str:
    """Return the declared id, or the handler's name: `swap_read` of `SwapEndpoints.read`."""
    if endpoint.operation:
        return endpoint.operation
    group, _, name = endpoint.handler.__qualname__.rpartition(".")
    return f"{group.removesuffix('Endpoints').lower()}_{name}"


def _prose(endpoint: Endpoint) -> str:
    text = ENDPOINTS.get(f"{endpoint.method} {endpoint.path}", f"{endpoint.summary}.")
    return f"{text} {ALLOWED_CALLERS[endpoint.scope]}"


def _tags(document: Mapping[str, Any]) -> list[dict[str, str]]:
    used = {
        tag
        for part in ("paths", "webhooks")
        for operations in document[part].values()
        for operation in operations.values()
        for tag in operation["tags"]
    }
    order = [*TAGS, *sorted(used - TAGS.keys())]  # the reference opens with the first
    return [{"name": tag, "description": TAGS.get(tag, ANY_TAG)} for tag in order if tag in used]


def _describe_webhooks(app: Any) -> None:
    """Add the webhooks: one entry for each type, all signed in the same way."""
    for name, model in PUSHED.items():

        async def webhook_stub(body: Any) -> None:
            raise NotImplementedError

        webhook_stub.__annotations__["body"] = model
        extra = {
            "parameters": _webhook_headers(),
            "security": [],
        }
        app.webhooks.add_api_route(
            name,
            webhook_stub,
            methods=["POST"],
            operation_id=f"{name.replace('.', '_')}_event",
            summary=f"`{name}`",
            description=WEBHOOKS.get(name, WEBHOOK),
            tags=["webhooks"],
            status_code=204,
            responses={
                204: {"description": "Written down; it is not sent again."},
                400: {"description": "Not genuine. It is sent again later, as after any failure."},
                410: {"description": "Send nothing more: the endpoint is disabled."},
            },
            openapi_extra=extra,
        )


def _webhook_headers() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "header",
            "required": True,
            "description": meaning,
            "schema": {"type": "string"},
        }
        for name, meaning in WEBHOOK_HEADERS.items()
    ]


def _extra(endpoint: Endpoint) -> dict[str, Any]:
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": PARAMETERS[name],
            "schema": schema,
        }
        for name, schema in PATH_VALUES.items()
        if f"{{{name}}}" in endpoint.path
    ]
    if endpoint.query is not None:
        parameters += query_of(endpoint.query)
    extra: dict[str, Any] = {"parameters": [*parameters, *_headers(endpoint)]}
    if endpoint.scope in (Scope.NO_KEY, Scope.PAY_LINK):
        extra["security"] = []
    elif endpoint.scope in (Scope.MEMBER, Scope.SELF):
        extra["security"] = [{TOKEN_SCHEME: []}]
    if endpoint.body is not None:
        extra["requestBody"] = {"required": True, "content": {JSON: body_of(endpoint.body)}}
    return extra


def _headers(endpoint: Endpoint) -> Iterator[Mapping[str, Any]]:
    """Yield the headers of a request that mean something."""
    if endpoint.is_conditional:
        yield IF_NONE_MATCH
    if endpoint.is_live:
        yield LAST_EVENT
    if endpoint.shows_secret and endpoint.is_idempotent:
        yield {**IDEMPOTENCY_KEY, "description": MADE_ONCE}
    elif REPLAYED in endpoint.headers:
        yield IDEMPOTENCY_KEY
