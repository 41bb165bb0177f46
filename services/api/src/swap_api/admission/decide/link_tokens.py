"""Tokens of pay links, derived from the swap's id: nothing is stored."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import Final
from uuid import UUID

from swap_api.admission.decide.pay_links import TOKEN_LENGTH_MAX, TOKEN_PREFIX, LinkRight

TOKEN_BYTES: Final = 16
PURPOSE: Final = b"pay links"


class HmacLinkTokens:
    """Keyed hashes: the first key makes tokens, every key reads them."""

    def __init__(
        self, keys: Sequence[bytes], *, pepper: bytes, other_peppers: Sequence[bytes] = ()
    ) -> None:
        """
        :param keys: none: one is derived from each pepper of API keys.
        """
        derived = [hmac.digest(one, PURPOSE, sha256) for one in (pepper, *other_peppers)]
        self._keys = keys or derived

    def make(self, swap_id: UUID, right: LinkRight) -> str:
        return _token(self._keys[0], swap_id, right)

    def right_of(self, swap_id: UUID, token: str) -> LinkRight | None:
        """Return what a token permits with the swap; None when it is not a token of the swap."""
        if len(token) > TOKEN_LENGTH_MAX or not token.isascii():
            return None
        found = None
        for key in self._keys:
            for right in LinkRight:
                # Every pair is compared, so that the time reveals nothing about a token.
                if hmac.compare_digest(_token(key, swap_id, right), token):
                    found = right
        return found


def _token(key: bytes, swap_id: UUID, right: LinkRight) -> str:
    digest = hmac.digest(key, f"{right}:{swap_id}".encode(), sha256)
    return TOKEN_PREFIX + digest[:TOKEN_BYTES].hex()
