"""The body of a request, decoded once: a JSON object with numbers as they were written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from swap_api.model.refusals import Invalid

MEMBERS_MAX: Final = 200


class Number(str):
    """A JSON number, as it was written."""

    __slots__ = ()


def decode_object(body: bytes) -> Mapping[str, Any]:
    """
    :raises Invalid: when it is not a JSON object, or has too many members.
    """
    try:
        content = _DECODER.decode(body.decode())
    except (ValueError, RecursionError):
        raise Invalid("The body is not valid JSON") from None
    if not isinstance(content, dict):
        raise Invalid("The body must be a JSON object")
    if len(content) > MEMBERS_MAX:
        raise Invalid(f"The body has more than {MEMBERS_MAX} members")
    return content


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


_DECODER: Final = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=_no_number)
