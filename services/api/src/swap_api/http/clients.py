"""The client of a request: its peer, or what trusted proxies report."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from swap_api.http.requests import Request

HOPS_MAX: Final = 20
# One user of IPv6 has at least so many addresses.
IPV6_PREFIX: Final = 64


class Clients:
    def __init__(self, trusted_proxies: Sequence[str]) -> None:
        self._trusted = tuple(ip_network(proxy, strict=False) for proxy in trusted_proxies)

    def bucket(self, request: Request) -> str:
        """Return what the requests of one client are counted under."""
        address = request.peer
        forwarded = ",".join(request.headers.getlist("x-forwarded-for"))
        hops = [hop.strip() for hop in forwarded.split(",")][-HOPS_MAX:] if forwarded else []
        while hops and self._is_trusted(address):
            address = hops.pop()
        return _counted_as(address)

    def _is_trusted(self, address: str) -> bool:
        known = _parse_address(address)
        return known is not None and any(known in network for network in self._trusted)


def _parse_address(address: str) -> IPv4Address | IPv6Address | None:
    """Read an address, behind which some proxies write the port."""
    if address.startswith("["):
        address = address[1:].partition("]")[0]
    elif address.count(":") == 1:
        address = address.partition(":")[0]
    try:
        return ip_address(address)
    except ValueError:
        return None


def _counted_as(address: str) -> str:
    known = _parse_address(address)
    if known is None:
        return "unknown"
    if isinstance(known, IPv4Address):
        return str(known)
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return str(IPv6Network((known, IPV6_PREFIX), strict=False))
