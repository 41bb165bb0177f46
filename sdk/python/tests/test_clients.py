"""The clients against answers of a test."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest

from swap_sdk import ApiError, AsyncClient, Client, Retries, Unreachable

ROUTE = {
    "source_network": "ETHEREUM_DEVNET",
    "source_token": "ETH",
    "destination_network": "BASE_DEVNET",
    "destination_token": "ETH",
}
QUICK = Retries(first_pause=0.001, longest_pause=0.01)
Answer = httpx.Response | Exception


def data(content: Any) -> httpx.Response:
    return httpx.Response(200, json={"data": content, "error": None})


def error(status: int, code: str, **headers: str) -> httpx.Response:
    problem = {"code": code, "message": "No.", "metadata": {"request_id": "r-1"}}
    content = {"data": None, "error": problem}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json=content, headers=named)


class Service:
    """Returns the given answers in turn, repeats the last one, and records requests."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(
            answer.status_code, content=answer.content, headers=dict(answer.headers)
        )

    def keys(self) -> set[str]:
        return {request.headers["idempotency-key"] for request in self.requests}


def blocking(service: Service, retries: Retries = QUICK) -> Client:
    transport = httpx.MockTransport(service)
    return Client("http://swaps.example", "svc_test_1", retries=retries, transport=transport)


Create = Callable[[Service], Any]


async def created(service: Service) -> Any:
    """Create a swap with both clients; both get the same answers."""
    answers = list(service.answers)
    with blocking(service) as swaps:
        first = swaps.create_swap(destination_address="0x1", amount="0.1", **ROUTE)
    service.answers = answers
    transport = httpx.MockTransport(service)
    async with AsyncClient(
        "http://swaps.example", "svc_test_1", retries=QUICK, transport=transport
    ) as swaps:
        assert await swaps.create_swap(destination_address="0x1", amount="0.1", **ROUTE) == first
    return first


class TestCreating:
    async def test_sends_amounts_as_text_and_the_key_in_its_header(self) -> None:
        service = Service(data({"swap": {"id": "1"}}))

        assert await created(service) == {"swap": {"id": "1"}}

        request = service.requests[0]
        assert json.loads(request.content) == {
            **ROUTE,
            "destination_address": "0x1",
            "amount": "0.1",
        }
        assert request.headers["x-svc-apikey"] == "svc_test_1"

    def test_refuses_an_amount_that_is_not_exact(self) -> None:
        service = Service()

        with blocking(service) as swaps, pytest.raises(TypeError, match="not exact"):
            swaps.create_swap(destination_address="0x1", amount=0.1, **ROUTE)

        assert service.requests == []

    @pytest.mark.parametrize(
        "failures",
        [
            [httpx.ConnectError("refused")],
            [httpx.ReadTimeout("slow"), error(503, "SERVICE_UNAVAILABLE")],
            [error(409, "IDEMPOTENCY_KEY_IN_PROGRESS")],
            [
                httpx.Response(502, text="<html>"),
                error(429, "RATE_LIMITED", **{"retry-after": "0"}),
            ],
        ],
    )
    async def test_tries_again_with_the_same_idempotency_key(
        self, failures: Sequence[Answer]
    ) -> None:
        service = Service(*failures, data({"swap": {"id": "1"}}))

        assert await created(service) == {"swap": {"id": "1"}}

        assert len(service.requests) == 2 * (len(failures) + 1)
        assert len(service.keys()) == 2  # one for each of the two calls

    @pytest.mark.parametrize(
        ("status", "code"),
        [(400, "VALIDATION_ERROR"), (404, "NOT_FOUND"), (429, "TOO_MANY_PENDING_SWAPS")],
    )
    def test_does_not_try_again_what_will_not_pass(self, status: int, code: str) -> None:
        service = Service(error(status, code))

        with blocking(service) as swaps, pytest.raises(ApiError) as caught:
            swaps.create_swap(destination_address="0x1", amount=1, **ROUTE)

        assert (caught.value.code, caught.value.request_id) == (code, "r-1")
        assert len(service.requests) == 1


class TestSaying:
    def test_of_a_signature_is_done_once_whatever_gets_lost(self) -> None:
        service = Service(httpx.ReadTimeout("slow"), data({"status": "submitted"}))

        with blocking(service) as swaps:
            swaps.authorize("1", signature="0x1", signer_address="0x2")

        assert len(service.requests) == 2
        assert len(service.keys()) == 1


class TestReading:
    def test_abandons_in_the_end(self) -> None:
        service = Service(httpx.ConnectError("refused"))

        with blocking(service) as swaps, pytest.raises(Unreachable, match="refused"):
            swaps.swap("1")

        assert len(service.requests) == 4

    def test_does_not_wait_longer_than_it_may(self) -> None:
        service = Service(error(429, "RATE_LIMITED", retry_after="3600"))

        with blocking(service) as swaps, pytest.raises(ApiError):
            swaps.networks()

        assert len(service.requests) == 1

    def test_sends_lists_repeated_and_flags_as_json(self) -> None:
        service = Service(data([]))

        with blocking(service) as swaps:
            swaps.swaps("0x1", "0x2", statuses=["completed", "failed"], include_expired=True)

        query = service.requests[0].url.query.decode()
        assert query == (
            "address=0x1&address=0x2&statuses=completed&statuses=failed&include_expired=true"
        )

    def test_waits_until_a_swap_is_closed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("swap_sdk.blocking.POLL_SECONDS", 0.001)
        states = ("user_transfer_pending", "ls_transfer_pending", "completed")
        service = Service(*(data({"swap": {"status": status}}) for status in states))

        with blocking(service) as swaps:
            assert swaps.wait_until_closed("1", within=5)["swap"]["status"] == "completed"

    def test_reports_a_timeout(self) -> None:
        service = Service(data({"swap": {"status": "ls_transfer_pending"}}))

        with blocking(service) as swaps, pytest.raises(TimeoutError, match="ls_transfer_pending"):
            swaps.wait_until_closed("1", within=0)

    def test_requests_only_the_swap_for_any_id(self) -> None:
        service = Service(error(400, "VALIDATION_ERROR"))

        with blocking(service) as swaps, pytest.raises(ApiError):
            swaps.swap("../health?x=1")

        assert service.requests[0].url.raw_path == b"/api/v2/swaps/..%2Fhealth%3Fx%3D1"


def tagged(status: str, tag: str) -> httpx.Response:
    content = {"data": {"swap": {"status": status}}, "error": None}
    return httpx.Response(200, json=content, headers={"etag": tag})


class TestReadingAgain:
    def test_names_what_it_has_and_takes_it_where_nothing_changed(self) -> None:
        service = Service(
            tagged("user_transfer_pending", '"1"'), httpx.Response(304), tagged("completed", '"2"')
        )

        with blocking(service) as swaps:
            read = [swaps.swap("1")["swap"]["status"] for _ in range(3)]

        assert read == ["user_transfer_pending", "user_transfer_pending", "completed"]
        named = [request.headers.get("if-none-match") for request in service.requests]
        assert named == [None, '"1"', '"1"']

    async def test_does_so_when_it_is_awaited_too(self) -> None:
        service = Service(tagged("completed", '"1"'), httpx.Response(304))
        transport = httpx.MockTransport(service)
        async with AsyncClient("http://swaps.example", "svc_test_1", transport=transport) as swaps:
            first = await swaps.swap("1")
            assert await swaps.swap("1") == first

    def test_keeps_what_was_asked_apart(self) -> None:
        service = Service(tagged("completed", '"1"'))

        with blocking(service) as swaps:
            swaps.swap("1")
            swaps.swap("2")
            swaps.swap("1", exclude_deposit_actions=True)

        assert all("if-none-match" not in request.headers for request in service.requests)


def event_stream(*statuses: str, first: int = 1) -> httpx.Response:
    events = [
        {"sequence": n, "type": f"swap.{status}", "from_status": None, "to_status": status}
        for n, status in enumerate(statuses, first)
    ]
    rows = (f"id: {event['sequence']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return httpx.Response(200, text="retry: 1000\n\n: alive\n\n" + "".join(rows))


class TestFollowing:
    ANSWERS = (
        event_stream("user_transfer_pending", "ls_transfer_pending"),
        httpx.ConnectError("refused"),
        error(503, "SERVICE_UNAVAILABLE"),
        event_stream("ls_transfer_pending", "completed", first=2),
    )
    STATUSES = ("user_transfer_pending", "ls_transfer_pending", "completed")

    def test_comes_again_from_where_it_was_until_the_swap_is_closed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("swap_sdk.blocking.COME_AGAIN_SECONDS", 0.001)
        service = Service(*self.ANSWERS)

        with blocking(service) as swaps:
            received = [event["to_status"] for event in swaps.follow("1")]

        assert tuple(received) == self.STATUSES
        named = [request.headers["last-event-id"] for request in service.requests]
        assert named == ["0", "2", "2", "2"]

    async def test_does_so_when_it_is_awaited_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("swap_sdk.awaited.COME_AGAIN_SECONDS", 0.001)
        transport = httpx.MockTransport(Service(*self.ANSWERS))
        async with AsyncClient(
            "http://swaps.example", "svc_test_1", retries=QUICK, transport=transport
        ) as swaps:
            received = [event["to_status"] async for event in swaps.follow("1")]

        assert tuple(received) == self.STATUSES

    def test_returns_the_message_of_the_service(self) -> None:
        service = Service(error(404, "NOT_FOUND"))

        with blocking(service) as swaps, pytest.raises(ApiError, match="NOT_FOUND"):
            next(swaps.follow("1"))


def test_an_option_outside_of_the_options_is_not_lost_in_silence() -> None:
    service = Service(data({}))
    misplaced: Any = {**ROUTE, "refund_address": "0x" + "11" * 20}

    with pytest.raises(TypeError, match="refund_address: give it in `options`"):
        blocking(service).create_swap(destination_address="0x" + "22" * 20, amount="1", **misplaced)

    assert service.requests == []
