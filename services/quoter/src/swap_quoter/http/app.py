"""Where the api and the settler ask for prices: a function from bytes to bytes.

A question is a few microseconds of arithmetic, so a framework around it would be most of the cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pydantic import ValidationError

from swap_contracts.envelope import rendered
from swap_contracts.public.errors import ErrorCode
from swap_contracts.quoting import (
    QuoteOutcome,
    QuoteQuestion,
    QuoteQuestions,
    QuotesAnswer,
    RouteQuestion,
)
from swap_quoter import observe
from swap_quoter.domain.refusals import Refusal
from swap_quoter.http.errors import code_of, refusal_answer, told
from swap_quoter.usecases.give_limits import GiveLimits
from swap_quoter.usecases.give_quotes import GiveQuotes
from swap_quoter.usecases.give_ranges import GiveRanges
from swap_quoter.usecases.list_prices import ListPrices

Answer = tuple[int, bytes]

OK: Final = 200


class QuoterHttp:
    """`POST /quote`, `/quotes`, `/limits` and `/ranges`, `GET /prices`.

    A 4xx carries a `Refusal`; of many quotes each is answered or refused by itself.
    """

    def __init__(
        self,
        *,
        give_quotes: GiveQuotes,
        give_limits: GiveLimits,
        give_ranges: GiveRanges,
        list_prices: ListPrices,
    ) -> None:
        self._give_quotes = give_quotes
        self._give_limits = give_limits
        self._give_ranges = give_ranges
        self._list_prices = list_prices
        self._answers: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
            "/quote": ("POST", self._quote),
            "/quotes": ("POST", self._quotes),
            "/limits": ("POST", self._limits),
            "/ranges": ("POST", self._ranges),
            "/prices": ("GET", self._prices),
        }

    def answer(self, method: str, path: str, body: bytes | None) -> Answer:
        """Return the status and the body; a body of None was too long to be kept."""
        expected, answer = self._answers.get(path, ("", None))
        if answer is None:
            return refusal_answer(ErrorCode.NOT_FOUND, "There is nothing here")
        if method != expected:
            return refusal_answer(ErrorCode.METHOD_NOT_ALLOWED, f"Only {expected} is answered here")
        if body is None:
            return refusal_answer(ErrorCode.PAYLOAD_TOO_LARGE, "The question is too long")
        try:
            answered = answer(body)
        except Refusal as refusal:
            code = code_of(refusal)
            observe.answered(path[1:], code)
            return refusal_answer(code, str(refusal), refusal.limit_base_units)
        except ValidationError as error:
            observe.answered(path[1:], ErrorCode.VALIDATION_ERROR)
            return refusal_answer(ErrorCode.VALIDATION_ERROR, _first(error))
        observe.answered(path[1:], "ok")
        return OK, answered

    def _quote(self, body: bytes) -> bytes:
        question = QuoteQuestion.model_validate_json(body)
        answer = self._give_quotes(question)
        if answer.explanation is not None:
            return answer.model_dump_json().encode()
        return rendered(answer)

    def _quotes(self, body: bytes) -> bytes:
        asked = QuoteQuestions.model_validate_json(body).questions
        outcomes = tuple(self._outcome(question) for question in asked)
        answer = QuotesAnswer.trusted({"outcomes": outcomes})
        if any(question.explain for question in asked):
            return answer.model_dump_json().encode()
        return rendered(answer)

    def _outcome(self, question: QuoteQuestion) -> QuoteOutcome:
        try:
            answer = self._give_quotes(question)
        except Refusal as refusal:
            observe.answered("quote", code_of(refusal))
            return QuoteOutcome(refusal=told(refusal))
        observe.answered("quote", "ok")
        return QuoteOutcome.trusted({"answer": answer, "refusal": None})

    def _limits(self, body: bytes) -> bytes:
        question = RouteQuestion.model_validate_json(body)
        return self._give_limits(question).model_dump_json().encode()

    def _ranges(self, body: bytes) -> bytes:
        question = RouteQuestion.model_validate_json(body)
        return self._give_ranges(question).model_dump_json().encode()

    def _prices(self, _: bytes) -> bytes:
        return self._list_prices().model_dump_json().encode()


def _first(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
