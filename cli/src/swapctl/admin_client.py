"""Send one request to a service; a refusal becomes one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import httpx

TIMEOUT_SECONDS: Final = 10
ORDER_TIMEOUT_SECONDS: Final = 30  # longer than a service needs to answer an order


class RequestFailed(Exception):
    """A service refused the request, or did not answer."""


class ServiceUnavailable(RequestFailed):
    """A service did not answer, or is unavailable; a later request may succeed."""


class AwaitsApproval(RequestFailed):
    """An order was not carried out yet: a second operator must approve it."""

    def __init__(self, proposal: Mapping[str, Any]) -> None:
        super().__init__(
            f"Not carried out yet: {proposal['why']}. Another operator must approve it by "
            f"{proposal['expires_at']}: swapctl approvals approve {proposal['id']}"
        )


def send_request(service: str, client: httpx.Client, method: str, path: str, **rest: Any) -> Any:
    """
    :raises RequestFailed: with the message of the service.
    :raises ServiceUnavailable: when the same request may succeed later.
    :raises AwaitsApproval: when it is stored until a second operator approves it.
    """
    try:
        answer = client.request(method, path, **rest)
    except httpx.ConnectError as error:
        raise ServiceUnavailable(f"{service}: {type(error).__name__}: {error}") from error
    except httpx.HTTPError as error:
        unknown = "" if method == "GET" else ". The outcome is unknown: swapctl audit shows it"
        raise ServiceUnavailable(f"{service}: {type(error).__name__}: {error}{unknown}") from error
    if answer.is_success:
        content = answer.json() if answer.content else {}
        if answer.status_code == httpx.codes.ACCEPTED and "proposal" in content:
            raise AwaitsApproval(content["proposal"])
        return content
    is_unavailable = answer.is_server_error or answer.status_code == httpx.codes.TOO_MANY_REQUESTS
    failure = ServiceUnavailable if is_unavailable else RequestFailed
    raise failure(f"{service} answered {answer.status_code}: {_words(answer)}")


def _words(answer: httpx.Response) -> str:
    try:
        content = answer.json()
    except ValueError:
        return answer.text[:300]
    error = content.get("error", content) if isinstance(content, dict) else content
    return str(error.get("message", error) if isinstance(error, dict) else error)
