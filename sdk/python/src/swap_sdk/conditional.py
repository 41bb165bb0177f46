"""A cache of answers: unchanged data is not sent again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Final

import httpx

ANSWERS_MAX: Final = 256
NOT_MODIFIED: Final = 304


class CachedAnswers:
    """The last answers with an `ETag`, by request."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, httpx.Response] = OrderedDict()
        self._turn = threading.Lock()

    def add_etag(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the request with `If-None-Match`, if its answer is cached."""
        known = self._answers.get(_cache_key(request))
        if known is None:
            return request
        headers = {**request["headers"], "If-None-Match": known.headers["etag"]}
        return {**request, "headers": headers}

    def resolve_unchanged(self, request: dict[str, Any], answer: httpx.Response) -> httpx.Response:
        """Return the answer, or the cached one that it confirms (304)."""
        key = _cache_key(request)
        with self._turn:
            if answer.status_code == NOT_MODIFIED and key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
            if answer.status_code == httpx.codes.OK and "etag" in answer.headers:
                self._answers[key] = answer
                self._answers.move_to_end(key)
                if len(self._answers) > ANSWERS_MAX:
                    self._answers.popitem(last=False)
        return answer


def _cache_key(request: dict[str, Any]) -> str:
    return f"{request['method']} {request['url']}?{request['params']}"
