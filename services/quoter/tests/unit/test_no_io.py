"""A quote needs no I/O: all its data is in memory. The test counts outgoing calls."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from services.quoter.tests.factories import a_question
from services.quoter.tests.unit.test_http import an_app, answer
from swap_contracts.quoting import QuoteAnswer, QuotesAnswer

QUESTIONS = 200
# Calls that transfer bytes or wait for them; the audit hook reports connects and lookups.
SOCKET_CALLS = ("send", "sendall", "sendto", "sendmsg", "recv", "recv_into", "recvfrom", "recvmsg")
IO_EVENTS = ("socket.", "open", "subprocess.", "os.posix_spawn", "os.exec", "os.fork")


@dataclass
class CountedCalls:
    """Outgoing calls, by name."""

    calls: list[str] = field(default_factory=list)
    is_counting: bool = False


COUNTED = CountedCalls()


def _record_event(event: str, _arguments: tuple[Any, ...]) -> None:
    if COUNTED.is_counting and event.startswith(IO_EVENTS):
        COUNTED.calls.append(event)


sys.addaudithook(_record_event)  # cannot be removed; it records only during these tests


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[CountedCalls]:
    for name in SOCKET_CALLS:
        monkeypatch.setattr(socket.socket, name, _counting(name))
    COUNTED.calls.clear()
    yield COUNTED
    COUNTED.is_counting = False


def _counting(name: str) -> Any:
    moved = getattr(socket.socket, name)

    def counting(self: socket.socket, *arguments: Any, **named: Any) -> Any:
        if COUNTED.is_counting:
            COUNTED.calls.append(name)
        return moved(self, *arguments, **named)

    return counting


@contextmanager
def counting(counted: CountedCalls) -> Iterator[None]:
    counted.is_counting = True
    try:
        yield
    finally:
        counted.is_counting = False


def test_a_quote_touches_no_socket_and_no_file(counted: CountedCalls) -> None:
    app = an_app()
    question = a_question().model_dump()
    one = orjson.dumps(question)
    many = orjson.dumps({"questions": [question] * 20})
    explained = orjson.dumps({**question, "explain": True})
    requests = [("/quote", one), ("/quotes", many), ("/quote", explained)]
    for path, body in requests:
        answer(app, "POST", path, body)  # loads and creates what is used first
    open_files = len(os.listdir("/proc/self/fd"))

    with counting(counted):
        answers = [answer(app, "POST", *requests[n % len(requests)]) for n in range(QUESTIONS)]

    assert counted.calls == []
    assert len(os.listdir("/proc/self/fd")) == open_files
    assert {status for status, _ in answers} == {200}
    assert QuoteAnswer.model_validate_json(answers[0][1]).quote
    assert len(QuotesAnswer.model_validate_json(answers[1][1]).outcomes) == 20


def test_nor_could_it_wait_for_another_transaction() -> None:
    """All I/O of this process needs an event loop, and none runs here."""
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()

    status, _ = answer(an_app(), "POST", "/quote", orjson.dumps(a_question().model_dump()))

    assert status == 200


def test_a_socket_would_be_counted(counted: CountedCalls) -> None:
    with counting(counted):
        here, there = socket.socketpair()
        here.send(b"?")
        there.recv(1)
        here.close()
        there.close()
        with socket.socket() as other:
            other.connect_ex(("127.0.0.1", 9))

    assert {"send", "recv", "socket.connect"} <= set(counted.calls)
