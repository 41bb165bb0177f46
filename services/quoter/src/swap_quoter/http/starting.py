"""What is answered before the market is known."""

from __future__ import annotations

from collections.abc import Callable

from swap_contracts.public.errors import ErrorCode
from swap_quoter.http.app import Answer
from swap_quoter.http.errors import refusal_answer

Answering = Callable[[str, str, bytes | None], Answer]


def once_known(answer: Answering, is_known: Callable[[], bool]) -> Answering:
    """Return what says that it is away until all of the market was read.

    Who asks again gets a price: "no rate" or "no liquidity" would end a swap that waits for one.
    """

    def answered(method: str, path: str, body: bytes | None) -> Answer:
        if not is_known():
            return refusal_answer(ErrorCode.SERVICE_UNAVAILABLE, "Prices are being read")
        return answer(method, path, body)

    return answered
