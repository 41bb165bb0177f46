"""Which tokens a swap can start from or end at, seen from the other end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from swap_api.model.refusals import Invalid
from swap_domain.catalogue import Catalogue, Token


class Side(StrEnum):
    """The given end of the routes."""

    SOURCE = "source"
    DESTINATION = "destination"

    @property
    def other(self) -> Side:
        return Side.DESTINATION if self is Side.SOURCE else Side.SOURCE


class TokenStatus(StrEnum):
    ACTIVE = "active"
    INACTIVE = "inactive"  # there is a route, and it is out of service
    NOT_FOUND = "not_found"  # there is none


@dataclass(frozen=True, slots=True)
class ReachQuery:
    """The other end as the caller named it, and what is to be shown."""

    network: str | None = None
    token: str | None = None
    network_types: frozenset[str] = frozenset()  # none keeps all
    statuses: frozenset[TokenStatus] = frozenset({TokenStatus.ACTIVE})
    via_deposit_address: bool = False


@dataclass(frozen=True, slots=True)
class ReachedNetwork:
    """A network and its requested tokens, by address."""

    network: str
    tokens: tuple[tuple[str, TokenStatus], ...]


class Reach:
    """Answers from the catalogue, which never changes: what is once known is kept."""

    def __init__(self, catalogue: Catalogue, *, deposit_address_networks: AbstractSet[str]) -> None:
        """
        :param deposit_address_networks: where money can come in through a deposit address; it may
            grow.
        """
        self._catalogue = catalogue
        self._deposit_address_networks = deposit_address_networks
        self._known: dict[tuple[object, ...], Sequence[ReachedNetwork]] = {}

    def __call__(self, side: Side, query: ReachQuery) -> Sequence[ReachedNetwork]:
        """
        :raises Invalid: when a token is named without its network.
        :raises LookupError: when the other end is not in the catalogue.
        """
        others = self._others(side, query)
        offered = frozenset(self._deposit_address_networks) if query.via_deposit_address else None
        key = (side, offered, *(token.asset for token in others))
        if key not in self._known:
            if query.via_deposit_address and side is Side.DESTINATION:
                others = [o for o in others if o.network in self._deposit_address_networks]
            self._known[key] = tuple(self._all(side, others, query))
        return tuple(self._select(self._known[key], query))

    def _others(self, side: Side, query: ReachQuery) -> Sequence[Token]:
        """Return what may stand at the other end."""
        if query.network is None:
            if query.token is not None:
                raise Invalid.field(f"{side.other}_network", "is missing")
            return [t for network in self._catalogue.networks.values() for t in network.tokens]
        network = self._catalogue.find_network(query.network)
        if network is None:
            raise LookupError(query.network)
        if query.token is None:
            return network.tokens
        token = network.find_token(query.token)
        if token is None:
            raise LookupError(query.token)
        return [token]

    def _all(
        self, side: Side, others: Sequence[Token], query: ReachQuery
    ) -> Iterator[ReachedNetwork]:
        for network in self._catalogue.networks.values():
            is_closed = (
                query.via_deposit_address
                and side is Side.SOURCE
                and network.name not in self._deposit_address_networks
            )
            reachable = () if is_closed else others
            tokens = [(t.address, self._status(side, t, reachable)) for t in network.tokens]
            yield ReachedNetwork(network.name, tuple(tokens))

    def _status(self, side: Side, token: Token, others: Sequence[Token]) -> TokenStatus:
        """Return the best that any of the others makes of it."""
        best = TokenStatus.NOT_FOUND
        for other in others:
            source, destination = (token, other) if side is Side.SOURCE else (other, token)
            rule = self._catalogue.rule(source, destination)
            if rule is not None and not rule.is_closed:
                return TokenStatus.ACTIVE
            if rule is not None:
                best = TokenStatus.INACTIVE
        return best

    def _select(
        self, known: Sequence[ReachedNetwork], query: ReachQuery
    ) -> Iterator[ReachedNetwork]:
        for one in known:
            kind = self._catalogue.network(one.network).type
            if query.network_types and kind not in query.network_types:
                continue
            tokens = tuple(pair for pair in one.tokens if pair[1] in query.statuses)
            if tokens:
                yield ReachedNetwork(one.network, tokens)
