"""The quoter over internal HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import aiohttp
from pydantic import ValidationError

from swap_contracts.public.errors import ErrorCode
from swap_contracts.quoting import PricesAnswer, QuoteAnswer, QuoteQuestion, Refusal
from swap_runtime.postgres.database import forbid_open_transaction
from swap_settler.model.ledger.inventory import AssetKey
from swap_settler.settling import observe
from swap_settler.settling.decide.requotes import RequoteRefusal

ANSWER_SECONDS: Final = 2.0
REFUSALS: Final[Mapping[str, RequoteRefusal]] = {
    ErrorCode.LESS_THAN_MIN_ERROR: RequoteRefusal.BELOW_MINIMUM,
    ErrorCode.GREATER_THAN_MAX_ERROR: RequoteRefusal.ABOVE_MAXIMUM,
    ErrorCode.INSUFFICIENT_LIQUIDITY: RequoteRefusal.NO_LIQUIDITY,
}


class HttpPricing:
    def __init__(
        self, url: str, session: aiohttp.ClientSession, *, answer_seconds: float = ANSWER_SECONDS
    ) -> None:
        self._url = f"{url.rstrip('/')}/quote"
        self._session = session
        self._timeout = aiohttp.ClientTimeout(total=answer_seconds)

    async def quote(self, question: QuoteQuestion) -> QuoteAnswer | RequoteRefusal:
        forbid_open_transaction("quoter")
        try:
            status, content = await self._post(question.model_dump_json().encode())
            if status == HTTPStatus.OK:
                return QuoteAnswer.model_validate_json(content)
            if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
                return _to_refusal(Refusal.model_validate_json(content))
        except (aiohttp.ClientError, TimeoutError, OSError, ValidationError) as error:
            observe.quoter_unavailable(str(error) or type(error).__name__)
            return RequoteRefusal.NO_ANSWER
        observe.quoter_unavailable(f"status {status}")
        return RequoteRefusal.NO_ANSWER

    async def _post(self, body: bytes) -> tuple[int, bytes]:
        headers = {"content-type": "application/json"}
        async with self._session.post(
            self._url, data=body, headers=headers, timeout=self._timeout
        ) as response:
            return response.status, await response.read()


class HttpPrices:
    def __init__(
        self, url: str, session: aiohttp.ClientSession, *, answer_seconds: float = ANSWER_SECONDS
    ) -> None:
        self._url = f"{url.rstrip('/')}/prices"
        self._session = session
        self._timeout = aiohttp.ClientTimeout(total=answer_seconds)

    async def current(self) -> Mapping[AssetKey, int]:
        forbid_open_transaction("quoter")
        try:
            async with self._session.get(self._url, timeout=self._timeout) as response:
                response.raise_for_status()
                answer = PricesAnswer.model_validate_json(await response.read())
        except (aiohttp.ClientError, TimeoutError, OSError, ValidationError) as error:
            observe.quoter_unavailable(str(error) or type(error).__name__)
            return {}
        return {(price.network, price.token): int(price.usd_e18) for price in answer.prices}


def _to_refusal(refusal: Refusal) -> RequoteRefusal:
    """No price now, or no route, is no answer: prices come back."""
    return REFUSALS.get(refusal.code, RequoteRefusal.NO_ANSWER)
