"""Links to pay pages, as payers paste them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

FIELDS_MAX: Final = 10

_PATH: Final = re.compile(r".*/pay/([0-9a-fA-F-]{36})/?")


class PastedLink(NamedTuple):
    swap_id: str
    token: str


def pasted_link(text: str) -> PastedLink | None:
    """Return what opens the page of a swap; None where the text is no link to one.

    The host is not read: a link leads to this deployment's page, or to none.
    """
    try:
        parts = urlsplit(text)
        tokens = parse_qs(parts.query, max_num_fields=FIELDS_MAX).get("token", ())
    except ValueError:
        return None
    path = _PATH.fullmatch(parts.path)
    if path is None or len(tokens) != 1 or not is_id(path[1]):
        return None
    return PastedLink(str(UUID(path[1])), tokens[0])


def is_id(text: str) -> bool:
    """Return whether the text is the id of a swap, without the token that opens it."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True
