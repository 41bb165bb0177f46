"""What a deployment offers, read from its answers, and the swaps that the suite creates."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from functools import cached_property
from time import monotonic, sleep
from typing import Any, Final

from tests.conformance.signing import Account, RequirementMissing, needs_signing, sign
from tests.conformance.target import Target

GASLESS_WITHIN_SECONDS: Final = 15  # a deployment reads its chains first after its start
POLL_SECONDS: Final = 0.5
TIMES_MINIMUM: Final = 4
OK: Final = 200
# Unpaid swaps, by funding method.
WAYS: Final = (
    *("swap", "token_swap", "direct_swap", "direct_token_swap"),
    *("deposit_address_swap", "gasless_swap"),
)
# A sandbox's swaps end soon. A swap stays the same during a test.
KEPT_SECONDS: Final = 10
FUNDING: Final = ("use_depository", "use_deposit_address", "use_gasless")


@dataclass(frozen=True, slots=True)
class Route:
    source_network: Mapping[str, Any]
    source: Mapping[str, Any]
    destination_network: Mapping[str, Any]
    destination: Mapping[str, Any]

    @property
    def query(self) -> dict[str, str]:
        return {
            "source_network": self.source_network["name"],
            "source_token": self.source["symbol"],
            "destination_network": self.destination_network["name"],
            "destination_token": self.destination["symbol"],
        }


@dataclass(frozen=True, slots=True)
class Parties:
    """A swap with all of its addresses set, each of them new."""

    addresses: Mapping[str, str]
    created: Mapping[str, Any]


class UnusedKey:
    """A new key; its address has no balance and no transaction.

    :raises RequirementMissing: where no signing library is installed.
    """

    def __init__(self) -> None:
        needs_signing()
        self._account = Account.create()

    @property
    def address(self) -> str:
        return str(self._account.address)

    def sign(self, typed_data: Mapping[str, Any]) -> str:
        """Return the signature of eth_signTypedData_v4."""
        return sign(self._account, typed_data)


class World:
    """The resources for tests, each found or created on first use."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._kept_since = monotonic()

    def reset_lapsing(self) -> None:
        """Before a test, forget old swaps that will have ended, so that new ones are created."""
        is_old = monotonic() - self._kept_since > KEPT_SECONDS
        if self.target.settings.is_sandbox and is_old:
            self._kept_since = monotonic()
            for name in ("recipient", "swap_of_three", *WAYS):
                self.__dict__.pop(name, None)

    @cached_property
    def networks(self) -> Sequence[Mapping[str, Any]]:
        return list(self.target.get("/api/v2/networks", "[ListedNetworkModel]"))

    @cached_property
    def native_route(self) -> Route:
        """Return a route from a network's native coin, to the same coin if possible."""
        return self._route(lambda token: token["contract"] is None)

    @cached_property
    def token_route(self) -> Route:
        return self._route(lambda token: token["contract"] is not None)

    @cached_property
    def gasless_route(self) -> Route:
        """
        :raises RequirementMissing: where no token can be deposited by a signature.
        """
        return self._route(lambda token: token["supports_gasless_deposit"])

    def wait_for_gasless(self) -> None:
        """Wait until a development stack that has just started has read its chains."""
        ends_at = monotonic() + GASLESS_WITHIN_SECONDS
        while monotonic() < ends_at:
            networks = self.target.ask("GET", "/api/v2/networks").data
            if any(t["supports_gasless_deposit"] for n in networks for t in n["tokens"]):
                return
            sleep(POLL_SECONDS)

    def limits(self, route: Route, **query: str) -> Mapping[str, Any]:
        limits = self.target.get("/api/v2/limits", "Limits", **route.query, **query)
        return dict(limits)

    def amount(self, route: Route, **query: str) -> str:
        """Return an amount well inside the limits, with no more decimals than the token has."""
        limits = self.limits(route, **query)
        least, most = (Decimal(str(limits[name])) for name in ("min_amount", "max_amount"))
        wanted = min(least * TIMES_MINIMUM, (least + most) / 2)
        return truncate(wanted, route.source)

    def order(self, route: Route | None = None, **more: Any) -> dict[str, Any]:
        """Return the body of a creation; by default it is funded through the Depository."""
        chosen = route or self.native_route
        funding = {} if any(more.get(name) for name in FUNDING) else self.usual_funding
        gasless = {"use_gasless": "true"} if more.get("use_gasless") else {}
        return {
            **chosen.query,
            "amount": self.amount(chosen, **gasless),
            "destination_address": new_address(),
            **funding,
            **more,
        }

    @cached_property
    def usual_funding(self) -> Mapping[str, bool]:
        """Return the Depository if there is one, else a plain transfer."""
        query = {**self.native_route.query, "use_depository": "true"}
        answer = self.target.ask("GET", "/api/v2/limits", params=query)
        return {"use_depository": True} if answer.status == OK else {}

    def needs_depository(self) -> None:
        """
        :raises RequirementMissing: where there is none.
        """
        if not self.usual_funding:
            raise RequirementMissing("there is no Depository here")

    def wait_for(self, condition: Callable[[], Any], *, within: float = 10) -> Any:
        """Return the first true result."""
        ends_at = monotonic() + within
        while not (answer := condition()):
            assert monotonic() < ends_at, f"not in {within:.0f} s"
            sleep(POLL_SECONDS)
        return answer

    def needs_key(self, kind: str) -> None:
        """
        :raises RequirementMissing: where no such key is configured.
        """
        if kind not in self.target.keys:
            raise RequirementMissing(f"no {kind} key was given")

    @cached_property
    def routes(self) -> Sequence[Route]:
        """Return every open route."""
        routes = []
        for network in self.target.get("/api/v2/sources", "[ReachableNetworkModel]"):
            for token in network["tokens"]:
                query = {"source_network": network["name"], "source_token": token["symbol"]}
                reached = self.target.get(
                    "/api/v2/destinations", "[ReachableNetworkModel]", **query
                )
                routes += [Route(network, token, n, t) for n in reached for t in n["tokens"]]
        return routes

    @cached_property
    def other_asset_route(self) -> Route:
        """
        :raises RequirementMissing: where every route ends at the asset that it starts from.
        """
        start = self.native_route
        query = {
            "source_network": start.source_network["name"],
            "source_token": start.source["symbol"],
        }
        for network in self.target.get("/api/v2/destinations", "[ReachableNetworkModel]", **query):
            for token in network["tokens"]:
                if token["asset"] != start.source["asset"]:
                    return Route(start.source_network, start.source, network, token)
        raise RequirementMissing("every route here ends at the asset that it starts from")

    @cached_property
    def route_without_depository(self) -> Route:
        """
        :raises RequirementMissing: where every network has one.
        """
        for network in self.networks:
            route = self._route(lambda token: True, networks={network["name"]})
            query = {**route.query, "use_depository": "true"}
            answer = self.target.ask("GET", "/api/v2/limits", params=query)
            if answer.status != OK and answer.error.get("code") == "UNSUPPORTED_DEPOSITORY":
                return route
        raise RequirementMissing("every network here has a Depository")

    @cached_property
    def route_without_deposit_addresses(self) -> Route:
        """
        :raises RequirementMissing: where every network offers deposit addresses.
        """
        lacking = {
            n["name"] for n in self.networks if "deposit_address" not in n["deposit_methods"]
        }
        what = "every network here offers deposit addresses"
        return self._route(lambda token: True, networks=lacking, what=what)

    @cached_property
    def route_without_gasless(self) -> Route:
        """
        :raises RequirementMissing: where every token can be deposited by a signature.
        """
        what = "every token here takes gasless deposits"
        return self._route(lambda token: not token["supports_gasless_deposit"], what=what)

    # Swaps that only need to exist

    @cached_property
    def recipient(self) -> str:
        return new_address()

    @cached_property
    def swap(self) -> Mapping[str, Any]:
        """Return an unpaid swap, as its creation returned it."""
        fields = {"destination_address": self.recipient, "reference_id": "conformance"}
        return self.target.create(self.order(**fields))

    @cached_property
    def token_swap(self) -> Mapping[str, Any]:
        return self.target.create(self.order(self.token_route))

    @cached_property
    def swap_of_three(self) -> Parties:
        """Return a swap with its sender and its refund address set."""
        names = ("source_address", "destination_address", "refund_address")
        addresses = {name: new_address() for name in names}
        return Parties(addresses, self.target.create(self.order(**addresses)))

    @cached_property
    def direct_swap(self) -> Mapping[str, Any]:
        return self.target.create({**self.order(), "use_depository": False})

    @cached_property
    def direct_token_swap(self) -> Mapping[str, Any]:
        return self.target.create({**self.order(self.token_route), "use_depository": False})

    @cached_property
    def deposit_address_swap(self) -> Mapping[str, Any]:
        """
        :raises RequirementMissing: where no network offers deposit addresses.
        """
        return self.target.create(self.order(self.deposit_address_route, use_deposit_address=True))

    @cached_property
    def deposit_address_route(self) -> Route:
        offering = {n["name"] for n in self.networks if "deposit_address" in n["deposit_methods"]}
        return self._route(
            lambda token: True,
            networks=offering,
            what="no network here offers deposit addresses",
        )

    @cached_property
    def gasless_swap(self) -> Mapping[str, Any]:
        return self.target.create(self.order(self.gasless_route, use_gasless=True))

    @cached_property
    def signer(self) -> UnusedKey:
        """Return a key without balances, for signatures."""
        return UnusedKey()

    @cached_property
    def unknown_swap(self) -> str:
        digits = secrets.token_hex(16)
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def _route(
        self, wanted: Any, *, networks: set[str] | None = None, what: str = "no such token here"
    ) -> Route:
        target = self.target
        sources = target.get("/api/v2/sources", "[ReachableNetworkModel]")
        for network in sources:
            if network["type"] != "evm" or (
                networks is not None and network["name"] not in networks
            ):
                continue
            for token in network["tokens"]:
                if token["status"] == "active" and wanted(token):
                    found = self._destination(network, token)
                    if found is not None:
                        return Route(network, token, *found)
        raise RequirementMissing(what)

    def _destination(
        self, network: Mapping[str, Any], token: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
        query = {"source_network": network["name"], "source_token": token["symbol"]}
        found = [
            (other, reached)
            for other in self.target.get("/api/v2/destinations", "[ReachableNetworkModel]", **query)
            for reached in other["tokens"]
            if reached["status"] == "active" and other["name"] != network["name"]
        ]
        alike = [pair for pair in found if pair[1]["asset"] == token["asset"]]
        return next(iter(alike or found), None)


def new_address() -> str:
    return f"0x{secrets.token_hex(20)}"


def truncate(amount: Decimal, token: Mapping[str, Any]) -> str:
    unit = Decimal(1).scaleb(-int(token["precision"]))
    return format(amount.quantize(unit, ROUND_DOWN), "f")
