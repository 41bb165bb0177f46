"""What a token offers to users who sign instead of sending a transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

# How long a signature may be used, and how much of that must be left to begin with it.
SIGNED_FOR: Final = timedelta(minutes=30)
RELAY_TIME_MIN: Final = timedelta(seconds=30)
# Nothing is signed for it so shortly before its end: it would be mined too late.
MINED_WITHIN: Final = timedelta(seconds=10)


class GaslessStandard(StrEnum):
    """How a signature moves the token; the values are the public interface's."""

    EIP3009 = "eip3009"  # an authorization to receive: it names the swap that it pays for
    EIP2612 = "eip2612"  # a permit: accounts with a key alone


@dataclass(frozen=True, slots=True)
class TokenDomain:
    """The token's own EIP-712 domain, but for its address; chain id or salt say which chain."""

    name: str
    version: str | None
    salt: str | None = None  # 32 bytes in hex; bridged tokens have it instead of the chain id


@dataclass(frozen=True, slots=True)
class Gasless:
    """The catalogue's data of a token; it is offered only while the chain's data is the same."""

    standard: GaslessStandard
    domain: TokenDomain
