"""The client address of a request, with proxies of every kind."""

from __future__ import annotations

from typing import Any

import pytest

from swap_api.http.clients import Clients
from swap_api.http.requests import Request

PROXIES = Clients(["10.0.0.0/8", "198.51.100.0/24"])


async def nothing() -> Any:
    raise NotImplementedError


def a_request(*forwarded: str, peer: str = "10.0.0.1") -> Request:
    """Return a request with these header lines of proxies."""
    headers = [(b"x-forwarded-for", line.encode()) for line in forwarded]
    return Request({"type": "http", "path": "/", "headers": headers, "client": (peer, 1)}, nothing)


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ((), "10.0.0.1"),
        (("192.0.2.1",), "192.0.2.1"),
        (("192.0.2.9, 192.0.2.1",), "192.0.2.1"),
        (("192.0.2.1, 198.51.100.7",), "192.0.2.1"),
        (("192.0.2.1", "198.51.100.7"), "192.0.2.1"),
        (("192.0.2.9", "192.0.2.1, 198.51.100.7"), "192.0.2.1"),
        (("192.0.2.1:50124",), "192.0.2.1"),
        (("192.0.2.1:50124, 198.51.100.7:443",), "192.0.2.1"),
        (("2001:db8::1",), "2001:db8::/64"),
        (("[2001:db8::1]:50124",), "2001:db8::/64"),
        (("::ffff:192.0.2.1",), "192.0.2.1"),
        (("somebody",), "unknown"),
    ],
)
def test_the_last_that_no_trusted_proxy_has(forwarded: tuple[str, ...], client: str) -> None:
    assert PROXIES.bucket(a_request(*forwarded)) == client


def test_headers_of_unknown_proxies_are_not_trusted() -> None:
    request = a_request("192.0.2.1", peer="203.0.113.5")

    assert PROXIES.bucket(request) == "203.0.113.5"
