"""One request to a service, and its refusal in one line."""

from __future__ import annotations

from typing import Any, Final

import httpx

TIMEOUT_SECONDS: Final = 10


class Failed(Exception):
    """A service said no, or did not answer."""


def answered(service: str, client: httpx.Client, method: str, path: str, **rest: Any) -> Any:
    """
    :raises Failed: with the service's own words.
    """
    try:
        answer = client.request(method, path, **rest)
    except httpx.HTTPError as error:
        raise Failed(f"{service}: {type(error).__name__}: {error}") from error
    if answer.is_success:
        return answer.json() if answer.content else {}
    raise Failed(f"{service} answered {answer.status_code}: {_words(answer)}")


def _words(answer: httpx.Response) -> str:
    try:
        told = answer.json()
    except ValueError:
        return answer.text[:300]
    error = told.get("error", told) if isinstance(told, dict) else told
    return str(error.get("message", error) if isinstance(error, dict) else error)
