"""The quoter over internal HTTP, on connections that stay open.

A request costs many times what a price does, so questions that come together go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final, TypeVar

import aiohttp
from pydantic import BaseModel, ValidationError

from swap_api.call_batching import CallBatcher
from swap_api.swaps.ports import PriceRefused
from swap_contracts.quoting import (
    QUESTIONS_MAX,
    LimitsAnswer,
    PricesAnswer,
    QuoteAnswer,
    QuoteOutcome,
    QuoteQuestion,
    QuoteQuestions,
    QuotesAnswer,
    RangesAnswer,
    Refusal,
    RouteQuestion,
)
from swap_runtime.errors import Unavailable
from swap_runtime.postgres.database import forbid_open_transaction
from swap_runtime.telemetry import tracing

REQUESTS_MAX: Final = 2  # for quotes at a time: one is on its way while the next gathers
Answer = TypeVar("Answer", bound=BaseModel)
TracedQuestion = tuple[QuoteQuestion, tracing.Position | None]  # with the caller's span


class HttpPricing:
    def __init__(self, url: str, *, answer_seconds: float) -> None:
        self._url = url.rstrip("/")
        self._timeout = aiohttp.ClientTimeout(total=answer_seconds)
        self._session: aiohttp.ClientSession | None = None
        self._quoting: CallBatcher[TracedQuestion, QuoteAnswer] = CallBatcher(
            self._quotes, batch_max=QUESTIONS_MAX, concurrent_batches_max=REQUESTS_MAX
        )

    async def quote(self, question: QuoteQuestion) -> QuoteAnswer:
        return await self._quoting((question, tracing.current()))

    async def limits(self, question: RouteQuestion) -> LimitsAnswer:
        return await self._ask("POST", "/limits", question, LimitsAnswer, tracing.current())

    async def ranges(self, question: RouteQuestion) -> RangesAnswer:
        return await self._ask("POST", "/ranges", question, RangesAnswer, tracing.current())

    async def prices(self) -> PricesAnswer:
        return await self._ask("GET", "/prices", None, PricesAnswer)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _quotes(
        self, questions: Sequence[TracedQuestion]
    ) -> Sequence[QuoteAnswer | Exception]:
        # The questions were checked when they were made.
        batch = QuoteQuestions.model_construct(questions=tuple(each for each, _ in questions))
        callers = (caller for _, caller in questions if caller is not None)
        # One request for all: it is a child of the first one's.
        answered = await self._ask("POST", "/quotes", batch, QuotesAnswer, next(callers, None))
        if len(answered.outcomes) != len(questions):
            raise Unavailable("quoter: an answer to other questions")
        return [_outcome(one) for one in answered.outcomes]

    async def _ask(
        self,
        method: str,
        path: str,
        question: BaseModel | None,
        answer: type[Answer],
        caller: tracing.Position | None = None,
    ) -> Answer:
        """
        :param caller: the span of the request that needs it.
        :raises PriceRefused: when the quoter refuses.
        :raises Unavailable: when it is away, too slow, or makes an error.
        """
        forbid_open_transaction("quoter")
        body = None if question is None else question.model_dump_json().encode()
        try:
            with tracing.calling(f"{method} {path}", caller, {"peer.service": "quoter"}) as headers:
                url, session = self._url + path, self._open_session()
                async with session.request(method, url, data=body, headers=headers) as response:
                    status, content = response.status, await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(f"quoter: {type(error).__name__}") from error
        try:
            if status == HTTPStatus.OK:
                return answer.model_validate_json(content)
            if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
                raise _to_price_refused(Refusal.model_validate_json(content))
        except ValidationError as error:
            raise Unavailable("quoter: an invalid answer") from error
        raise Unavailable(f"quoter: {status}")

    def _open_session(self) -> aiohttp.ClientSession:
        """Made in the running loop, when it is first needed."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=64, keepalive_timeout=60)
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=self._timeout,
                headers={"content-type": "application/json"},
            )
        return self._session


def _outcome(outcome: QuoteOutcome) -> QuoteAnswer | Exception:
    if outcome.answer is not None:
        return outcome.answer
    if outcome.refusal is not None:
        return _to_price_refused(outcome.refusal)
    return Unavailable("quoter: neither a quote nor a refusal")


def _to_price_refused(refusal: Refusal) -> PriceRefused:
    limit = refusal.limit_base_units
    return PriceRefused(refusal.code, refusal.message, None if limit is None else int(limit))
