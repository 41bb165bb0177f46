"""Which addresses a webhook may be sent to: public ones, and nothing that leads inside."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

# The same text for an unknown name and an internal one, so that it reveals no internal names.
NOWHERE_PUBLIC: Final = "the host leads to no public address"
# In addition to the standard library's list: addresses that embed another address, and metadata
# addresses of clouds outside the private ranges.
INDIRECT: Final = tuple(
    ip_network(network)
    for network in (
        "::/96",  # IPv4-compatible
        "::ffff:0:0/96",  # IPv4-mapped
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # NAT64, local use
        "2001::/32",  # Teredo
        "2002::/16",  # 6to4
        "fec0::/10",  # site-local
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "192.0.0.0/24",  # protocol assignments, and metadata of one cloud
        "192.88.99.0/24",  # 6to4 relays
        "168.63.129.16/32",  # a cloud's host services
    )
)


def may_dial(address: str, *, loopback: bool) -> bool:
    """Return whether an address may be connected to.

    :param loopback: whether this machine itself is allowed, for development.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if parsed.is_loopback:
        return loopback
    return _is_public(parsed)


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return not any(
        address in network
        for network in INDIRECT
        if isinstance(network, IPv6Network) == isinstance(address, IPv6Address)
    )
