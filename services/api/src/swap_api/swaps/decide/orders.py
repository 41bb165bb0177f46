"""A request for a swap, once it is understood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Final, Self

from swap_api.model.addresses import AddressRules
from swap_api.model.keys import Environment
from swap_api.model.refusals import ApiRefusal, Invalid, field_errors_of
from swap_api.swaps.decide.amounts import decimal_text, is_cut, parse_amount, parse_slippage
from swap_api.swaps.decide.network_names import NOT_SERVED, unserved_text
from swap_contracts.public.errors import ErrorCode
from swap_domain.catalogue import Catalogue, Network, Token
from swap_domain.funding import FundingMethod

OWN_INVENTORY: Final = "SOLVER"
ROUTES_CACHED_MAX: Final = 1024  # callers may spell one in many ways


@dataclass(frozen=True, slots=True)
class RouteQuery:
    """From which token to which, as the caller named them."""

    source_network: str
    source_token: str
    destination_network: str
    destination_token: str


@dataclass(frozen=True, slots=True)
class Route:
    source_network: Network
    source: Token
    destination_network: Network
    destination: Token


@dataclass(frozen=True, slots=True)
class Funding:
    """How the caller funds the swap."""

    use_depository: bool = False
    use_deposit_address: bool = False
    use_gasless: bool = False

    @property
    def method(self) -> FundingMethod:
        if self.use_gasless:
            return "gasless"
        if self.use_deposit_address:
            return "deposit_address"
        return "depository" if self.use_depository else "direct"

    def check(self, source: Network) -> None:
        """
        :raises ApiRefusal: when the methods exclude each other or the network lacks one.
        """
        if self.use_deposit_address and (self.use_depository or self.use_gasless):
            other = "use_depository" if self.use_depository else "use_gasless"
            raise ApiRefusal(
                ErrorCode.CONFLICTING_FUNDING_METHODS,
                f"{other} and use_deposit_address exclude each other; choose one",
                metadata=field_errors_of(
                    **{other: "excludes use_deposit_address"},
                    use_deposit_address=f"excludes {other}",
                ),
            )
        if self.use_depository and source.contracts.depository is None:
            raise ApiRefusal(
                ErrorCode.UNSUPPORTED_DEPOSITORY,
                f"{source.display_name} has no Depository; choose another funding method",
                metadata=field_errors_of(use_depository="is not offered here"),
            )
        if self.use_deposit_address and source.contracts.deposit_addresses is None:
            raise ApiRefusal(
                ErrorCode.QUOTE_REQUIRES_NO_DEPOSIT_ADDRESS,
                f"{source.display_name} has no deposit addresses; choose another funding method",
                metadata=field_errors_of(use_deposit_address="is not offered here"),
            )


@dataclass(frozen=True, slots=True)
class NamedParties:
    """The addresses of a question, as they were written."""

    destination_address: str | None = None
    source_address: str | None = None
    refund_address: str | None = None

    def on(self, route: Route) -> Mapping[str, tuple[str, str] | None]:
        """Return network and address of each, by its field."""
        there, here = route.destination_network.name, route.source_network.name
        addresses = {
            "destination_address": (there, self.destination_address),
            "source_address": (here, self.source_address),
            "refund_address": (here, self.refund_address),
        }
        return {field: (network, a) if a else None for field, (network, a) in addresses.items()}

    def with_checksums(self, route: Route, rules: AddressRules) -> Self:
        """Return the addresses in their checksummed form.

        :raises AddressRefused: with the field of an address that no swap could have.
        """
        source = route.source_network
        named = (
            ("destination_address", self.destination_address, route.destination_network),
            ("source_address", self.source_address, source),
            ("refund_address", self.refund_address, source),
        )
        return replace(
            self,
            **{
                field: rules.check(address, network, field=field)
                for field, address, network in named
                if address is not None
            },
        )


@dataclass(frozen=True, slots=True)
class Parties(NamedParties):
    """The addresses of a swap."""

    destination_address: str


@dataclass(frozen=True, slots=True)
class ReadAmount:
    """An amount as it was sent, and as it is used."""

    field: str
    sent: str
    used: str  # whole tokens
    base_units: int
    is_cut: bool


@dataclass(frozen=True, slots=True)
class PriceQuery:
    """The part of every query for a price."""

    route: RouteQuery
    funding: Funding
    refuel: bool
    amount: str | None
    slippage: str | None
    receive_amount: str | None = None  # what is to arrive, in place of what is paid in

    def slippage_ppm(self) -> int | None:
        return None if self.slippage is None else parse_slippage(self.slippage)

    @property
    def is_open(self) -> bool:
        """Whether any amount is accepted: only a separate address can identify its swap."""
        return not self.has_amount and self.funding.use_deposit_address

    @property
    def has_amount(self) -> bool:
        return self.amount is not None or self.receive_amount is not None

    def amounts(self, route: Route) -> tuple[int, int | None]:
        """Return the input or, without one, the output: the amount that was given.

        :raises Invalid: when there is no amount, or both, or it is no number.
        """
        if self.receive_amount is None:
            return self._base_units(route.source), None
        if self.amount is not None:
            raise Invalid.field("receive_amount", "excludes amount; send one of the two")
        token, field = route.destination, "receive_amount"
        return 0, parse_amount(
            self.receive_amount, precision=token.precision, decimals=token.decimals, field=field
        )

    def read_amount(self, route: Route) -> ReadAmount:
        """Return the amount of the request, with the part that is used.

        :raises Invalid: when there is no amount, or both, or it is no number.
        """
        paid_in, received = self.amounts(route)
        token, field, sent, units = route.source, "amount", self.amount, paid_in
        if received is not None:
            token, field = route.destination, "receive_amount"
            sent, units = self.receive_amount, received
        assert sent is not None
        return ReadAmount(
            field,
            sent,
            decimal_text(units, token.decimals),
            units,
            is_cut(sent, precision=token.precision, field=field),
        )

    def check_numbers(self, route: Route) -> None:
        """Refuse malformed numbers, although the answer does not depend on them.

        :raises Invalid: when one is none, or is out of range.
        """
        if self.has_amount:
            self.amounts(route)
        self.slippage_ppm()

    def _base_units(self, source: Token) -> int:
        if self.amount is None:
            raise Invalid.field("amount", "is missing")
        return parse_amount(self.amount, precision=source.precision, decimals=source.decimals)


@dataclass(frozen=True, slots=True)
class SwapOrder:
    """A whole request to create a swap, before anything of it was checked."""

    price: PriceQuery
    parties: Parties
    reference_id: str | None


def caching_route_finder(catalogue: Catalogue) -> Callable[[Environment, RouteQuery], Route]:
    """Return `find_route` of this catalogue, which caches its lookups."""
    return lru_cache(maxsize=ROUTES_CACHED_MAX)(partial(find_route, catalogue))


def find_route(catalogue: Catalogue, environment: Environment, query: RouteQuery) -> Route:
    """Return the route; a network is its name or chain id, a token its symbol or address.

    A key of the other environment sees none of this deployment's networks.

    :raises ApiRefusal: when a network, a token or the pair is not served.
    """
    source_network = catalogue.find_network(query.source_network)
    destination_network = catalogue.find_network(query.destination_network)
    if environment != catalogue.environment:
        raise no_route(source_network=NOT_SERVED)
    if source_network is None:
        raise no_route(source_network=unserved_text(catalogue, query.source_network))
    if destination_network is None:
        raise no_route(destination_network=unserved_text(catalogue, query.destination_network))
    source = source_network.find_token(query.source_token)
    if source is None:
        raise no_route(source_token=NOT_SERVED)
    destination = destination_network.find_token(query.destination_token)
    if destination is None:
        raise no_route(destination_token=NOT_SERVED)
    if catalogue.route(source, destination) is None:
        raise no_route(destination_token="cannot be reached from the source")
    return Route(source_network, source, destination_network, destination)


def no_route(**fields: str) -> ApiRefusal:
    """Return the refusal of a network, a token or a pair that is not served."""
    metadata = field_errors_of(**fields) if fields else {}
    return ApiRefusal(ErrorCode.ROUTE_NOT_FOUND_ERROR, "Route not found", metadata=metadata)
