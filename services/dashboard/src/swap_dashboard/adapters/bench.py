"""The test bench over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from http import HTTPStatus
from typing import Any, Final

import httpx
import orjson

from swap_dashboard.ports import BenchFacts, BenchOutcome, BenchRefused, BenchUnavailable

ANSWER_SECONDS: Final = 5
OUTCOME_FIELDS: Final = tuple(one.name for one in fields(BenchOutcome))


class HttpBench:
    """Plays the users of test apps, as their swaps' recipients say.

    Every request raises BenchUnavailable when it does not answer.
    """

    def __init__(self, url: str) -> None:
        self._client = httpx.AsyncClient(
            base_url=url, timeout=ANSWER_SECONDS, follow_redirects=False, trust_env=False
        )

    async def facts(self) -> BenchFacts:
        content = await self._request("GET", "/bench/outcomes")
        return BenchFacts(
            outcomes=[
                BenchOutcome(**{name: one[name] for name in OUTCOME_FIELDS if name in one})
                for one in content["outcomes"]
            ],
            lifetime_seconds=content["lifetime_seconds"],
            receiver_url=content["receiver_url"],
        )

    async def has_key_of(self, app_id: str) -> bool:
        """Return whether it has a key of the app."""
        return bool((await self._request("GET", f"/bench/apps/{app_id}"))["is_played"])

    async def add(self, app_id: str, api_key: str) -> None:
        """Have it play for an app.

        :raises BenchRefused: when it does not take the key.
        """
        await self._request("POST", f"/bench/apps/{app_id}", json={"api_key": api_key})

    async def close(self) -> None:
        await self._client.aclose()

    async def _request(self, method: str, path: str, **options: Any) -> Mapping[str, Any]:
        """
        :raises BenchRefused: when it answers no.
        """
        try:
            answer = await self._client.request(method, path, **options)
            content: Mapping[str, Any] = orjson.loads(answer.content)
        except (httpx.HTTPError, orjson.JSONDecodeError) as error:
            raise BenchUnavailable(type(error).__name__) from error
        if answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY:
            raise BenchRefused(str(content.get("error")))
        if answer.is_error:
            raise BenchUnavailable(str(answer.status_code))
        return content
