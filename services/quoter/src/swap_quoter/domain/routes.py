"""The served pairs, looked up once and cached: a catalogue never changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from swap_domain.catalogue import Catalogue, GasUnits, Network, RouteRule, Token
from swap_domain.fees import PARTNER_FEE_MAX
from swap_quoter.domain.market import Market
from swap_quoter.domain.refusals import Method, MethodUnsupported, RouteUnknown

BASIS_POINTS = 10_000
MILLISECOND = timedelta(milliseconds=1)

Pair = tuple[str, str, str, str]  # network and token of both sides


class FeeTakesAll(ValueError):
    """A rule with a fee that leaves nothing cannot price."""


@dataclass(frozen=True, slots=True)
class Route:
    """One pair with everything about it that does not move."""

    source: Token
    destination: Token
    source_native: Token
    destination_native: Token
    rule: RouteRule
    payout_gas: int  # units of the single payout on the destination
    refund_gas: int  # units of a refund on the source
    refuel_gas: int  # units of a refuel on the destination
    has_depository: bool
    relay_gas: int | None = (
        None  # units of a deposit by a signature on the source; None: there is none
    )
    sweep_gas: int | None = None  # units of a deposit address's sweep; None: there is none

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Return every token with a price that counts, including the native coins that
        pay for gas.
        """
        return self.source, self.destination, self.source_native, self.destination_native

    @property
    def is_same_asset(self) -> bool:
        return self.source.name == self.destination.name

    def deposit_gas(self, method: Method) -> int:
        """Return the units that we pay for so that the user's money comes."""
        match method:
            case Method.GASLESS:
                return self.relay_gas or 0
            case Method.DEPOSIT_ADDRESS:
                return self.sweep_gas or 0
            case _:
                return 0

    def return_gas(self, method: Method) -> int:
        """Return the units of a refund; from a deposit address it is swept before."""
        swept = self.sweep_gas or 0 if method is Method.DEPOSIT_ADDRESS else 0
        return self.refund_gas + swept

    @property
    def can_refuel(self) -> bool:
        """Whether a refuel makes sense: who receives the native token needs none."""
        return not self.destination.is_native


class Routes:
    def __init__(self, catalogue: Catalogue) -> None:
        """
        :raises FeeTakesAll: when a rule and the largest partner's fee charge everything.
        """
        for named in catalogue.routes:
            if named.service_fee_basis_points + PARTNER_FEE_MAX >= BASIS_POINTS:
                raise FeeTakesAll(f"{named.source} to {named.destination}")
        self._catalogue = catalogue
        self._known: dict[Pair, Route] = {}
        for source in _tokens(catalogue):
            for destination in _tokens(catalogue):
                rule = catalogue.route(source, destination)
                if rule is not None:
                    route = self._route(source, destination, rule)
                    self._known[_pair(source, destination)] = route

    def get(
        self, source_network: str, source: str, destination_network: str, destination: str
    ) -> Route:
        """
        :raises RouteUnknown: when a network, token or pair is not served.
        """
        try:
            return self._known[
                source_network, source.lower(), destination_network, destination.lower()
            ]
        except KeyError:
            raise RouteUnknown from None

    @property
    def tokens(self) -> tuple[Token, ...]:
        return _tokens(self._catalogue)

    def _route(self, source: Token, destination: Token, rule: RouteRule) -> Route:
        source_network = self._catalogue.network(source.network)
        destination_network = self._catalogue.network(destination.network)
        gasless = source_network.gasless(source)
        return Route(
            source=source,
            destination=destination,
            source_native=source_network.native,
            destination_native=destination_network.native,
            rule=rule,
            payout_gas=_gas(destination, destination_network.gas),
            refund_gas=_gas(source, source_network.gas),
            refuel_gas=destination_network.gas.pay_native,
            has_depository=source_network.contracts.depository is not None,
            relay_gas=None if gasless is None else source_network.gas.relay(gasless.standard),
            sweep_gas=_sweep_gas(source, source_network),
        )


def expected_milliseconds(route: Route, market: Market) -> int:
    """Return how long a swap takes: as measured, or as the catalogue's rule estimates it."""
    source, destination = route.source, route.destination
    key = (source.network, source.address, destination.network, destination.address)
    measured = market.completion_milliseconds.get(key)
    if measured is None:
        return route.rule.estimated_duration // MILLISECOND
    return measured


def check_method(route: Route, method: Method) -> None:
    """
    :raises MethodUnsupported: when the source cannot be funded that way.
    """
    if method is Method.DIRECT or (method is Method.DEPOSITORY and route.has_depository):
        return
    if method is Method.GASLESS and route.relay_gas is not None:
        return
    if method is Method.DEPOSIT_ADDRESS and route.sweep_gas is not None:
        return
    raise MethodUnsupported(method)


def _tokens(catalogue: Catalogue) -> tuple[Token, ...]:
    return tuple(token for network in catalogue.networks.values() for token in network.tokens)


def _pair(source: Token, destination: Token) -> Pair:
    return (
        source.network,
        source.address.lower(),
        destination.network,
        destination.address.lower(),
    )


def _gas(token: Token, gas: GasUnits) -> int:
    return gas.pay_native if token.is_native else gas.pay_erc20


def _sweep_gas(token: Token, network: Network) -> int | None:
    if network.contracts.deposit_addresses is None:
        return None
    return network.gas.sweep_native if token.is_native else network.gas.sweep_erc20
