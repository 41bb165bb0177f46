"""The OpenAPI document as it comes with the service.

Describing every endpoint blocks the process for seconds, so that is done when the package is built.
`make generate` writes the file, and `make check` compares it with the endpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Final

import orjson

FILE: Final = "openapi.json"
TOKEN_SCHEME: Final = "AccessToken"


def shipped_openapi(*, key_headers: Sequence[str], version: str) -> bytes:
    """Return the document with this deployment's key headers and version."""
    document = orjson.loads(files("swap_api.http").joinpath(FILE).read_bytes())
    return finish_document(document, key_headers=key_headers, version=version)


def finish_document(document: dict[str, Any], *, key_headers: Sequence[str], version: str) -> bytes:
    """Add what differs between releases and deployments, and render it."""
    document["info"]["version"] = version
    schemes = {
        f"ApiKey{n or ''}": {"type": "apiKey", "in": "header", "name": name}
        for n, name in enumerate(key_headers)
    }
    document["components"]["securitySchemes"] = {
        **schemes,
        TOKEN_SCHEME: {"type": "http", "scheme": "bearer", "description": "A member's token"},
    }
    document["security"] = [{name: []} for name in schemes]
    return orjson.dumps(document)
