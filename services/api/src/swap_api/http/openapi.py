"""The OpenAPI document, made by FastAPI from the table of endpoints and the public models.

FastAPI describes and does not serve: it would cost more time per request than everything else
together. It is loaded when the document is first asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Generic, TypeVar

import orjson
from pydantic import BaseModel

from swap_api.domain.keys import Scope
from swap_api.http.endpoints import API, Endpoint, Endpoints
from swap_api.http.parameters import Parameters
from swap_contracts.public.errors import ERRORS, ErrorCode
from swap_contracts.public.models import ApiErrorModel

Data = TypeVar("Data")
KEYED: Final = (
    ErrorCode.VALIDATION_ERROR,
    ErrorCode.API_KEY_REQUIRED,
    ErrorCode.API_KEY_FORBIDDEN,
    ErrorCode.RATE_LIMITED,
    ErrorCode.UNEXPECTED_ERROR,
)
WHO_MAY: Final = {
    Scope.ANY: "Any key opens it.",
    Scope.SECRET: "Needs a secret key.",
    Scope.NOBODY: "Needs no key.",
}
PATH_VALUES: Final = {
    "swapId": {"type": "string", "format": "uuid"},
    "transactionHash": {"type": "string"},
}
ERROR_EXAMPLE: Final = {
    "data": None,
    "error": {
        "code": "VALIDATION_ERROR",
        "message": "amount: must be a number",
        "metadata": {
            "field_errors": {"amount": "must be a number"},
            "request_id": "0c7e8f0a5c1b4b0f9d0c3a4e8a1d2f6b",
            "doc_url": "/docs/errors#validation-error",
        },
    },
}


class ErrorEnvelope(BaseModel):
    """What every refusal looks like."""

    data: None
    error: ApiErrorModel


class Envelope(BaseModel, Generic[Data]):
    """What every answer looks like."""

    data: Data
    error: None


def openapi_document(endpoints: Endpoints, *, key_headers: Sequence[str], version: str) -> bytes:
    """Return the document of OpenAPI 3.1 as JSON."""
    from fastapi import FastAPI  # noqa: PLC0415  loaded when it is first needed

    app = FastAPI(
        title="Swap API",
        version=version,
        description="Moves value between networks. Every answer is an envelope of data and error.",
        openapi_url=None,
    )
    for endpoint in endpoints.all:
        _describe(app, endpoint)
    document = app.openapi()
    schemes = {
        f"ApiKey{n or ''}": {"type": "apiKey", "in": "header", "name": name}
        for n, name in enumerate(key_headers)
    }
    document["components"]["securitySchemes"] = schemes
    document["security"] = [{name: []} for name in schemes]
    document["servers"] = [{"url": "/"}]
    return orjson.dumps(document)


def _describe(app: Any, endpoint: Endpoint) -> None:
    async def described() -> None:
        raise NotImplementedError

    app.add_api_route(
        endpoint.path,
        described,
        methods=[endpoint.method],
        operation_id=endpoint.handler.__name__,
        summary=endpoint.summary,
        tags=[endpoint.path.removeprefix(API).split("/")[1]],
        description=WHO_MAY[endpoint.scope],
        response_model=Envelope.__class_getitem__(endpoint.answers),
        responses=_refusals(endpoint),
        openapi_extra=_extra(endpoint),
    )


def _refusals(endpoint: Endpoint) -> dict[int | str, dict[str, Any]]:
    by_status: dict[int | str, list[ErrorCode]] = {}
    for code in dict.fromkeys((*KEYED, *endpoint.refuses)):
        by_status.setdefault(ERRORS[code].http_status, []).append(code)
    refusals: dict[int | str, dict[str, Any]] = {
        status: {
            "model": ErrorEnvelope,
            "description": " ".join(f"`{code}`: {ERRORS[code].meaning}" for code in codes),
            "content": {"application/json": {"example": ERROR_EXAMPLE}},
        }
        for status, codes in by_status.items()
    }
    headers = {
        name: {"description": meaning, "schema": {"type": "string"}}
        for name, meaning in endpoint.headers.items()
    }
    return {**refusals, **({200: {"headers": headers}} if headers else {})}


def _extra(endpoint: Endpoint) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name, schema in PATH_VALUES.items()
        if f"{{{name}}}" in endpoint.path
    ]
    if endpoint.query is not None:
        parameters += _query(endpoint.query)
    extra: dict[str, Any] = {"parameters": parameters}
    if endpoint.scope is Scope.NOBODY:
        extra["security"] = []
    if endpoint.body is not None:
        schema = endpoint.body.model_json_schema()
        extra["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
        parameters.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "schema": {"type": "string", "minLength": 1, "maxLength": 255},
                "description": "The same key and body give the first answer again for 24 hours",
            }
        )
    return extra


def _query(model: type[Parameters]) -> list[dict[str, Any]]:
    schema = model.model_json_schema()
    required = set(schema.get("required", ()))
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            **({"description": text} if (text := member.pop("description", None)) else {}),
            "schema": member,
        }
        for name, member in schema["properties"].items()
    ]
