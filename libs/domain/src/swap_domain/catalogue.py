"""The networks, tokens and routes of one deployment.

Frozen data, built by `swap_domain.catalogue_document` from a parsed file. Every service reads the
same file; what a public answer may show is taken from the public members alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from swap_domain.gasless import Gasless, GaslessStandard
from swap_domain.money import Asset

NATIVE = "0x0000000000000000000000000000000000000000"
ANY = "*"


class UnknownNetwork(LookupError):
    """The catalogue does not name the network."""


class UnknownToken(LookupError):
    """The network's catalogue entry does not name the token."""


@dataclass(frozen=True, slots=True)
class ConfirmationTier:
    """What a deposit needs while the not-yet-final inflow of its token stays below a sum."""

    below_base_units: int | None  # None: whatever is above the other tiers
    confirmations: int | None  # None: the chain's own finality
    providers: int = 1  # independent providers that must report it, where so many are configured


FINALITY: Final = ConfirmationTier(None, None, providers=2)  # above all tiers of a token


@dataclass(frozen=True, slots=True)
class Token:
    network: str
    symbol: str
    address: str  # NATIVE for the network's own coin
    decimals: int
    precision: int  # decimals that survive a double, at most 8
    name: str  # the asset behind the symbol, the same on every network
    price_symbol: str  # what price sources call it
    logo: str
    group: str | None
    listing_date: datetime
    source_rank: int
    destination_rank: int
    tiers: tuple[ConfirmationTier, ...]
    gasless: Gasless | None = None

    @property
    def is_native(self) -> bool:
        return self.address == NATIVE

    @property
    def asset(self) -> Asset:
        return Asset(self.network, self.address, self.decimals)

    def tier_for(self, pending_base_units: int) -> ConfirmationTier:
        """Return what a deposit needs, given the not-yet-final inflow with it included."""
        for tier in self.tiers:
            if tier.below_base_units is None or pending_base_units < tier.below_base_units:
                return tier
        return FINALITY

    @property
    def one_provider_base_units(self) -> int:
        """The sum up to which the tiers accept one provider's report; 0 without such a tier."""
        sums = [tier.below_base_units or 0 for tier in self.tiers if tier.providers == 1]
        return max(sums, default=0)


@dataclass(frozen=True, slots=True)
class DepositAddresses:
    """The inputs of a swap's address; it is compared with the chain."""

    factory: str
    init_code_hash: str


@dataclass(frozen=True, slots=True)
class Owners:
    """Who must own the contracts. None: neither the owner nor the roles are checked."""

    treasury: str | None = None
    depository: str | None = None
    paymaster: str | None = None


@dataclass(frozen=True, slots=True)
class Contracts:
    treasury: str
    depository: str | None
    paymaster: str | None = None
    deposit_addresses: DepositAddresses | None = None
    owners: Owners = Owners()
    other_receivers: tuple[str, ...] = ()  # receivers that the Depository lists beside the Treasury


@dataclass(frozen=True, slots=True)
class GasUnits:
    """Gas that one payment through the Treasury takes, the intrinsic cost included.

    And what a deposit takes that the Paymaster makes for a signature, and the sweep of a deposit
    address that is not deployed yet.
    """

    pay_native: int
    pay_erc20: int
    relay_eip3009: int = 0
    relay_eip2612: int = 0
    sweep_native: int = 0
    sweep_erc20: int = 0

    @property
    def least(self) -> int:
        """Return the gas of the service's smallest transaction."""
        units = (self.pay_native, self.pay_erc20, self.relay_eip3009, self.relay_eip2612)
        return min(filter(None, (*units, self.sweep_native, self.sweep_erc20)), default=1)

    def relay(self, standard: GaslessStandard) -> int:
        is_permit = standard is GaslessStandard.EIP2612
        return self.relay_eip2612 if is_permit else self.relay_eip3009


@dataclass(frozen=True, slots=True)
class L1DataFee:
    """What a rollup charges for bytes: read from its gas price oracle, and bounded."""

    kind: str  # op_stack
    oracle: str
    transaction_bytes: int  # at least the size of one payment
    max_wei: int  # a higher answer of the oracle is refused


@dataclass(frozen=True, slots=True)
class Network:
    name: str
    display_name: str
    type: str
    chain_id: int
    logo: str
    transaction_explorer_template: str
    account_explorer_template: str
    source_rank: int
    destination_rank: int
    listing_date: datetime
    public_nodes: tuple[str, ...]
    start_block: int  # at or before the Treasury's deployment
    block_time: timedelta
    payout_confirmations: int | None  # None: the chain's own finality
    finality_blocks: int  # blocks until the chain calls one final, for what is shown
    contracts: Contracts
    signers: tuple[str, ...]  # addresses of the hot keys that operate the Treasury
    funders: tuple[str, ...]  # the owner's addresses: what they send is never a deposit
    gas: GasUnits
    max_fee_per_gas: int  # wei; nothing is signed above it
    tokens: tuple[Token, ...]
    l1_data_fee: L1DataFee | None = None
    has_blooms: bool = False  # its headers have correct blooms: logs that they exclude are refused

    @property
    def native(self) -> Token:
        return next(token for token in self.tokens if token.is_native)

    def gasless(self, token: Token) -> Gasless | None:
        """Return how a token is deposited by a signature; None where the network cannot."""
        has_contracts = (
            self.contracts.paymaster is not None and self.contracts.depository is not None
        )
        return token.gasless if has_contracts else None

    def token(self, address: str) -> Token:
        """
        :raises UnknownToken: when no token of this network has the address.
        """
        for token in self.tokens:
            if token.address == address:
                return token
        raise UnknownToken(f"{address} on {self.name}")

    def find_token(self, symbol_or_address: str) -> Token | None:
        wanted = symbol_or_address.casefold()
        for token in self.tokens:
            if wanted in (token.symbol.casefold(), token.address.casefold()):
                return token
        return None


@dataclass(frozen=True, slots=True)
class RouteRule:
    """What a route costs and allows.

    A pattern is `NETWORK/SYMBOL`, `NETWORK/*`, `*/SYMBOL` or `*`.
    """

    source: str
    destination: str
    is_closed: bool
    service_fee_basis_points: int
    slippage_ppm: int  # parts per million
    min_usd_e18: int
    max_usd_e18: int
    quote_lifetime: timedelta
    estimated_duration: timedelta

    def covers(self, source: Token, destination: Token) -> bool:
        return _matches(self.source, source) and _matches(self.destination, destination)


@dataclass(frozen=True, slots=True)
class Catalogue:
    environment: str  # live or test
    swap_lifetime: timedelta
    networks: Mapping[str, Network]
    routes: tuple[RouteRule, ...]
    by_chain_id: Mapping[str, Network] = field(init=False)

    def __post_init__(self) -> None:
        by_chain_id = {str(network.chain_id): network for network in self.networks.values()}
        object.__setattr__(self, "by_chain_id", by_chain_id)

    def network(self, name: str) -> Network:
        """
        :raises UnknownNetwork: when the catalogue does not name it.
        """
        try:
            return self.networks[name]
        except KeyError:
            raise UnknownNetwork(name) from None

    def find_network(self, name_or_chain_id: str) -> Network | None:
        return self.networks.get(name_or_chain_id.upper()) or self.by_chain_id.get(name_or_chain_id)

    def route(self, source: Token, destination: Token) -> RouteRule | None:
        """Return the first rule that covers the pair, or nothing when it is closed or unnamed."""
        rule = self.rule(source, destination)
        return None if rule is None or rule.is_closed else rule

    def rule(self, source: Token, destination: Token) -> RouteRule | None:
        """Return the first rule that covers the pair, also when it is closed."""
        if source.asset == destination.asset:
            return None
        return next((rule for rule in self.routes if rule.covers(source, destination)), None)


def _matches(pattern: str, token: Token) -> bool:
    if pattern == ANY:
        return True
    network, _, symbol = pattern.partition("/")
    return network in (ANY, token.network) and symbol in (ANY, token.symbol)
