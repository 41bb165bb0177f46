"""Requests everything that a deployment shows, so that every object of the tables is seen."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from tests.conformance.paid_swaps import JOURNEYS, PaidSwaps
from tests.conformance.receiver import Receiver
from tests.conformance.signing import RequirementMissing
from tests.conformance.tables import Endpoint, endpoints
from tests.conformance.target import Answer, NotConforming
from tests.conformance.world import WAYS, World, new_address

AUTHORIZE: Final = "/api/v2/swaps/{by_signature}/authorize"
# One that no other request names, and one that a hint names. They are new in every run, because
# hints are stored.
UNKNOWN_HASH: Final = "0x" + secrets.token_hex(32)
HINTED_HASH: Final = "0x" + secrets.token_hex(32)


def observe_everything(world: World, paid_swaps: PaidSwaps, receiver: Receiver) -> None:
    """Failed requests are skipped; the test of the object then reports that it is missing."""
    for endpoint in endpoints():
        with suppress(RequirementMissing, NotConforming):
            answer = ask(world, paid_swaps, endpoint)
            if endpoint.data != "-":
                world.target.observe(answer, endpoint.data)
    for name in WAYS:
        with suppress(RequirementMissing, NotConforming):
            swap_id = getattr(world, name)["swap"]["id"]
            world.target.read(swap_id)
            world.target.steps(swap_id, source_address=new_address())
            path = f"/api/v2/experimental/swaps/{swap_id}"
            world.target.get(path, "PreparedSwapResponse", source_address=new_address())
    with suppress(RequirementMissing, NotConforming):
        world.target.create(world.order(world.token_route, refuel=True))
    for name in JOURNEYS:
        with suppress(RequirementMissing, NotConforming):
            _observe_journey(world, getattr(paid_swaps, name).id)
    with suppress(RequirementMissing, AssertionError):
        about = {world.swap["swap"]["id"], *paid_swaps.ids}
        for delivery in receiver.wait_for(lambda one: one.swap_id in about):
            world.target.observed.add("WebhookPayload", delivery.payload, "webhook")


def _observe_journey(world: World, swap_id: str) -> None:
    target = world.target
    target.steps(swap_id, source_address=new_address())
    target.get(f"/api/v2/swaps/{swap_id}/events", "[SwapEvent]")
    target.get(f"/api/v2/swaps/{swap_id}/ledger", "[LedgerTransaction]")
    with suppress(NotConforming):
        target.get(f"/api/v2/swaps/{swap_id}/authorize", "Authorization")


def ask(
    world: World, paid_swaps: PaidSwaps, endpoint: Endpoint, *, key: str | None = "secret"
) -> Answer:
    """Request an existing resource of one endpoint.

    :raises RequirementMissing: where none exists.
    """
    values = _Values(world, paid_swaps)
    path = endpoint.path.format_map(values)
    options: dict[str, Any] = {}
    if endpoint.method == "POST":
        options["json"] = body_of(world, paid_swaps, endpoint)
    if endpoint.path == AUTHORIZE:
        # A swap takes one signature, so the first answer is replayed.
        options["headers"] = {"Idempotency-Key": paid_swaps.by_signature.signed_once}
    if "/refund_address" in path:
        fresh = world.target.create(world.order())["swap"]["id"]
        path = f"/api/v2/swaps/{fresh}/refund_address"
    return world.target.ask(
        endpoint.method, path, key=None if endpoint.key == "none" else key, **options
    )


def body_of(world: World, paid_swaps: PaidSwaps, endpoint: Endpoint) -> Mapping[str, Any]:
    route = world.native_route.query
    bodies: Mapping[str, Any] = {
        "/api/v2/swaps": world.order,
        "/api/swap_rate": lambda: {
            "source": route["source_network"],
            "destination": route["destination_network"],
            "source_asset": route["source_token"],
            "destination_asset": route["destination_token"],
            "refuel": False,
        },
        AUTHORIZE: lambda: paid_swaps.by_signature.signed,
        "/api/v2/swaps/{swap}/deposit_speedup": lambda: {"transaction_id": HINTED_HASH},
        "/api/v2/swaps/{swap}/refund_address": lambda: {"refund_address": new_address()},
    }
    return dict(bodies[endpoint.path]())


class _Values(dict[str, str]):
    """The values of placeholders in braces, created on first use."""

    def __init__(self, world: World, paid_swaps: PaidSwaps) -> None:
        super().__init__()
        self._world = world
        self._paid = paid_swaps

    def __missing__(self, name: str) -> str:
        world = self._world
        made: Mapping[str, Any] = {
            "swap": lambda: world.swap["swap"]["id"],
            "gasless": self._fetched_gasless,
            "signer": lambda: world.signer.address,
            "recipient": lambda: world.recipient,
            "paid": lambda: self._paid.by_depository.id,
            "by_signature": lambda: self._paid.by_signature.id,
            "hash": lambda: self._paid.by_depository.deposit,
            "network": lambda: world.native_route.source_network["name"],
            "route": lambda: "&".join(
                f"{name}={value}"
                for name, value in {
                    **world.native_route.query,
                    "amount": world.amount(world.native_route),
                }.items()
            ),
        }
        return str(made[name]())

    def _fetched_gasless(self) -> str:
        swap_id = str(self._world.gasless_swap["swap"]["id"])
        self._world.target.steps(swap_id, source_address=self._world.signer.address)
        return swap_id
