"""Members and query parameters that an endpoint does not take: refused, or listed as ignored.

A name at most two edits from one that the endpoint takes is a misspelling, and the value would be
lost: 400. Any other is ignored and listed in `X-Ignored`. A name that another endpoint takes is
never a misspelling: clients send the same parameters to several endpoints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final
from urllib.parse import quote

from swap_api.http.endpoints import Endpoint
from swap_api.http.near_names import nearest
from swap_api.http.parameters import Parameters, is_absent, query_name
from swap_api.http.requests import Request
from swap_api.model.refusals import Invalid

IGNORED: Final = "x-ignored"
IGNORED_BYTES_MAX: Final = 512
SEPARATOR: Final = ", "
MORE: Final = "..."  # stands for the names that do not fit
PRINTABLE: Final = "!#$&'()*+-./:;<=>?@[]^_`{|}~"  # besides letters and digits


class UnknownNames:
    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        models = {model for one in endpoints for model in (one.query, one.body)}
        self._known = frozenset(name for model in models for name in _names(model))

    async def ignored_header(self, endpoint: Endpoint, request: Request) -> str:
        """Return the value of `X-Ignored`, empty where every name is known.

        :raises ApiRefusal: for misspelled names, and for a body that is not a JSON object.
        """
        sent = {query_name(name): None for name, value in request.query if not is_absent(value)}
        unknown = self._find_unknown(endpoint.query, sent)
        if endpoint.body is not None:
            content = await request.json_object()
            members = [name for name, value in content.items() if not is_absent(value)]
            unknown += self._find_unknown(endpoint.body, members)
        return join_names(unknown) if unknown else ""

    def _find_unknown(self, model: type[Parameters] | None, sent: Iterable[str]) -> list[str]:
        """
        :raises Invalid: with every misspelled name, each with the name that is known.
        """
        names = _names(model)
        unknown = [name for name in sent if name not in names]
        near = {
            name: known
            for name in unknown
            if name not in self._known and (known := nearest(name, names)) is not None
        }
        if near:
            fields = {
                printable(name): f"is unknown; did you mean {known}?"
                for name, known in near.items()
            }
            first, why = next(iter(fields.items()))
            raise Invalid(f"{first} {why}", fields=fields)
        return unknown


def printable(name: str) -> str:
    """Return a name in printable ASCII: any other character is percent-encoded."""
    return quote(name, safe=PRINTABLE, errors="replace")


def join_names(names: Sequence[str]) -> str:
    """Return the names, each once, that fit into the header."""
    text = ""
    for name in map(printable, dict.fromkeys(names)):
        longer = f"{text}{SEPARATOR}{name}" if text else name
        if len(longer) + len(SEPARATOR) + len(MORE) > IGNORED_BYTES_MAX:
            return f"{text}{SEPARATOR}{MORE}" if text else MORE
        text = longer
    return text


@cache
def _names(model: type[Parameters] | None) -> tuple[str, ...]:
    return () if model is None else tuple(model.model_fields)
