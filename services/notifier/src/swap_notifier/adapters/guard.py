"""Looks at the address that is really dialled, after every name has been resolved.

A name may resolve to another address right after its check, and a URL can spell an address in many
ways. A socket is opened for exactly one.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import aiohttp
from aiohttp.abc import AbstractResolver

from swap_notifier.domain.addresses import NOWHERE_PUBLIC, may_dial

AddressInfo = tuple[int, int, int, str, tuple[object, ...]]
KEEPALIVE_SECONDS = 60
NAMES_TTL_SECONDS = 10


# A resolver waits for a silent name server, and other names wait for a thread.
NAMES_AT_ONCE_MAX = 256


class AddressRefused(OSError):
    """The address is internal: nothing is sent there, and it is not disclosed."""

    def __init__(self) -> None:
        super().__init__(errno.EACCES, NOWHERE_PUBLIC)


def raise_resolver_threads(loop: asyncio.AbstractEventLoop) -> None:
    """Names without an answer must not delay other names."""
    loop.set_default_executor(
        ThreadPoolExecutor(NAMES_AT_ONCE_MAX, thread_name_prefix="resolve-names")
    )


def guarded_connector(
    *, allow_loopback: bool, resolver: AbstractResolver | None = None
) -> aiohttp.TCPConnector:
    """Return a connector that dials public addresses only; its user bounds the connections."""

    def make_socket(info: AddressInfo) -> socket.socket:
        family, kind, protocol, _, address = info
        if not may_dial(str(address[0]), loopback=allow_loopback):
            raise AddressRefused
        return socket.socket(family, kind, protocol)

    return aiohttp.TCPConnector(
        limit=0,
        limit_per_host=0,
        keepalive_timeout=KEEPALIVE_SECONDS,
        ttl_dns_cache=NAMES_TTL_SECONDS,
        resolver=resolver,
        socket_factory=make_socket,
    )


class NameUnknown(Exception):
    """A host name leads nowhere."""


class SystemNames:
    """Names as this machine resolves them."""

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """
        :raises NameUnknown: when the name leads nowhere.
        """
        try:
            found = await asyncio.get_running_loop().getaddrinfo(
                host, port, type=socket.SOCK_STREAM
            )
        except OSError as error:
            raise NameUnknown(host) from error
        return sorted({str(address[0]) for *_, address in found})
