"""Which nodes are independent of each other."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit


def provider_of(url: str) -> str:
    """Return the provider of a node: its host, and on the loopback interface also its port.

    Two addresses of one host are one provider. They fail or report falsely together.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    is_loopback = host in ("localhost", "::1") or host.startswith("127.")
    return f"{host}:{parts.port}" if is_loopback and parts.port else host


def providers_of(urls: Iterable[str]) -> tuple[str, ...]:
    """Return the providers of these nodes, each once: so many nodes are independent."""
    return tuple(dict.fromkeys(map(provider_of, urls)))
