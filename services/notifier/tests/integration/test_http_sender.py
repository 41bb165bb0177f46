"""One attempt over real sockets."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import standardwebhooks
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from services.notifier.tests.factories import INSIDE, NOW, SECRET, a_claim
from services.notifier.tests.sink import Sink, answering, close_connection, never_answer
from swap_notifier.adapters.guard import SystemNames, guarded_connector, raise_resolver_threads
from swap_notifier.adapters.http_sender import HttpSender, retry_after_of
from swap_notifier.domain.addresses import NOWHERE_PUBLIC
from swap_notifier.domain.outcomes import Answer


@asynccontextmanager
async def a_sender(
    *, loopback: bool = True, seconds: float = 5, resolver: AbstractResolver | None = None
) -> AsyncIterator[HttpSender]:
    connector = guarded_connector(allow_loopback=loopback, resolver=resolver)
    sender = HttpSender(connector, timeout=timedelta(seconds=seconds))
    yield sender
    await sender.close()


async def attempt(url: str, **how: Any) -> Answer:
    async with a_sender(**how) as sender:
        return await sender.send(a_claim(url=url), at=datetime.now(UTC))


@asynccontextmanager
async def receiving(
    handler: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    """Listen below HTTP, and return the port."""
    async with await asyncio.start_server(handler, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


class ChangingResolver(AbstractResolver):
    """A name that resolves to a public address at the check and to a private one at the dial."""

    def __init__(self, address: str, port: int) -> None:
        self._address = address
        self._port = port

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=self._address,
                port=self._port,
                family=socket.AF_INET6 if ":" in self._address else socket.AF_INET,
                proto=0,
                flags=0,
            )
        ]

    async def close(self) -> None:
        pass


class TestSend:
    @pytest.mark.fault("N10")
    async def test_n10_sends_the_stored_bytes_signed(self, sink: Sink) -> None:
        answer = await attempt(sink.at("/"))

        (received,) = sink.received
        assert answer.http_status == 204
        assert received.body == a_claim().body
        assert received.headers["webhook-event-type"] == "swap.completed"
        assert received.headers["content-type"] == "application/json"
        standardwebhooks.Webhook(SECRET).verify(received.body, received.headers)

    async def test_keeps_the_connection(self, sink: Sink) -> None:
        ports = []

        async def note(request: web.Request) -> web.StreamResponse:
            assert request.transport is not None
            ports.append(request.transport.get_extra_info("peername")[1])
            return web.Response(text="ok")

        async with a_sender() as sender:
            for _ in range(3):
                await sender.send(a_claim(url=sink.at("/", note)), at=NOW)

        assert len(set(ports)) == 1

    @pytest.mark.parametrize("elsewhere", ["{sink}/elsewhere", "http://169.254.169.254/latest"])
    @pytest.mark.fault("N4")
    async def test_n4_does_not_follow_a_redirect(self, sink: Sink, elsewhere: str) -> None:
        url = sink.at("/", answering(302, location=elsewhere.format(sink=sink.url)))

        answer = await attempt(url)

        assert answer.http_status == 302
        assert not answer.is_success
        assert list(sink.by_path()) == ["/"]

    async def test_reports_a_lost_answer(self, sink: Sink) -> None:
        answer = await attempt(sink.at("/", close_connection))

        assert answer.http_status is None
        assert answer.error

    @pytest.mark.fault("N3")
    async def test_n3_times_out_on_a_receiver_that_hangs(self, sink: Sink) -> None:
        answer = await attempt(sink.at("/", never_answer), seconds=0.2)

        assert answer.http_status is None
        assert answer.error is not None
        assert "Timeout" in answer.error

    @pytest.mark.fault("N3")
    async def test_n3_does_not_wait_for_a_body_that_drips(self, sink: Sink) -> None:
        async def drip(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            while True:
                await response.write(b"x")
                await asyncio.sleep(0.05)

        async with asyncio.timeout(20):  # it sends single bytes forever
            answer = await attempt(sink.at("/", drip))

        assert answer.http_status == 200

    @pytest.mark.fault("N3")
    async def test_n3_reads_no_more_than_a_little(self, sink: Sink) -> None:
        written = 0

        async def flood(request: web.Request) -> web.StreamResponse:
            nonlocal written
            response = web.StreamResponse()
            await response.prepare(request)
            for _ in range(1000):
                await response.write(b"x" * 65_536)
                written += 65_536
            return response

        answer = await attempt(sink.at("/", flood))

        assert answer.http_status == 200
        assert written < 50_000_000

    @pytest.mark.fault("N15")
    async def test_n15_honours_retry_after(self, sink: Sink) -> None:
        answer = await attempt(sink.at("/", answering(503, retry_after="17")))

        assert answer.retry_after == timedelta(seconds=17)

    @pytest.mark.fault("N15")
    async def test_n15_returns_the_status_with_every_filter(self, sink: Sink) -> None:
        answer = await attempt(sink.at("/", answering(503, retry_after="9" * 5000)))

        assert (answer.http_status, answer.retry_after) == (503, None)

    @pytest.mark.fault("N3")
    async def test_n3_times_out_on_slow_headers(self) -> None:
        async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nx: ")
            while not writer.is_closing():
                writer.write(b"x")
                await asyncio.sleep(0.05)

        async with receiving(drip) as port:
            answer = await attempt(f"http://127.0.0.1:{port}/", seconds=0.5)

        assert answer.http_status is None

    @pytest.mark.parametrize("status", [200, 500])
    async def test_accepts_it_only_from_a_receiver_that_requests_a_pause(
        self, sink: Sink, status: int
    ) -> None:
        answer = await attempt(sink.at("/", answering(status, retry_after="17")))

        assert (answer.http_status, answer.retry_after) == (status, None)


class TestStoredExchange:
    async def test_has_what_was_sent_and_what_was_answered(self, sink: Sink) -> None:
        async def refuse(_: web.Request) -> web.StreamResponse:
            headers = {"x-reason": "busy", "set-cookie": "session=1"}
            return web.Response(status=500, text="no <script>", headers=headers)

        answer = await attempt(sink.at("/", refuse))

        (received,) = sink.received
        assert answer.request_headers == {
            name: received.headers[name] for name in answer.request_headers
        }
        assert set(answer.request_headers) == {
            "webhook-id",
            "webhook-timestamp",
            "webhook-signature",
            "webhook-event-type",
            "content-type",
            "user-agent",
            "accept-encoding",
        }
        assert answer.response is not None
        assert answer.response.headers["x-reason"] == "busy"
        assert "set-cookie" not in answer.response.headers
        assert (answer.response.body, answer.response.is_cut) == ("no <script>", False)

    @pytest.mark.parametrize(("length", "is_cut"), [(4096, False), (4097, True), (10**6, True)])
    async def test_has_a_bounded_body(self, sink: Sink, length: int, is_cut: bool) -> None:
        async def send_long_answer(_: web.Request) -> web.StreamResponse:
            return web.Response(text="x" * length)

        answer = await attempt(sink.at("/", send_long_answer))

        assert answer.response is not None
        assert answer.response.body == "x" * 4096
        assert answer.response.is_cut is is_cut

    async def test_has_the_request_where_there_was_no_answer(self, sink: Sink) -> None:
        answer = await attempt(sink.at("/", close_connection))

        assert answer.request_headers["webhook-event-type"] == "swap.completed"
        assert answer.response is None


class TestGuard:
    @pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::"])
    @pytest.mark.fault("N6")
    async def test_n6_refuses_a_name_that_turns_inside_after_it_was_checked(
        self, sink: Sink, address: str
    ) -> None:
        names = ChangingResolver(address, int(sink.url.rpartition(":")[2]))

        answer = await attempt("http://hooks.example.com/", loopback=False, resolver=names)

        assert answer.http_status is None
        assert answer.error == NOWHERE_PUBLIC
        assert sink.received == []

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433", "[::1]"])
    @pytest.mark.fault("N7")
    async def test_n7_refuses_every_spelling_of_this_machine(self, sink: Sink, host: str) -> None:
        port = sink.url.rpartition(":")[2]

        answer = await attempt(f"http://{host}:{port}/", loopback=False)

        assert answer.http_status is None
        assert sink.received == []

    @pytest.mark.parametrize("address", INSIDE)
    @pytest.mark.fault("N5")
    async def test_n5_does_not_connect_to_internal_addresses(self, address: str) -> None:
        names = ChangingResolver(address.partition("%")[0], 80)

        answer = await attempt("http://hooks.example.com/", loopback=False, resolver=names)

        assert answer.http_status is None
        assert answer.error == NOWHERE_PUBLIC

    @pytest.mark.fault("N5")
    async def test_n5_gives_the_same_answer_for_an_unknown_name(self) -> None:
        class FailingResolver(ChangingResolver):
            async def resolve(self, *_: Any, **__: Any) -> list[ResolveResult]:
                raise OSError(socket.EAI_NONAME, "Name or service not known")

        answer = await attempt(
            "http://hooks.example.com/", loopback=False, resolver=FailingResolver("127.0.0.1", 80)
        )

        assert answer.error == NOWHERE_PUBLIC

    @pytest.mark.fault("N6")
    async def test_n6_keeps_the_name_of_what_it_dials_by_its_address(self, sink: Sink) -> None:
        names = ChangingResolver("127.0.0.1", int(sink.url.rpartition(":")[2]))

        await attempt("http://hooks.example.com/", resolver=names)

        (received,) = sink.received
        assert received.headers["host"] == "hooks.example.com"

    @pytest.mark.fault("N6")
    async def test_n6_names_the_server_in_the_greeting_of_tls(self) -> None:
        greeting = asyncio.get_running_loop().create_future()

        async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            greeting.set_result(await reader.read(4096))
            writer.close()

        async with receiving(listen) as port:
            names = ChangingResolver("127.0.0.1", port)
            await attempt(f"https://hooks.example.com:{port}/", resolver=names)

        assert b"hooks.example.com" in await greeting


class TestNames:
    async def test_without_an_answer_do_not_delay_other_names(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answered = threading.Event()

        def look_up(host: str, *_: Any, **__: Any) -> list[Any]:
            if host.startswith("slow"):
                answered.wait(10)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 80))]

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        raise_resolver_threads(asyncio.get_running_loop())
        names = SystemNames()
        slow = [asyncio.create_task(names.addresses(f"slow{n}.example", 80)) for n in range(100)]
        try:
            async with asyncio.timeout(5):
                assert await names.addresses("quick.example", 80) == ["93.184.215.14"]
            assert not any(one.done() for one in slow)
        finally:
            answered.set()
            await asyncio.gather(*slow)


class TestRetryAfterOf:
    @pytest.mark.parametrize(
        ("value", "seconds"),
        [
            (None, None),
            ("12", 12),
            ("Thu, 01 Jan 2026 12:01:00 GMT", 60),
            ("Thu, 01 Jan 2026 11:00:00 GMT", 0),
            ("soon", None),
            ("-5", None),
            ("9" * 30, 10**6),
            ("9" * 5000, None),
            ("Fri, 31 Dec 9999 23:59:59 -0001", None),
            (f"Fri, 31 Dec {'9' * 30} 23:59:59 GMT", None),
        ],
    )
    def test_reads_seconds_and_dates(self, value: str | None, seconds: int | None) -> None:
        expected = None if seconds is None else timedelta(seconds=seconds)

        assert retry_after_of(value, at=NOW) == expected
