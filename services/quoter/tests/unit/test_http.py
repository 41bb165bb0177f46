from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson
import pytest
from starlette.types import ASGIApp, Message

from services.quoter.tests.factories import (
    DAI,
    ETHEREUM,
    NOW,
    POLYGON,
    USDC,
    a_catalogue,
    a_market,
    a_question,
    a_rule,
)
from swap_contracts.quoting import (
    PARTNER_FEE_MAX,
    QUESTIONS_MAX,
    LimitsAnswer,
    PricesAnswer,
    QuoteAnswer,
    QuoteQuestions,
    QuotesAnswer,
    RangesAnswer,
    Refusal,
    RouteQuestion,
)
from swap_domain import fees
from swap_domain.catalogue import NATIVE, Catalogue
from swap_quoter.domain.market import Market
from swap_quoter.domain.routes import Routes
from swap_quoter.domain.terms import TermsBook
from swap_quoter.http.app import BODY_BYTES_MAX, QuoterEndpoints, quoter_app
from swap_quoter.http.errors import code_of
from swap_quoter.usecases.explain_quotes import ExplainQuotes
from swap_quoter.usecases.find_terms import FindTerms
from swap_quoter.usecases.give_limits import GiveLimits
from swap_quoter.usecases.give_quotes import GiveQuotes
from swap_quoter.usecases.give_ranges import GiveRanges
from swap_quoter.usecases.list_prices import ListPrices
from swap_runtime.telemetry.metrics import REGISTRY

ONE_DOLLAR = 10**18


def an_app(
    market: Market | None = None,
    catalogue: Catalogue | None = None,
    *,
    is_known: Callable[[], bool] = lambda: True,
) -> ASGIApp:
    known, routes = market or a_market(), Routes(catalogue or a_catalogue())
    terms = TermsBook(known, refuel_usd_e18=ONE_DOLLAR)
    find_terms = FindTerms(routes, terms, clock=lambda: NOW)
    endpoints = QuoterEndpoints(
        give_quotes=GiveQuotes(
            find_terms,
            known,
            ExplainQuotes(find_terms, known, clock=lambda: NOW, code_of=code_of),
        ),
        give_limits=GiveLimits(find_terms),
        give_ranges=GiveRanges(find_terms, known),
        list_prices=ListPrices(routes, known, clock=lambda: NOW),
    )
    return quoter_app(endpoints, is_known=is_known)


def answer(app: ASGIApp, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    """Run the application without an event loop: it must not await I/O."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": []}
    run: Any = app(scope, receive, send)
    with suppress(StopIteration):
        run.send(None)
        pytest.fail("it waits")
    return sent[0]["status"], b"".join(message["body"] for message in sent[1:])


async def ask(app: ASGIApp, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    return answer(app, method, path, body)


async def quote(app: ASGIApp, **members: Any) -> tuple[int, bytes]:
    question = {**a_question().model_dump(), **members}
    return await ask(app, "POST", "/quote", orjson.dumps(question))


async def ranges(app: ASGIApp) -> RangesAnswer:
    question = a_question().model_dump(include=set(RouteQuestion.model_fields))
    status, body = await ask(app, "POST", "/ranges", orjson.dumps(question))
    assert status == 200
    return RangesAnswer.model_validate_json(body)


class TestRanges:
    async def test_cost_the_quoted_amount_at_their_ends(self) -> None:
        app = an_app()

        [one] = (await ranges(app)).ranges

        for end, fee in (
            (one.min_base_units, one.min_fee_base_units),
            (one.max_base_units, one.max_fee_base_units),
        ):
            _, body = await quote(app, base_units=end)
            assert QuoteAnswer.model_validate_json(body).quote.total_fee_base_units == fee
        assert one.fixed_fee_base_units == "1188"
        assert one.service_fee_basis_points == 10
        assert one.completion_milliseconds == 10_000

    async def test_are_empty_without_inventory(self) -> None:
        assert (await ranges(an_app(a_market(inventory={})))).ranges == ()


class TestGasless:
    async def test_a_quote_has_the_gas_of_the_deposit_that_we_make(self) -> None:
        _, plain = await quote(an_app())
        _, signed = await quote(an_app(), method="gasless")

        before = QuoteAnswer.model_validate_json(plain).quote
        after = QuoteAnswer.model_validate_json(signed).quote
        # 140,000 units at 20 gwei of 3000 dollars.
        assert int(after.blockchain_fee_base_units) - int(before.blockchain_fee_base_units) == (
            8_400_000
        )
        assert int(before.receive_base_units) - int(after.receive_base_units) == 8_400_000

    async def test_limits_have_it_too(self) -> None:
        market = a_market(inventory={(POLYGON, USDC[POLYGON]): 10**9})
        app, question_ = (
            an_app(market),
            a_question().model_dump(include=set(RouteQuestion.model_fields)),
        )
        _, plain = await ask(app, "POST", "/limits", orjson.dumps(question_))
        answer_ = orjson.dumps({**question_, "method": "gasless"})
        _, signed = await ask(app, "POST", "/limits", answer_)

        before, after = (LimitsAnswer.model_validate_json(body) for body in (plain, signed))
        assert int(after.max_base_units) - int(before.max_base_units) >= 8_400_000


class TestDepositAddress:
    async def test_a_quote_has_the_gas_of_its_sweep(self) -> None:
        _, plain = await quote(an_app())
        _, swept = await quote(an_app(), method="deposit_address")

        before = QuoteAnswer.model_validate_json(plain).quote
        after = QuoteAnswer.model_validate_json(swept).quote
        # 100,000 units at 20 gwei of 3000 dollars.
        assert int(after.blockchain_fee_base_units) - int(before.blockchain_fee_base_units) == (
            6_000_000
        )
        assert int(before.receive_base_units) - int(after.receive_base_units) == 6_000_000

    async def test_the_minimum_includes_the_cost_of_a_sweep_and_a_refund(self) -> None:
        question_ = a_question().model_dump(include=set(RouteQuestion.model_fields))
        _, plain = await ask(an_app(), "POST", "/limits", orjson.dumps(question_))
        answer_ = orjson.dumps({**question_, "method": "deposit_address"})
        _, swept = await ask(an_app(), "POST", "/limits", answer_)

        before, after = (LimitsAnswer.model_validate_json(body) for body in (plain, swept))
        assert int(after.min_base_units) - int(before.min_base_units) == 4 * 6_000_000

    async def test_an_open_amount_has_rates_and_no_sums(self) -> None:
        status, body = await quote(an_app(), method="deposit_address", base_units="0", is_open=True)

        answer_ = QuoteAnswer.model_validate_json(body).quote
        assert status == 200
        sums = (
            answer_.requested_base_units,
            answer_.receive_base_units,
            answer_.total_fee_base_units,
        )
        assert sums == ("0", "0", "0")
        assert int(answer_.source_usd_e18) > 0

    async def test_an_open_amount_is_refused_without_inventory(self) -> None:
        app = an_app(a_market(inventory={}))

        status, body = await quote(app, method="deposit_address", base_units="0", is_open=True)

        assert (status, Refusal.model_validate_json(body).code) == (400, "INSUFFICIENT_LIQUIDITY")


class TestQuote:
    async def test_answers_with_everything_settling_needs(self) -> None:
        status, body = await quote(an_app(), refuel=True)

        answer = QuoteAnswer.model_validate_json(body)
        assert status == 200
        assert answer.lifetime_seconds == 300
        assert answer.quote.requested_base_units == "100000000"
        assert answer.quote.blockchain_fee_base_units == "1188"
        assert answer.quote.service_fee_base_units == "100000"
        assert answer.quote.total_fee_base_units == "101188"
        assert answer.quote.refuel_in_source_base_units == "1000938"
        assert answer.quote.receive_base_units == str(100_000_000 - 101_188 - 1_000_938)
        assert answer.quote.min_receive_base_units == str(98_897_874 * 995_000 // 1_000_000)
        assert answer.quote.completion_milliseconds == 10_000  # the route's estimate
        assert [step.provider for step in answer.quote.path] == ["SOLVER"]

    async def test_serves_what_swaps_of_the_route_really_took(self) -> None:
        market = a_market()
        key = (ETHEREUM, USDC[ETHEREUM], POLYGON, USDC[POLYGON])
        market.completion_milliseconds = {key: 1234}

        _, body = await quote(an_app(market))

        assert QuoteAnswer.model_validate_json(body).quote.completion_milliseconds == 1234

    async def test_uses_the_requested_slippage(self) -> None:
        _, body = await quote(an_app(), slippage_ppm=100_000)

        answer = QuoteAnswer.model_validate_json(body).quote
        assert answer.slippage_ppm == 100_000
        assert int(answer.min_receive_base_units) == int(answer.receive_base_units) * 9 // 10

    @pytest.mark.parametrize(
        ("members", "status", "code", "message"),
        [
            ({"source_network": "NOWHERE"}, 404, "ROUTE_NOT_FOUND_ERROR", "Route not found"),
            ({"destination_token": "0x" + "9" * 40}, 404, "ROUTE_NOT_FOUND_ERROR", "Route not"),
            (
                {"method": "gasless", "source_token": DAI[ETHEREUM]},
                400,
                "UNSUPPORTED_GASLESS",
                "sign",
            ),
            (
                {
                    "method": "deposit_address",
                    "source_network": POLYGON,
                    "source_token": USDC[POLYGON],
                    "destination_network": ETHEREUM,
                    "destination_token": USDC[ETHEREUM],
                },
                400,
                "QUOTE_REQUIRES_NO_DEPOSIT_ADDRESS",
                "deposit",
            ),
            ({"slippage_ppm": 800_000}, 400, "VALIDATION_ERROR", "below 0.8"),
            ({"slippage_ppm": -1}, 400, "VALIDATION_ERROR", "slippage"),
            ({"base_units": "1.5"}, 400, "VALIDATION_ERROR", "base_units"),
            ({"surprise": 1}, 400, "VALIDATION_ERROR", "surprise"),
        ],
    )
    async def test_refuses_with_a_public_code(
        self, members: dict[str, Any], status: int, code: str, message: str
    ) -> None:
        answered, body = await quote(an_app(), **members)

        refusal = Refusal.model_validate_json(body)
        assert (answered, refusal.code) == (status, code)
        assert message in refusal.message

    async def test_finds_a_token_however_its_address_is_written(self) -> None:
        status, _ = await quote(an_app(), source_token=USDC[ETHEREUM].upper().replace("0X", "0x"))

        assert status == 200

    async def test_names_the_limit_beside_the_code(self) -> None:
        market = a_market(inventory={(POLYGON, USDC[POLYGON]): 60_000_000})

        answers = [await quote(an_app(market), base_units=n) for n in ("1", "99000000", "1" * 20)]

        refusals = [(status, Refusal.model_validate_json(body)) for status, body in answers]
        assert [(status, r.code) for status, r in refusals] == [
            (400, "LESS_THAN_MIN_ERROR"),
            (400, "INSUFFICIENT_LIQUIDITY"),
            (400, "GREATER_THAN_MAX_ERROR"),
        ]
        assert refusals[0][1].limit_base_units == "22800000"
        assert refusals[1][1].limit_base_units == refusals[2][1].limit_base_units

    async def test_reports_that_a_rate_is_missing(self) -> None:
        status, body = await quote(an_app(a_market(prices={"ETH": "3000"})))

        assert (status, Refusal.model_validate_json(body).message) == (404, "Rate not available")

    async def test_reports_that_there_is_no_depository(self) -> None:
        app = an_app(catalogue=a_catalogue(depository=None))

        refused, body = await quote(app, method="depository")
        direct, _ = await quote(app, method="direct")

        assert Refusal.model_validate_json(body).code == "UNSUPPORTED_DEPOSITORY"
        assert (refused, direct) == (400, 200)

    async def test_opens_no_socket_and_no_file(self) -> None:
        app, events = an_app(), []
        is_watching = True

        def count(event: str, _: tuple[object, ...]) -> None:
            if is_watching and (event.startswith(("socket.", "subprocess.")) or event == "open"):
                events.append(event)

        sys.addaudithook(count)  # cannot be removed
        try:
            for amount in range(50_000_000, 50_000_200):
                status, _ = await quote(app, base_units=str(amount))
                assert status == 200
        finally:
            is_watching = False

        assert events == []


class TestExactOutput:
    async def test_asks_for_the_amount_that_brings_it(self) -> None:
        status, body = await quote(an_app(), base_units="0", receive_base_units="99000000")

        answer_ = QuoteAnswer.model_validate_json(body).quote
        assert status == 200
        assert answer_.receive_base_units == "99000000"
        _, same = await quote(an_app(), base_units=answer_.requested_base_units)
        assert QuoteAnswer.model_validate_json(same).quote == answer_

    async def test_is_refused_beyond_the_limits_of_the_route(self) -> None:
        answers = [
            await quote(an_app(), base_units="0", receive_base_units=question_)
            for question_ in ("0", "1", "1" + "0" * 60)
        ]

        codes = [Refusal.model_validate_json(body).code for _, body in answers]
        assert codes == ["LESS_THAN_MIN_ERROR", "LESS_THAN_MIN_ERROR", "GREATER_THAN_MAX_ERROR"]


class TestPartnerFee:
    async def test_is_a_part_of_the_service_fee(self) -> None:
        _, plain = await quote(an_app())
        _, shared = await quote(an_app(), partner_fee_basis_points=50)

        before, after = (QuoteAnswer.model_validate_json(body).quote for body in (plain, shared))
        assert before.partner_fee_base_units == "0"
        assert after.partner_fee_base_units == "500000"
        assert int(after.service_fee_base_units) == int(before.service_fee_base_units) + 500_000
        assert int(after.receive_base_units) == int(before.receive_base_units) - 500_000

    async def test_limits_have_it_too(self) -> None:
        market = a_market(inventory={(POLYGON, USDC[POLYGON]): 10**9})
        question_ = a_question().model_dump(include=set(RouteQuestion.model_fields))
        _, plain = await ask(an_app(market), "POST", "/limits", orjson.dumps(question_))
        shared = orjson.dumps({**question_, "partner_fee_basis_points": 1000})
        _, body = await ask(an_app(market), "POST", "/limits", shared)

        before, after = (LimitsAnswer.model_validate_json(answer_) for answer_ in (plain, body))
        assert int(after.max_base_units) > int(before.max_base_units)
        assert (await quote(an_app(market), base_units=after.max_base_units))[0] == 400
        highest = {"base_units": after.max_base_units, "partner_fee_basis_points": 1000}
        assert (await quote(an_app(market), **highest))[0] == 200

    async def test_is_a_tenth_at_the_most(self) -> None:
        assert PARTNER_FEE_MAX == fees.PARTNER_FEE_MAX == 1000
        assert (await quote(an_app(), partner_fee_basis_points=1001))[0] == 400


class TestExplanation:
    async def test_is_not_made_for_who_does_not_ask(self) -> None:
        _, body = await quote(an_app())

        assert QuoteAnswer.model_validate_json(body).explanation is None

    async def test_leads_from_the_inputs_to_the_quote(self) -> None:
        market = a_market()
        market.prices_by_source = {"file": market.prices}
        question_ = {"explain": True, "refuel": True, "partner_fee_basis_points": 50}

        _, body = await quote(an_app(market), **question_)

        answer = QuoteAnswer.model_validate_json(body)
        answer_ = answer.explanation
        assert answer_ is not None
        by_name = {step.name: int(step.value) for step in answer_.steps}
        quoted = answer.quote
        assert by_name["requested"] == int(quoted.requested_base_units)
        assert by_name["service_fee"] == -(-by_name["requested"] * 60 // 10_000)
        assert by_name["partner_fee"] == int(quoted.partner_fee_base_units)
        assert by_name["converted"] == (
            by_name["requested"] - by_name["service_fee"] - by_name["fixed_cost"]
        )
        assert by_name["receive"] == (
            by_name["converted"] * by_name["rate_numerator"] // by_name["rate_denominator"]
        )
        assert by_name["receive"] == int(quoted.receive_base_units)
        assert by_name["min_receive"] == int(quoted.min_receive_base_units)
        assert by_name["total_fee"] == int(quoted.total_fee_base_units)
        assert {price.symbol for price in answer_.prices} == {"USDC", "ETH", "POL"}
        assert all(price.sources[0].source == "file" for price in answer_.prices)
        assert answer_.fees.partner_fee_basis_points == 50
        assert answer_.limits.min_base_units == "22800000"

    async def test_shows_how_an_amount_follows_from_what_is_received(self) -> None:
        question_ = {"explain": True, "base_units": "0", "receive_base_units": "99000000"}

        _, body = await quote(an_app(), **question_)

        answer = QuoteAnswer.model_validate_json(body)
        assert answer.explanation is not None
        by_name = {step.name: int(step.value) for step in answer.explanation.steps}
        assert (by_name["asked_receive"], by_name["needed"]) == (99_000_000, 99_000_000)
        assert by_name["requested"] == int(answer.quote.requested_base_units)

    async def test_names_what_is_not_offered_and_why(self) -> None:
        _, body = await quote(
            an_app(), explain=True, source_token=DAI[ETHEREUM], base_units=str(10**20)
        )

        answer_ = QuoteAnswer.model_validate_json(body).explanation
        assert answer_ is not None
        assert [(one.method, one.code) for one in answer_.rejected] == [
            ("gasless", "UNSUPPORTED_GASLESS")
        ]


class TestQuotes:
    async def test_answers_each_of_many_questions_separately(self) -> None:
        question_ = [
            a_question(base_units=base_units) for base_units in ("100000000", "1", "200000000")
        ]
        body = QuoteQuestions(questions=tuple(question_)).model_dump_json().encode()

        status, answered = await ask(an_app(), "POST", "/quotes", body)

        first, refused, last = QuotesAnswer.model_validate_json(answered).outcomes
        assert status == 200
        _, alone = await quote(an_app())
        assert first.answer == QuoteAnswer.model_validate_json(alone)
        assert (refused.answer, refused.refusal and refused.refusal.code) == (
            None,
            "LESS_THAN_MIN_ERROR",
        )
        assert last.answer is not None
        assert last.answer.quote.requested_base_units == "200000000"

    async def test_refuses_more_than_go_into_one_request(self) -> None:
        body = orjson.dumps({"questions": [a_question().model_dump()] * (QUESTIONS_MAX + 1)})

        assert (await ask(an_app(), "POST", "/quotes", body))[0] == 400


class TestLimits:
    async def test_gives_both_and_the_price(self) -> None:
        question = a_question().model_dump(include=set(RouteQuestion.model_fields))

        status, body = await ask(an_app(), "POST", "/limits", orjson.dumps(question))

        answer = LimitsAnswer.model_validate_json(body)
        assert status == 200
        assert answer.min_base_units == "22800000"
        assert answer.max_base_units == str(50_000 * 10**6)
        assert answer.source_usd_e18 == str(10**18)

    async def test_agrees_with_the_quotes(self) -> None:
        question = a_question().model_dump(include=set(RouteQuestion.model_fields))
        app = an_app(catalogue=a_catalogue(a_rule(service_fee_basis_points=37)))
        _, body = await ask(app, "POST", "/limits", orjson.dumps(question))
        limits = LimitsAnswer.model_validate_json(body)

        low, high = int(limits.min_base_units), int(limits.max_base_units)
        answers = [await quote(app, base_units=str(n)) for n in (low - 1, low, high, high + 1)]

        assert [status for status, _ in answers] == [400, 200, 200, 400]


class TestPrices:
    async def test_lists_only_what_is_fresh(self) -> None:
        status, body = await ask(an_app(a_market(prices={"ETH": "3000"})), "GET", "/prices")

        (price,) = PricesAnswer.model_validate_json(body).prices
        assert status == 200
        assert (price.network, price.token) == (ETHEREUM, NATIVE)
        assert price.usd_e18 == str(3000 * 10**18)


class TestOtherRequests:
    @pytest.mark.parametrize(
        ("method", "path", "body", "status"),
        [
            ("GET", "/nothing", b"", 404),
            ("GET", "/quote", b"", 405),
            ("POST", "/quote", b"x" * (BODY_BYTES_MAX + 1), 413),
            ("POST", "/quote", b"{", 400),
        ],
    )
    async def test_are_refused_in_the_same_form(
        self, method: str, path: str, body: bytes, status: int
    ) -> None:
        answered, answer = await ask(an_app(), method, path, body)

        assert answered == status
        assert Refusal.model_validate_json(answer).message


class TestTiming:
    @pytest.mark.parametrize(("path", "kind"), [("/quote", "quote"), ("/prices", "prices")])
    async def test_counts_every_response_of_an_address(self, path: str, kind: str) -> None:
        """This includes a refusal: the first body is no valid request."""
        before = timed(kind)

        await ask(an_app(), "GET" if kind == "prices" else "POST", path)

        assert timed(kind) == before + 1

    async def test_counts_no_unknown_address(self) -> None:
        await ask(an_app(), "GET", "/nowhere")

        assert timed("nowhere") == 0


def timed(kind: str) -> float:
    return REGISTRY.get_sample_value("swap_quoter_answer_seconds_count", {"kind": kind}) or 0
