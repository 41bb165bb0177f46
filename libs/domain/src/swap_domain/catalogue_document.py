"""From a parsed catalogue file to the catalogue, or to an error that names the member at fault."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from swap_domain.catalogue import (
    NATIVE,
    Catalogue,
    ConfirmationTier,
    Contracts,
    DepositAddresses,
    GasUnits,
    L1DataFee,
    Network,
    Owners,
    RouteRule,
    Token,
)
from swap_domain.gasless import Gasless, GaslessStandard, TokenDomain

USD_DECIMALS: Final = 18
PRECISION_MAX: Final = 8
REQUIRED: Final = object()
WORD: Final = re.compile("0x[0-9a-fA-F]{64}")
OP_STACK: Final = "op_stack"
EVM: Final = "evm"
# The enum NetworkType of the public interface.
NETWORK_TYPES: Final = frozenset(
    {
        EVM,
        "starknet",
        "solana",
        "cosmos",
        "starkex",
        "zksynclite",
        "ton",
        "paradex",
        "tron",
        "fuel",
        "bitcoin",
        "hyperliquid",
        "stellar",
    }
)
ToAddress = Callable[[str], str]


class CatalogueInvalid(ValueError):
    """A member of the catalogue file is missing, of the wrong kind, or contradicts another."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path


class _Members:
    """One mapping of the file, read member by member; an unread member is an error."""

    def __init__(self, value: object, path: str, to_address: ToAddress) -> None:
        if not isinstance(value, Mapping):
            raise CatalogueInvalid(path, "must be a mapping")
        self._values = dict(value)
        self._to_address = to_address
        self.path = path

    def take(self, name: str, default: object = REQUIRED) -> object:
        if name in self._values:
            return self._values.pop(name)
        if default is REQUIRED:
            raise CatalogueInvalid(f"{self.path}.{name}", "is missing")
        return default

    def text(self, name: str, default: object = REQUIRED) -> str:
        value = self.take(name, default)
        if not isinstance(value, str):
            raise CatalogueInvalid(f"{self.path}.{name}", "must be text")
        return value

    def text_or_none(self, name: str) -> str | None:
        if self._values.get(name) is None:
            self._values.pop(name, None)
            return None
        return self.text(name)

    def integer(self, name: str, default: object = REQUIRED) -> int:
        value = self.take(name, default)
        if isinstance(value, str) and value.isdecimal():
            return int(value)
        if type(value) is not int or value < 0:
            raise CatalogueInvalid(f"{self.path}.{name}", "must be a whole number")
        return value

    def integer_or_none(self, name: str, default: object = REQUIRED) -> int | None:
        value = self.take(name, default)
        if value is None:
            return None
        self._values[name] = value
        return self.integer(name)

    def dollars(self, name: str) -> int:
        """Return dollars, written as digits with an optional point, times 10^18."""
        whole, _, fraction = str(self.take(name)).partition(".")
        if not (whole + fraction).isdecimal() or len(fraction) > USD_DECIMALS:
            raise CatalogueInvalid(f"{self.path}.{name}", "must be dollars")
        return int(whole or "0") * 10**USD_DECIMALS + int(fraction.ljust(USD_DECIMALS, "0"))

    def flag(self, name: str) -> bool:
        value = self.take(name, default=False)
        if not isinstance(value, bool):
            raise CatalogueInvalid(f"{self.path}.{name}", "must be true or false")
        return value

    def seconds(self, name: str, default: object = REQUIRED) -> timedelta:
        return timedelta(seconds=self.integer(name, default))

    def moment(self, name: str, default: object = REQUIRED) -> datetime:
        value = self.take(name, default)
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(moment, datetime):
            raise CatalogueInvalid(f"{self.path}.{name}", "must be a date with a time")
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def texts(self, name: str, default: object = REQUIRED) -> tuple[str, ...]:
        return tuple(str(item) for item in self.items(name, default))

    def items(self, name: str, default: object = REQUIRED) -> Sequence[object]:
        value = self.take(name, default)
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise CatalogueInvalid(f"{self.path}.{name}", "must be a list")
        return value

    def address(self, name: str) -> str:
        return self._address(self.text(name), name)

    def address_or_none(self, name: str) -> str | None:
        text = self.text_or_none(name)
        return None if text is None else self._address(text, name)

    def addresses(self, name: str, default: object = REQUIRED) -> tuple[str, ...]:
        return tuple(self._address(text, name) for text in self.texts(name, default))

    def hash(self, name: str) -> str:
        text = self.text(name).lower()
        if not WORD.fullmatch(text):
            raise CatalogueInvalid(f"{self.path}.{name}", "must be 32 bytes in hex")
        return text

    def network_type(self, name: str) -> str:
        text = self.text(name, EVM)
        if text not in NETWORK_TYPES:
            known = ", ".join(sorted(NETWORK_TYPES))
            raise CatalogueInvalid(f"{self.path}.{name}", f"must be one of {known}")
        return text

    def template(self, name: str) -> str:
        """Return an absolute URL with one `{0}`, or nothing."""
        text = self.text(name, "")
        if text and not (text.startswith(("http://", "https://")) and text.count("{0}") == 1):
            raise CatalogueInvalid(f"{self.path}.{name}", "must be a URL with one {0}, or empty")
        return text

    def members(self, name: str) -> _Members:
        return self.nested_members(self.take(name), name)

    def nested_members(self, item: object, name: str) -> _Members:
        return _Members(item, f"{self.path}.{name}", self._to_address)

    def members_or_none(self, name: str) -> _Members | None:
        value = self.take(name, None)
        return None if value is None else self.nested_members(value, name)

    def list_of_members(self, name: str, default: object = REQUIRED) -> list[_Members]:
        items = self.items(name, default)
        return [self.nested_members(item, f"{name}[{n}]") for n, item in enumerate(items)]

    def _address(self, text: str, name: str) -> str:
        try:
            return self._to_address(text)
        except ValueError as error:
            raise CatalogueInvalid(f"{self.path}.{name}", "must be an address") from error

    def reject_unknown_members(self) -> None:
        if self._values:
            raise CatalogueInvalid(self.path, f"has unknown members: {', '.join(self._values)}")


def catalogue_from(document: object, *, to_address: ToAddress) -> Catalogue:
    """Build the catalogue from a parsed file; `docs/catalogue.md` explains each member.

    :param to_address: returns an address in the one form that the services compare, or raises
        ValueError.
    :raises CatalogueInvalid: with the path of the member at fault.
    """
    root = _Members(document, "catalogue", to_address)
    networks = [_network(members) for members in root.list_of_members("networks")]
    routes = [_route(members) for members in root.list_of_members("routes")]
    catalogue = Catalogue(
        environment=root.text("environment"),
        swap_lifetime=root.seconds("swap_lifetime_seconds", 6 * 3600),
        networks=MappingProxyType({network.name: network for network in networks}),
        routes=tuple(routes),
    )
    if catalogue.environment not in ("live", "test"):
        raise CatalogueInvalid("catalogue.environment", "must be live or test")
    if len(catalogue.networks) != len(networks) or len(catalogue.by_chain_id) != len(networks):
        raise CatalogueInvalid("catalogue.networks", "names and chain ids must be unique")
    root.reject_unknown_members()
    return catalogue


def _network(members: _Members) -> Network:
    path, name = members.path, members.text("name")
    contracts, gas = members.members("contracts"), members.members("gas")
    network = Network(
        name=name,
        display_name=members.text("display_name"),
        type=members.network_type("type"),
        chain_id=members.integer("chain_id"),
        logo=members.text("logo", ""),
        transaction_explorer_template=members.template("transaction_explorer_template"),
        account_explorer_template=members.template("account_explorer_template"),
        source_rank=members.integer("source_rank", 0),
        destination_rank=members.integer("destination_rank", 0),
        listing_date=members.moment("listing_date"),
        public_nodes=members.texts("public_nodes"),
        start_block=members.integer("start_block"),
        block_time=timedelta(milliseconds=members.integer("block_time_milliseconds")),
        payout_confirmations=members.integer_or_none("payout_confirmations", None),
        finality_blocks=members.integer("finality_blocks"),
        contracts=Contracts(
            treasury=contracts.address("treasury"),
            depository=contracts.address_or_none("depository"),
            paymaster=contracts.address_or_none("paymaster"),
            deposit_addresses=_deposit_addresses(contracts.members_or_none("deposit_addresses")),
            owners=_owners(contracts.members_or_none("owners")),
            other_receivers=contracts.addresses("other_receivers", ()),
        ),
        signers=members.addresses("signers"),
        funders=members.addresses("funders", ()),
        gas=GasUnits(
            pay_native=gas.integer("pay_native"),
            pay_erc20=gas.integer("pay_erc20"),
            relay_eip3009=gas.integer("relay_eip3009", 0),
            relay_eip2612=gas.integer("relay_eip2612", 0),
            sweep_native=gas.integer("sweep_native", 0),
            sweep_erc20=gas.integer("sweep_erc20", 0),
        ),
        max_fee_per_gas=members.integer("max_fee_per_gas"),
        l1_data_fee=_l1_data_fee(members.members_or_none("l1_data_fee")),
        has_blooms=members.flag("has_blooms"),
        tokens=tuple(_token(name, token) for token in members.list_of_members("tokens")),
    )
    for part in (members, contracts, gas):
        part.reject_unknown_members()
    if not network.public_nodes:
        raise CatalogueInvalid(f"{path}.public_nodes", "must name a node")
    sweeps = (network.gas.sweep_native, network.gas.sweep_erc20)
    if network.contracts.deposit_addresses is not None and not all(sweeps):
        raise CatalogueInvalid(f"{path}.gas", "must say what a sweep takes")
    if sum(token.is_native for token in network.tokens) != 1:
        raise CatalogueInvalid(f"{path}.tokens", "must name the native token once")
    if len({token.symbol for token in network.tokens}) != len(network.tokens):
        raise CatalogueInvalid(f"{path}.tokens", "must have unique symbols")
    for offered in filter(None, map(network.gasless, network.tokens)):
        if not network.gas.relay(offered.standard):
            name = f"relay_{offered.standard}"
            raise CatalogueInvalid(f"{path}.gas.{name}", "must say what a gasless deposit takes")
    return network


def _l1_data_fee(members: _Members | None) -> L1DataFee | None:
    if members is None:
        return None
    fee = L1DataFee(
        kind=members.text("kind"),
        oracle=members.address("oracle"),
        transaction_bytes=members.integer("transaction_bytes"),
        max_wei=members.integer("max_wei"),
    )
    if fee.kind != OP_STACK:
        raise CatalogueInvalid(f"{members.path}.kind", f"must be {OP_STACK}")
    members.reject_unknown_members()
    return fee


def _deposit_addresses(members: _Members | None) -> DepositAddresses | None:
    if members is None:
        return None
    addresses = DepositAddresses(members.address("factory"), members.hash("init_code_hash"))
    members.reject_unknown_members()
    return addresses


def _owners(members: _Members | None) -> Owners:
    if members is None:
        return Owners()
    owners = Owners(
        treasury=members.address_or_none("treasury"),
        depository=members.address_or_none("depository"),
        paymaster=members.address_or_none("paymaster"),
    )
    members.reject_unknown_members()
    return owners


def _token(network: str, members: _Members) -> Token:
    symbol, decimals = members.text("symbol"), members.integer("decimals")
    token = Token(
        network=network,
        symbol=symbol,
        address=members.address_or_none("contract") or NATIVE,
        decimals=decimals,
        precision=members.integer("precision", min(decimals, PRECISION_MAX)),
        name=members.text("asset", symbol),
        price_symbol=members.text("price_symbol", symbol),
        logo=members.text("logo", ""),
        group=members.text_or_none("group"),
        listing_date=members.moment("listing_date"),
        source_rank=members.integer("source_rank", 0),
        destination_rank=members.integer("destination_rank", 0),
        tiers=tuple(
            _tier(tier, is_first=n == 0)
            for n, tier in enumerate(members.list_of_members("tiers", ()))
        ),
        gasless=_gasless(members),
    )
    members.reject_unknown_members()
    if token.precision > min(decimals, PRECISION_MAX):
        raise CatalogueInvalid(
            f"{members.path}.precision", "must be at most 8 and at most the decimals"
        )
    return token


def _gasless(token: _Members) -> Gasless | None:
    document = token.take("gasless", None)
    if document is None:
        return None
    members = token.nested_members(document, "gasless")
    standard, salt = members.text("standard"), members.text_or_none("salt")
    if standard not in set(GaslessStandard):
        raise CatalogueInvalid(f"{members.path}.standard", "must be eip3009 or eip2612")
    if salt is not None and not WORD.fullmatch(salt):
        raise CatalogueInvalid(f"{members.path}.salt", "must be 32 bytes in hex")
    domain = TokenDomain(members.text("name"), members.text_or_none("version"), salt)
    members.reject_unknown_members()
    return Gasless(GaslessStandard(standard), domain)


def _tier(members: _Members, *, is_first: bool) -> ConfirmationTier:
    below = members.integer_or_none("below_base_units", None)
    tier = ConfirmationTier(
        below_base_units=below,
        confirmations=members.integer_or_none("confirmations", None),
        providers=members.integer("providers", 1 if is_first and below is not None else 2),
    )
    members.reject_unknown_members()
    if tier.providers not in (1, 2):
        raise CatalogueInvalid(f"{members.path}.providers", "must be 1 or 2")
    if tier.confirmations == 0:
        raise CatalogueInvalid(f"{members.path}.confirmations", "must be at least 1")
    return tier


def _route(members: _Members) -> RouteRule:
    rule = RouteRule(
        source=members.text("source"),
        destination=members.text("destination"),
        is_closed=bool(members.take("closed", default=False)),
        service_fee_basis_points=members.integer("service_fee_basis_points"),
        slippage_ppm=members.integer("slippage_ppm"),
        min_usd_e18=members.dollars("min_usd"),
        max_usd_e18=members.dollars("max_usd"),
        quote_lifetime=members.seconds("quote_lifetime_seconds", 300),
        estimated_duration=members.seconds("estimated_seconds"),
    )
    members.reject_unknown_members()
    return rule
