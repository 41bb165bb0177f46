"""Which URLs an endpoint may have. What a name leads to is checked elsewhere, at every dial."""

from __future__ import annotations

import re
from dataclasses import dataclass
from posixpath import normpath
from typing import Final
from urllib.parse import unquote, urlsplit

from swap_notifier.domain.addresses import may_dial

LENGTH_MAX: Final = 2048
PORTS: Final = {"http": 80, "https": 443}
# Below it live protocols that must not be talked to in HTTP.
UNPRIVILEGED: Final = 1024
LABEL: Final = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")
# Most resolvers accept 127.1, 0x7f.1 and 2130706433 as addresses.
NUMBER: Final = re.compile(r"0x[0-9a-f]*|[0-9]+")


class UrlRefused(ValueError):
    """The URL cannot be an endpoint's; the text has the reason."""


@dataclass(frozen=True, slots=True)
class Destination:
    host: str
    port: int
    is_address: bool  # whether the host is an address already


def destination_of(url: str, *, is_live: bool, loopback: bool) -> Destination:
    """Return where the URL leads.

    :raises UrlRefused: when it may not be an endpoint's.
    """
    if len(url) > LENGTH_MAX or not url.isascii() or any(c <= " " or c == "\\" for c in url):
        raise UrlRefused("the URL must be plain ASCII, without blanks, of at most 2048 characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UrlRefused(f"the URL cannot be read: {error}") from error
    _check_scheme(parts.scheme, is_live=is_live)
    if parts.username is not None or parts.password is not None:
        raise UrlRefused("the URL must not carry a name or a password")
    if parts.fragment:
        raise UrlRefused("the URL must not have a fragment")
    port = PORTS[parts.scheme] if port is None else port
    if port not in PORTS.values() and port < UNPRIVILEGED:
        raise UrlRefused(f"port {port} is not one for webhooks")
    host = (parts.hostname or "").lower()
    return Destination(host, port, _check_host(host, loopback=loopback))


def place_of(url: str) -> tuple[str, int | None, str]:
    """Return where the URL leads, however it is spelled: host, port and path.

    Neither the scheme nor the query distinguishes receivers.
    """
    parts = urlsplit(url)
    port = None if parts.port in PORTS.values() else parts.port
    return (parts.hostname or "").lower(), port, normpath("/" + unquote(parts.path).lstrip("/"))


def _check_scheme(scheme: str, *, is_live: bool) -> None:
    if scheme not in PORTS:
        raise UrlRefused("the URL must begin with https://")
    if is_live and scheme != "https":
        raise UrlRefused("a live endpoint must be https")


def _check_host(host: str, *, loopback: bool) -> bool:
    """Return whether the host is an address, which then is one that may be dialled."""
    if ":" in host or _is_dotted(host):
        if not may_dial(host, loopback=loopback):
            raise UrlRefused("the address is not a public one")
        return True
    labels = host.split(".")
    if not all(LABEL.fullmatch(label) for label in labels):
        raise UrlRefused("the host is not a name")
    if all(NUMBER.fullmatch(label) for label in labels) or NUMBER.fullmatch(labels[-1]):
        raise UrlRefused("the host is a number, but not an address in its plain form")
    if len(labels) == 1 and not (loopback and host == "localhost"):
        raise UrlRefused("the host must be a full name")
    return False


def _is_dotted(host: str) -> bool:
    numbers = host.split(".")
    return len(numbers) == 4 and all(  # noqa: PLR2004
        n.isdecimal() and str(int(n)) == n and int(n) <= 255  # noqa: PLR2004
        for n in numbers
    )
