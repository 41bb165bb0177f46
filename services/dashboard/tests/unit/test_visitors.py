"""The client address of a request, behind proxies."""

from __future__ import annotations

from typing import Any, cast

import pytest
from starlette.requests import Request

from swap_dashboard.http.cookies import Cookies
from swap_dashboard.http.visitors import Visitors

PROXY = "10.0.3.4"
CLIENT = "203.0.113.7"


def address(*headers: str, peer: str = PROXY, proxies: tuple[str, ...] = ("10.0.3.1/24",)) -> str:
    """Return the address under which a request is counted."""
    unused = cast(Any, None)
    visitors = Visitors(unused, unused, Cookies(is_https=True), trusted_proxies=proxies)
    sent = [(b"x-forwarded-for", one.encode()) for one in headers]
    return visitors.address(Request({"type": "http", "client": (peer, 1), "headers": sent}))


class TestAddresses:
    @pytest.mark.parametrize(
        "headers",
        [
            (CLIENT,),
            (f"{CLIENT}, 10.0.3.9",),
            ("198.51.100.1", CLIENT),
            ("198.51.100.1", f"198.51.100.2, {CLIENT}", "10.0.3.9"),
        ],
    )
    def test_are_the_last_forwarded_address_outside_the_proxies(
        self, headers: tuple[str, ...]
    ) -> None:
        assert address(*headers) == CLIENT

    def test_are_the_peers_without_a_trusted_proxy(self) -> None:
        assert address("198.51.100.1", peer=CLIENT) == CLIENT

    def test_are_the_proxys_without_a_forwarded_address(self) -> None:
        assert address() == PROXY
