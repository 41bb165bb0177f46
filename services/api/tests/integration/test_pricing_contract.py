"""One suite for the fake quoter of these tests and the client on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from api_factories import DOLLAR, ETHER, a_catalogue
from fake_pricing import FakePricing

from swap_api.swaps.adapters.quoter import HttpPricing
from swap_api.swaps.ports import PriceRefused, Pricing
from swap_contracts.quoting import (
    QuoteAnswer,
    QuoteOutcome,
    QuoteQuestion,
    QuoteQuestions,
    QuotesAnswer,
    Refusal,
    RouteQuestion,
)
from swap_runtime.errors import Unavailable

pytestmark = pytest.mark.connected

ROUTE: dict[str, Any] = {
    "source_network": ETHER.network,
    "source_token": ETHER.token,
    "destination_network": DOLLAR.network,
    "destination_token": DOLLAR.token,
}


class Harnessed:
    def __init__(self, fake: FakePricing, pricing: Pricing) -> None:
        self.fake = fake
        self.pricing = pricing


@pytest.fixture(params=["fake", "http"])
async def quoter(request: pytest.FixtureRequest) -> AsyncIterator[Harnessed]:
    fake = FakePricing(a_catalogue())
    if request.param == "fake":
        yield Harnessed(fake, fake)
        return
    runner = web.AppRunner(_served(fake))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    pricing = HttpPricing(f"http://127.0.0.1:{runner.addresses[0][1]}", answer_seconds=0.3)
    yield Harnessed(fake, pricing)
    await pricing.close()
    await runner.cleanup()


class TestPricing:
    async def test_quotes_what_was_asked(self, quoter: Harnessed) -> None:
        question = QuoteQuestion(**ROUTE, base_units=str(10**18), slippage_ppm=2500)

        answer = await quoter.pricing.quote(question)

        assert answer.quote.source == ETHER
        assert answer.quote.destination == DOLLAR
        assert answer.quote.requested_base_units == str(10**18)
        assert answer.quote.slippage_ppm == 2500
        assert answer.lifetime_seconds > 0

    async def test_refuses_what_is_too_little_with_the_limit(self, quoter: Harnessed) -> None:
        with pytest.raises(PriceRefused) as refused:
            await quoter.pricing.quote(QuoteQuestion(**ROUTE, base_units="0"))

        assert refused.value.code == "LESS_THAN_MIN_ERROR"
        assert refused.value.limit_base_units == 10**15

    async def test_answers_each_of_many_questions_at_once(self, quoter: Harnessed) -> None:
        amounts = [0, *(n * 10**18 for n in range(1, 20))]

        outcomes = await asyncio.gather(
            *(quoter.pricing.quote(QuoteQuestion(**ROUTE, base_units=str(n))) for n in amounts),
            return_exceptions=True,
        )

        assert isinstance(outcomes[0], PriceRefused)
        for amount, answer in zip(amounts[1:], outcomes[1:], strict=True):
            assert isinstance(answer, QuoteAnswer)
            assert answer.quote.requested_base_units == str(amount)
        assert quoter.fake.requests <= 3  # two in progress, and the ones batched meanwhile

    async def test_returns_limits(self, quoter: Harnessed) -> None:
        answer = await quoter.pricing.limits(RouteQuestion(**ROUTE))

        assert int(answer.min_base_units) < int(answer.max_base_units)

    async def test_returns_ranges(self, quoter: Harnessed) -> None:
        [one] = (await quoter.pricing.ranges(RouteQuestion(**ROUTE))).ranges

        assert int(one.min_base_units) < int(one.max_base_units)
        assert int(one.min_fee_base_units) < int(one.max_fee_base_units)

    async def test_returns_prices(self, quoter: Harnessed) -> None:
        answer = await quoter.pricing.prices()

        assert {(p.network, p.token) for p in answer.prices} >= {
            (ETHER.network, ETHER.token),
            (DOLLAR.network, DOLLAR.token),
        }

    async def test_is_unavailable_when_it_is_away(self, quoter: Harnessed) -> None:
        quoter.fake.is_away = True

        with pytest.raises(Unavailable):
            await quoter.pricing.prices()


class TestHttpPricing:
    async def test_does_not_wait_for_one_that_hangs(self) -> None:
        silent = await asyncio.start_server(lambda *_: asyncio.sleep(30), "127.0.0.1", 0)
        port = silent.sockets[0].getsockname()[1]
        pricing = HttpPricing(f"http://127.0.0.1:{port}", answer_seconds=1)

        async with asyncio.timeout(20):  # less than the silence of the other side
            with pytest.raises(Unavailable, match="TimeoutError"):
                await pricing.prices()

        await pricing.close()
        silent.close()

    async def test_is_unavailable_without_a_listener(self) -> None:
        pricing = HttpPricing("http://127.0.0.1:1", answer_seconds=1)

        with pytest.raises(Unavailable, match="ClientConnectorError"):
            await pricing.prices()
        await pricing.close()


async def _answered(fake: FakePricing, batch: QuoteQuestions) -> QuotesAnswer:
    fake.requests += 1
    outcomes = []
    for question in batch.questions:
        try:
            outcomes.append(QuoteOutcome(answer=await fake.quote(question)))
        except PriceRefused as refused:
            outcomes.append(QuoteOutcome(refusal=_refusal(refused)))
    return QuotesAnswer(outcomes=tuple(outcomes))


def _refusal(refused: PriceRefused) -> Refusal:
    limit = refused.limit_base_units
    return Refusal(
        code=refused.code,
        message=refused.message,
        limit_base_units=None if limit is None else str(limit),
    )


def _served(fake: FakePricing) -> web.Application:
    async def answer(request: web.Request) -> web.Response:
        body = await request.read()
        try:
            match request.path:
                case "/quotes":
                    model = await _answered(fake, QuoteQuestions.model_validate_json(body))
                case "/limits":
                    model = await fake.limits(RouteQuestion.model_validate_json(body))  # type: ignore[assignment]
                case "/ranges":
                    model = await fake.ranges(RouteQuestion.model_validate_json(body))  # type: ignore[assignment]
                case _:
                    model = await fake.prices()  # type: ignore[assignment]
        except PriceRefused as refused:
            return web.Response(body=_refusal(refused).model_dump_json(), status=400)
        except Unavailable:
            return web.Response(status=503)
        return web.Response(body=model.model_dump_json())

    app = web.Application()
    app.add_routes(
        [
            web.post("/quotes", answer),
            web.post("/limits", answer),
            web.post("/ranges", answer),
            web.get("/prices", answer),
        ]
    )
    return app
