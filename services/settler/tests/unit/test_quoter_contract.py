"""One suite for answers of the quoter: the fakes of these tests, and clients over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from services.settler.tests.factories import ETHEREUM, POLYGON, USDC
from services.settler.tests.fakes import FixedPrices
from services.settler.tests.model_world import Prices
from services.settler.tests.settler_harness import Quoter
from swap_contracts.quoting import Price, PricesAnswer, QuoteAnswer, QuoteQuestion, Refusal
from swap_settler.operator import ports as operator
from swap_settler.settling.adapters.quoter import HttpPrices, HttpPricing
from swap_settler.settling.decide.requotes import RequoteRefusal
from swap_settler.settling.ports import Pricing

KNOWN = {(ETHEREUM, USDC[ETHEREUM]): 7, (POLYGON, USDC[POLYGON]): 10**18}


def prices_of(known: dict[tuple[str, str], int]) -> web.Application:
    """Return a quoter with these prices; with none it does not answer."""

    async def answer(_: web.Request) -> web.Response:
        found = [
            Price(network=network, token=token, usd_e18=str(price))
            for (network, token), price in known.items()
        ]
        body = PricesAnswer(prices=tuple(found)).model_dump_json()
        return web.Response(status=200 if known else 503, body=body)

    app = web.Application()
    app.router.add_get("/prices", answer)
    return app


@pytest.mark.parametrize("known", [KNOWN, {}], ids=["fresh", "away"])
@pytest.mark.parametrize("kind", ["fake", "http"])
async def test_prices_are_by_network_and_token_and_empty_while_it_is_away(
    kind: str, known: dict[tuple[str, str], int]
) -> None:
    async with TestServer(prices_of(known)) as server, aiohttp.ClientSession() as session:
        url = str(server.make_url("/"))
        prices: operator.Prices = FixedPrices(known) if kind == "fake" else HttpPrices(url, session)

        assert await prices.current() == known


def question(base_units: int) -> QuoteQuestion:
    return QuoteQuestion(
        source_network=ETHEREUM,
        source_token=USDC[ETHEREUM],
        destination_network=POLYGON,
        destination_token=USDC[POLYGON],
        base_units=str(base_units),
    )


class Subject:
    """A fake, and the tested port: the fake itself, or a client of a server with its answers."""

    def __init__(self, stand_in: Quoter | Prices, pricing: Pricing) -> None:
        self.stand_in = stand_in
        self.pricing = pricing

    def become_unavailable(self) -> None:
        if isinstance(self.stand_in, Prices):
            self.stand_in.is_away = True
        else:
            self.stand_in.refused = RequoteRefusal.NO_ANSWER


def serving(stand_in: Quoter | Prices) -> web.Application:
    async def answer(request: web.Request) -> web.Response:
        found = await stand_in.quote(QuoteQuestion.model_validate_json(await request.read()))
        if isinstance(found, QuoteAnswer):
            return web.Response(body=found.model_dump_json())
        if found is RequoteRefusal.NO_ANSWER:
            return web.Response(status=503)
        refusal = Refusal(code="LESS_THAN_MIN_ERROR", message="too little")
        return web.Response(status=400, body=refusal.model_dump_json())

    app = web.Application()
    app.router.add_post("/quote", answer)
    return app


@pytest.fixture(params=["harness", "model", "harness over http", "model over http"])
async def subject(request: pytest.FixtureRequest) -> AsyncIterator[Subject]:
    stand_in = Prices() if "model" in request.param else Quoter()
    if "http" not in request.param:
        yield Subject(stand_in, stand_in)
        return
    async with TestServer(serving(stand_in)) as server, aiohttp.ClientSession() as session:
        yield Subject(stand_in, HttpPricing(str(server.make_url("/")), session))


class TestPricing:
    async def test_quotes_what_was_asked(self, subject: Subject) -> None:
        answer = await subject.pricing.quote(question(10**18))

        assert isinstance(answer, QuoteAnswer)
        assert answer.quote.requested_base_units == str(10**18)
        units = int(answer.quote.receive_base_units)
        assert 0 < int(answer.quote.min_receive_base_units) <= units
        assert answer.lifetime_seconds > 0

    async def test_refuses_what_is_too_little(self, subject: Subject) -> None:
        assert await subject.pricing.quote(question(1)) is RequoteRefusal.BELOW_MINIMUM

    async def test_gives_no_answer_while_it_is_away(self, subject: Subject) -> None:
        subject.become_unavailable()

        assert await subject.pricing.quote(question(10**18)) is RequoteRefusal.NO_ANSWER
