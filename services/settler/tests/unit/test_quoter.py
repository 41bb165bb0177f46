"""How the settler maps the quoter's answers, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from services.settler.tests.factories import ETHEREUM, POLYGON, USDC, a_quote
from swap_contracts.quoting import Price, PricesAnswer, QuoteAnswer, QuoteQuestion, Refusal
from swap_settler.settling.adapters.quoter import HttpPrices, HttpPricing
from swap_settler.settling.decide.requotes import RequoteRefusal

QUESTION = QuoteQuestion(
    source_network=ETHEREUM,
    source_token=USDC[ETHEREUM],
    destination_network=POLYGON,
    destination_token=USDC[POLYGON],
    base_units="1000000",
)
OFFER = QuoteAnswer(quote=a_quote(), lifetime_seconds=300)


class Answers:
    def __init__(self) -> None:
        self.next = web.Response(body=OFFER.model_dump_json())
        self.questions: list[QuoteQuestion] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.questions.append(QuoteQuestion.model_validate_json(await request.read()))
        return self.next


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
async def pricing(answers: Answers) -> AsyncIterator[HttpPricing]:
    app = web.Application()
    app.router.add_post("/quote", answers.answer)
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        yield HttpPricing(str(server.make_url("/")), session)


async def test_an_offer_is_read(pricing: HttpPricing, answers: Answers) -> None:
    assert await pricing.quote(QUESTION) == OFFER
    assert answers.questions == [QUESTION]


@pytest.mark.parametrize(
    ("code", "status", "refused"),
    [
        ("LESS_THAN_MIN_ERROR", 400, RequoteRefusal.BELOW_MINIMUM),
        ("GREATER_THAN_MAX_ERROR", 400, RequoteRefusal.ABOVE_MAXIMUM),
        ("INSUFFICIENT_LIQUIDITY", 400, RequoteRefusal.NO_LIQUIDITY),
        ("ROUTE_NOT_FOUND_ERROR", 404, RequoteRefusal.NO_ANSWER),
    ],
)
async def test_a_refusal_is_distinguished_from_no_answer(
    pricing: HttpPricing, answers: Answers, code: str, status: int, refused: RequoteRefusal
) -> None:
    refusal = Refusal(code=code, message="No")
    answers.next = web.Response(status=status, body=refusal.model_dump_json())

    assert await pricing.quote(QUESTION) is refused


@pytest.mark.parametrize("status", [200, 400, 500])
async def test_an_unparsable_answer_is_no_answer(
    pricing: HttpPricing, answers: Answers, status: int
) -> None:
    answers.next = web.Response(status=status, body=b"{}")

    assert await pricing.quote(QUESTION) is RequoteRefusal.NO_ANSWER


async def test_a_quoter_that_is_not_there_gives_no_answer() -> None:
    async with aiohttp.ClientSession() as session:
        pricing = HttpPricing("http://127.0.0.1:1", session)

        assert await pricing.quote(QUESTION) is RequoteRefusal.NO_ANSWER


PRICES = PricesAnswer(prices=(Price(network=ETHEREUM, token=USDC[ETHEREUM], usd_e18="7"),))


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, PRICES.model_dump_json(), {(ETHEREUM, USDC[ETHEREUM]): 7}),
        (200, "{}", {}),
        (503, PRICES.model_dump_json(), {}),
    ],
)
async def test_prices_are_empty_while_the_quoter_does_not_answer(
    status: int, body: str, expected: dict[tuple[str, str], int]
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, body=body)

    app = web.Application()
    app.router.add_get("/prices", answer)
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        assert await HttpPrices(str(server.make_url("/")), session).current() == expected
