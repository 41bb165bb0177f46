"""What is stored of a receiver's response: bounded, text only, safe to show."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

BODY_BYTES_MAX: Final = 4096
HEADERS_MAX: Final = 32
HEADER_NAME_MAX: Final = 64
HEADER_VALUE_MAX: Final = 256
# Cookies and authentication data of the receiver are secrets.
SECRET_HEADERS: Final = frozenset({"set-cookie", "set-cookie2", "authentication-info"})
PLAIN: Final = ("", "identity")
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
# Control, format, surrogate, private and unassigned characters, and the two line separators. A
# format character can reverse the direction of what stands behind it.
UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
READABLE: Final = frozenset("\n\t")
# With more than one replaced character in so many, a body is no text.
LEGIBLE_FACTOR: Final = 8


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """The part of a response that members may read."""

    headers: Mapping[str, str]
    body: str | None  # None where it is no text
    is_cut: bool  # more of it came than is stored


def to_stored_response(
    headers: Iterable[tuple[str, str]], body: bytes, *, is_cut: bool
) -> StoredResponse:
    """Return what is stored of a response.

    :param body: as it was received, in bytes.
    :param is_cut: whether more of the body exists.
    """
    named = [(name.lower(), value) for name, value in headers]
    encoding = next((value for name, value in named if name == "content-encoding"), "")
    is_plain = encoding.strip().lower() in PLAIN
    stored = body[:BODY_BYTES_MAX]
    is_cut = is_cut or len(stored) < len(body)
    shown = {
        safe_text(name[:HEADER_NAME_MAX]): safe_text(value[:HEADER_VALUE_MAX])
        for name, value in named
        if name not in SECRET_HEADERS
    }
    return StoredResponse(
        headers=dict(list(shown.items())[:HEADERS_MAX]),
        body=_text(stored, is_cut=is_cut) if is_plain else None,
        is_cut=is_cut,
    )


def safe_text(text: str) -> str:
    """Return the text with a visible mark in place of every character that could mislead."""
    return "".join(
        one if one in READABLE or unicodedata.category(one) not in UNSAFE else REPLACEMENT
        for one in text.replace("\r\n", "\n")
    )


def _text(body: bytes, *, is_cut: bool) -> str | None:
    # Of a body that was cut, the last character may be incomplete.
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = safe_text(decoder.decode(body, final=not is_cut))
    return None if text.count(REPLACEMENT) * LEGIBLE_FACTOR > len(text) else text
