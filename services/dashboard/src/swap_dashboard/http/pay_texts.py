"""The languages of the pay page: one file each, with the same names in every file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

LANGUAGES: Final = files("swap_dashboard") / "languages"
FIRST: Final = "en"  # where a browser requests none of them
PREFERENCES_MAX: Final = 10


@cache
def texts() -> Mapping[str, Mapping[str, Any]]:
    """Return the texts of each language, by its tag."""
    found = {
        entry.name.removesuffix(".json"): json.loads(entry.read_text(encoding="utf-8"))
        for entry in LANGUAGES.iterdir()
        if entry.name.endswith(".json")
    }
    return {FIRST: found[FIRST], **dict(sorted(found.items()))}


def choose_language(requested: str, accepted: str) -> str:
    """Return a language that there is.

    :param requested: by the address of the page; goes first.
    :param accepted: the browser's header `Accept-Language`.
    """
    known = texts()
    for tag in (requested, *_preferences(accepted)):
        language = tag.lower().partition("-")[0]
        if language in known:
            return language
    return FIRST


def _preferences(accepted: str) -> Sequence[str]:
    """Return the tags of a header, the one that is liked most first."""
    weighed = []
    for part in accepted.split(",")[:PREFERENCES_MAX]:
        tag, _, weight = part.partition(";q=")
        weighed.append((_thousandths(weight), tag.strip()))
    return [tag for _, tag in sorted(weighed, key=lambda one: -one[0])]


def _thousandths(weight: str) -> int:
    whole, _, fraction = weight.strip().partition(".")
    digits = f"{whole or '1'}{fraction:0<3.3}" if weight.strip() else "1000"
    return int(digits) if digits.isascii() and digits.isdecimal() else 0
