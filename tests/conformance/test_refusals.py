"""Every refused situation: the code, the HTTP status, and the members of the error."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from tests.conformance.everything import UNKNOWN_HASH
from tests.conformance.tables import Refusal, codes, refusals
from tests.conformance.world import Route, UnusedKey, World, new_address, truncate

ROWS = [
    pytest.param(row, id=row.situation, marks=pytest.mark.rule(row.section, row.situation))
    for row in refusals()
]


@pytest.mark.parametrize("row", ROWS)
def test_each_situation_is_refused_as_specified(row: Refusal, world: World) -> None:
    values = _Values(world)
    method, _, path = row.ask.partition(" ")
    options: dict[str, Any] = {}
    if row.order:
        options["json"] = _order(world, row, values)
    elif row.body is not None:
        options["json"] = _filled(row.body, values)
    if row.raw is not None:
        options["content"] = row.raw
    headers = {**_filled(row.headers or {}, values), **_key(world, row)}
    key = row.key if row.key not in ("none", "unknown") else None
    if key is not None:
        world.needs_key(key)

    answer = world.target.ask(method, path.format_map(values), key=key, headers=headers, **options)

    error = answer.refuses(row.code)
    assert answer.status == row.status == codes()[row.code]
    assert row.says in error["message"]
    assert row.names == "" or row.names in error["metadata"]


def _key(world: World, row: Refusal) -> Mapping[str, str]:
    if row.key != "unknown":
        return {}
    return {world.target.settings.key_header: f"svc_test_{secrets.token_hex(32)}"}


def _order(world: World, row: Refusal, values: _Values) -> Mapping[str, Any]:
    if row.needs == "network without a Depository":
        return world.order(world.route_without_depository, use_depository=True)
    if row.needs == "network without deposit addresses":
        route = world.route_without_deposit_addresses
        return {**world.order(route), "use_depository": False, "use_deposit_address": True}
    if row.needs == "coin without gasless deposits":
        route = world.route_without_gasless
        return {**world.order(route, use_depository=False), **_filled(row.body or {}, values)}
    order = {**world.order(), **_filled(row.body or {}, values)}
    return {name: value for name, value in order.items() if name not in row.without}


def _filled(body: Mapping[str, Any], values: _Values) -> dict[str, Any]:
    return {
        name: value.format_map(values) if isinstance(value, str) else value
        for name, value in body.items()
    }


class _Values(dict[str, str]):
    """The values of placeholders in braces, created on first use."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._signer: UnusedKey | None = None

    def __missing__(self, name: str) -> str:
        world = self._world
        made: Mapping[str, Any] = {
            "swap": lambda: world.swap["swap"]["id"],
            "nobody": lambda: world.unknown_swap,
            "gasless": lambda: world.gasless_swap["swap"]["id"],
            "unfetched": lambda: world.target.create(
                world.order(world.gasless_route, use_gasless=True)
            )["swap"]["id"],
            "fetched": lambda: self._sign_step()[0],
            "signature": lambda: self.signer.sign(self._sign_step()[1]),
            "strange_signature": lambda: UnusedKey().sign(self._sign_step()[1]),
            "signer": lambda: self.signer.address,
            "strange_hash": lambda: UNKNOWN_HASH,
            "network": lambda: world.native_route.source_network["name"],
            "token": lambda: world.native_route.source["symbol"],
            "two_million_letters": lambda: "x" * 2_000_000,
            "used_key": partial(_used_key, world),
            "below_minimum": lambda: self._amount("min_amount", "0.5"),
            "above_maximum": lambda: self._amount("max_amount", "2"),
            "route": lambda: _query(world.native_route),
            "coin_route": lambda: _query(world.route_without_gasless),
            "bare_route": lambda: _query(world.route_without_deposit_addresses),
            "depository": partial(_depository_of, world),
        }
        return str(made[name]())

    @property
    def signer(self) -> UnusedKey:
        return self._world.signer

    def _sign_step(self) -> tuple[str, Mapping[str, Any]]:
        """Return a gasless swap and its sign step."""
        swap_id = self._world.gasless_swap["swap"]["id"]
        steps = self._world.target.steps(swap_id, source_address=self.signer.address)
        [sign_step] = [step for step in steps if step["type"] == "sign"]
        return swap_id, sign_step["typed_data"]

    def _amount(self, limit: str, times: str) -> str:
        route = self._world.native_route
        limits = self._world.limits(route, **_depository(self._world))
        return truncate(Decimal(str(limits[limit])) * Decimal(times), route.source)


def _query(route: Route) -> str:
    return "&".join(f"{name}={value}" for name, value in route.query.items())


def _depository_of(world: World) -> str:
    world.needs_depository()
    return str(world.swap["deposit_actions"][0]["to_address"])


def _depository(world: World) -> dict[str, str]:
    return {"use_depository": "true"} if world.usual_funding else {}


def _used_key(world: World) -> str:
    key = f"used-{new_address()}"
    headers = {"Idempotency-Key": key}
    world.target.ask("POST", "/api/v2/swaps", json=world.order(), headers=headers)
    return key
