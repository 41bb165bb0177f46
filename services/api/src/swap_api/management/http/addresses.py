"""What the addresses of the management API have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from swap_api.admission.decide.rate_limits import Kind
from swap_api.http.endpoints import MANAGEMENT, PAGED, Endpoint, Handler
from swap_api.http.parameters import PageParameters, Parameters
from swap_api.model.keys import Scope
from swap_contracts.public.errors import ErrorCode

ORGANIZATION: Final = f"{MANAGEMENT}/organizations/{{organizationId}}"
APP: Final = f"{MANAGEMENT}/apps/{{appId}}"
KEY: Final = f"{MANAGEMENT}/keys/{{keyId}}"
MEMBER: Final = f"{MANAGEMENT}/members/{{memberId}}"
WEBHOOK: Final = f"{MANAGEMENT}/webhooks/{{webhookId}}"
COUNT_LIMIT: Final = (ErrorCode.LIMIT_REACHED,)


def get_endpoint(
    path: str,
    handler: Handler,
    summary: str,
    answers: Any,
    *,
    is_paged: bool = False,
    query: type[Parameters] | None = None,
    scope: Scope = Scope.MEMBER,
    refuses: Sequence[ErrorCode] = (),
    weight: int = 1,
    headers: Mapping[str, str] | None = None,
    operation: str = "",
) -> Endpoint:
    return Endpoint(
        "GET",
        path,
        handler,
        summary,
        answers,
        weight=weight,
        scope=scope,
        query=query or (PageParameters if is_paged else None),
        refuses=refuses,
        headers=headers or (PAGED if is_paged else {}),
        operation=operation,
    )


def post_endpoint(
    path: str,
    handler: Handler,
    summary: str,
    answers: Any,
    body: type[Parameters] | None = None,
    *,
    scope: Scope = Scope.MEMBER,
    refuses: Sequence[ErrorCode] = (),
    creates: bool = False,
    shows_secret: bool = False,
    kind: Kind = Kind.CREATE,
    operation: str = "",
) -> Endpoint:
    permitted = (ErrorCode.ROLE_TOO_LOW,) if scope is Scope.MEMBER else ()
    return Endpoint(
        "POST",
        path,
        handler,
        summary,
        answers,
        kind=kind,
        scope=scope,
        body=body,
        refuses=(*permitted, *refuses),
        creates=creates or shows_secret,
        shows_secret=shows_secret,
        operation=operation,
    )
