"""Every address this service answers, in one table: the gateway serves it, OpenAPI shows it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from swap_api.domain.keys import Caller, Scope
from swap_api.domain.members import Actor
from swap_api.domain.rate_limits import Kind
from swap_api.domain.refusals import ApiRefusal, NotFound
from swap_api.http.exchange import Answer, Request
from swap_api.http.parameters import Parameters
from swap_contracts.public.errors import ErrorCode

API: Final = "/api/v2"


@dataclass(frozen=True, slots=True)
class Context:
    """Who asks, and by which name the request goes in logs and errors."""

    caller: Caller
    client: str  # the address requests of publishable keys are told apart by
    request_id: str
    actor: Actor | None = None  # who manages something, where that is what it is about


Handler = Callable[[Request, Context], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    method: str
    path: str  # `{name}` takes one part
    handler: Handler
    summary: str
    answers: Any  # the type of `data`
    kind: Kind = Kind.READ
    weight: int = 1  # what a request counts
    scope: Scope = Scope.ANY
    needs_process_alone: bool = False  # answered while Postgres is away, to keys known before
    query: type[Parameters] | None = None
    body: type[Parameters] | None = None
    refuses: Sequence[ErrorCode] = ()
    is_idempotent: bool = False  # with an idempotency key: the first answer again
    makes: bool = False  # something new each time: with an idempotency key at most once
    shows_secret: bool = False  # in its answer, which is not kept to be given again
    is_live: bool = False  # also as server-sent events, for who asks for those
    is_conditional: bool = False  # answered with 304 where the caller has it already
    headers: Mapping[str, str] = field(default_factory=dict)  # of the answer, for the document


class Endpoints:
    """The table, ready to be searched."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self.all = tuple(endpoints)
        self._fixed: dict[str, dict[str, Endpoint]] = {}
        self._open: list[tuple[re.Pattern[str], dict[str, Endpoint]]] = []
        for endpoint in endpoints:
            self._add(endpoint)

    def weighed(self, weights: Mapping[str, int]) -> Endpoints:
        """Return them with other weights, by method and path.

        :raises ValueError: when there is no such endpoint.
        """
        named = {f"{one.method} {one.path}": one for one in self.all}
        if unknown := sorted(weights.keys() - named):
            raise ValueError(f"there is no such endpoint: {', '.join(unknown)}")
        return Endpoints(
            [replace(one, weight=weights.get(key, one.weight)) for key, one in named.items()]
        )

    def find(self, method: str, path: str) -> tuple[Endpoint, Mapping[str, str]]:
        """
        :raises ApiRefusal: when nothing is there, or it does not answer the method.
        """
        methods, values = self._at(path)
        if not methods:
            raise NotFound("There is nothing at this address")
        endpoint = methods.get(method)
        if endpoint is None:
            raise not_allowed(self.allowed(path))
        return endpoint, values

    def allowed(self, path: str) -> str:
        """Return the methods that an address answers; without an address, just OPTIONS."""
        methods = self._at(path)[0]
        head = ("HEAD",) if "GET" in methods else ()
        return ", ".join(sorted((*methods, *head, "OPTIONS")))

    def _at(self, path: str) -> tuple[Mapping[str, Endpoint], Mapping[str, str]]:
        methods = self._fixed.get(path)
        if methods is not None:
            return methods, {}
        for pattern, candidates in self._open:
            if match := pattern.fullmatch(path):
                return candidates, match.groupdict()
        return {}, {}

    def _add(self, endpoint: Endpoint) -> None:
        if "{" not in endpoint.path:
            self._fixed.setdefault(endpoint.path, {})[endpoint.method] = endpoint
            return
        pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", endpoint.path))
        for known, methods in self._open:
            if known == pattern:
                methods[endpoint.method] = endpoint
                return
        self._open.append((pattern, {endpoint.method: endpoint}))


def not_allowed(allowed: str) -> ApiRefusal:
    """Refuse a method that an address does not answer.

    :param allowed: those that it answers.
    """
    return ApiRefusal(
        ErrorCode.METHOD_NOT_ALLOWED, f"This address answers {allowed}", headers={"allow": allowed}
    )
