"""From where a request comes, for limits and lists of sessions."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from starlette.requests import Request


class ClientAddresses:
    def __init__(self, trusted_proxies: Sequence[str]) -> None:
        self._proxies = [ipaddress.ip_network(proxy, strict=False) for proxy in trusted_proxies]

    def of(self, request: Request) -> str:
        """Return the client's address; a proxy's header counts only if the proxy is trusted."""
        address = request.client.host if request.client else ""
        # Each proxy may add a separate header: the last of them is the nearest proxy's.
        hops = ",".join(request.headers.getlist("x-forwarded-for"))
        forwarded = [part.strip() for part in hops.split(",")]
        while self._is_proxy(address) and forwarded:
            address = forwarded.pop() or address
        return address[:64]

    def _is_proxy(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(parsed in proxy for proxy in self._proxies)
