"""Swaps that are paid: all are sent first, then followed.

They are paid by the wallets of a stack.json, or by a sandbox, which acts as the user for some
recipients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from time import monotonic, sleep
from typing import Any, Final

from tests.conformance.signing import RequirementMissing
from tests.conformance.wallet import Wallets
from tests.conformance.world import World, new_address

JOURNEYS: Final = (
    *("by_depository", "by_signature", "by_address", "by_transfer"),
    *("refunded", "failed"),
)
FINAL: Final = ("completed", "refunded", "failed", "expired")
WITHIN_SECONDS: Final = 30
POLL_SECONDS: Final = 0.1
# Deploys three bytes of code that refuse every coin: PUSH0 PUSH0 REVERT.
REFUSES: Final = "0x625f5ffd5f526003601df3"
# Recipients for which a sandbox acts as the user: paid and delivered, paid and refused.
SANDBOX_PAYS: Final = "0x7357000000000000000000000000000000000001"
SANDBOX_REFUSES: Final = "0x7357000000000000000000000000000000000007"
GAS_CREATE: Final = 200_000


@dataclass
class Journey:
    """A swap since its creation, as reads show it."""

    created: Mapping[str, Any]
    sent: str = ""  # the hash of the suite's transaction; empty if the suite sends none
    seen: list[Mapping[str, Any]] = field(default_factory=list)
    body: Mapping[str, Any] = field(default_factory=dict)  # the signed and submitted body
    signed_once: str = ""  # its idempotency key
    refund_address: str = ""

    @property
    def id(self) -> str:
        return str(self.created["swap"]["id"])

    @property
    def deposit(self) -> str:
        """Return the hash of the deposit."""
        return self.sent or str(self.transaction("input")["transaction_hash"])

    @property
    def signed(self) -> Mapping[str, Any]:
        """
        :raises RequirementMissing: where the suite did not sign.
        """
        if not self.body:
            raise RequirementMissing("what a sandbox signs is not told: give a wallet (stack.json)")
        return self.body

    @property
    def last(self) -> Mapping[str, Any]:
        return self.seen[-1]

    @property
    def status(self) -> str:
        return str(self.last["swap"]["status"])

    @property
    def statuses(self) -> list[str]:
        statuses = [read["swap"]["status"] for read in self.seen]
        return [one for n, one in enumerate(statuses) if n == 0 or statuses[n - 1] != one]

    def transactions(self, kind: str) -> list[Mapping[str, Any]]:
        return [t for t in self.last["swap"]["transactions"] if t["type"] == kind]

    def transaction(self, kind: str) -> Mapping[str, Any]:
        [found] = self.transactions(kind)
        return found


class PaidSwaps:
    """All journeys begin when the first one is requested."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._wallets = Wallets(world.target.settings.stack)
        self._is_played = world.target.settings.is_sandbox

    @property
    def by_depository(self) -> Journey:
        """Return a token swap with a refuel that was paid through the Depository.

        :raises RequirementMissing: where none can be paid.
        """
        return self._find("by_depository")

    @property
    def by_signature(self) -> Journey:
        return self._find("by_signature")

    @property
    def by_address(self) -> Journey:
        """Return a swap without an amount that was paid by a coin to its address."""
        return self._find("by_address")

    @property
    def by_transfer(self) -> Journey:
        """Return a token swap that was paid by a plain transfer."""
        return self._find("by_transfer")

    @property
    def failed(self) -> Journey:
        """Return a swap with a recipient that refuses payments, and without a refund address."""
        return self._find("failed")

    @property
    def refunded(self) -> Journey:
        """Return a swap with a recipient that refuses payments."""
        journey = self._find("refunded")
        if journey.status not in FINAL:
            raise RequirementMissing(f"nothing is refunded within {WITHIN_SECONDS} s here")
        return journey

    @property
    def ids(self) -> set[str]:
        return {one.id for one in self._all.values() if isinstance(one, Journey)}

    @cached_property
    def _all(self) -> Mapping[str, Journey | RequirementMissing]:
        """Send everything, then follow it to its end."""
        journeys: dict[str, Journey | RequirementMissing] = {}
        for name, begin in (
            ("refunded", self._begin_refunded),
            ("by_signature", self._begin_by_signature),
            ("by_depository", self._begin_by_depository),
            ("by_address", self._begin_by_address),
            ("by_transfer", self._begin_by_transfer),
            ("failed", self._begin_failed),
        ):
            try:
                journeys[name] = begin()
            except RequirementMissing as lacking:
                journeys[name] = lacking
        self._follow([one for one in journeys.values() if isinstance(one, Journey)])
        return journeys

    def _find(self, name: str) -> Journey:
        found = self._all[name]
        if isinstance(found, RequirementMissing):
            raise found
        return found

    def _follow(self, journeys: list[Journey]) -> None:
        ends_at = monotonic() + WITHIN_SECONDS
        under_way = list(journeys)
        while under_way and monotonic() < ends_at:
            for journey in list(under_way):
                read = self._world.target.read(journey.id)
                if not journey.seen or read["swap"] != journey.last["swap"]:
                    journey.seen.append(read)
                if journey.status in FINAL:
                    under_way.remove(journey)
            sleep(POLL_SECONDS)

    def _begin_by_depository(self) -> Journey:
        world = self._world
        world.needs_depository()
        route = world.token_route
        fields = {"refuel": True, "reference_id": "paid"}
        if self._is_played:
            return self._play(world.order(route, **fields))
        wallet = self._wallets.on(route.source_network["name"])
        created = world.target.create(world.order(route, refund_address=wallet.address, **fields))
        return Journey(created, wallet.deposit(created["deposit_actions"][0]))

    def _begin_by_signature(self) -> Journey:
        world = self._world
        route = world.gasless_route
        if self._is_played:
            return self._play(world.order(route, use_gasless=True))
        wallet = self._wallets.on(route.source_network["name"])
        created = world.target.create(world.order(route, use_gasless=True))
        swap_id = created["swap"]["id"]
        steps = world.target.steps(swap_id, source_address=wallet.address)
        [sign_step] = [step for step in steps if step["type"] == "sign"]
        body = {"signature": wallet.sign(sign_step["typed_data"]), "signer_address": wallet.address}
        once = {"Idempotency-Key": f"signed-{swap_id}"}
        path = f"/api/v2/swaps/{swap_id}/authorize"
        world.target.observe(
            world.target.ask("POST", path, json=body, headers=once), "Authorization"
        )
        return Journey(created, body=body, signed_once=once["Idempotency-Key"])

    def _begin_by_address(self) -> Journey:
        """Send a coin to the address of a swap without an amount."""
        world = self._world
        route = world.deposit_address_route
        if route.source["contract"] is not None:
            raise RequirementMissing("no coin here comes through a deposit address")
        order = world.order(route, use_deposit_address=True, refund_address=new_address())
        amount = Decimal(order.pop("amount"))
        if self._is_played:
            return self._play(order)
        wallet = self._wallets.on(route.source_network["name"])
        created = world.target.create(order)
        [action] = created["deposit_actions"]
        value = int(amount * 10 ** route.source["decimals"])
        sent = wallet.send(to=action["to_address"], value=value, data="0x", gas=GAS_CREATE)
        return Journey(created, sent)

    def _begin_by_transfer(self) -> Journey:
        world = self._world
        route = world.token_route
        order = {**world.order(route, refund_address=new_address()), "use_depository": False}
        if self._is_played:
            return self._play(order)
        wallet = self._wallets.on(route.source_network["name"])
        created = world.target.create(order)
        return Journey(created, wallet.deposit(created["deposit_actions"][0]))

    def _begin_refunded(self) -> Journey:
        return self._begin_refused(refund_address=new_address())

    def _begin_failed(self) -> Journey:
        return self._begin_refused()

    def _begin_refused(self, **fields: str) -> Journey:
        """Pay a coin for a swap with a recipient that refuses coins."""
        world = self._world
        world.needs_depository()
        route = world.native_route
        if route.destination["contract"] is not None:
            raise RequirementMissing("no route here ends at a coin, which a recipient can refuse")
        order = world.order(route, **fields)
        if self._is_played:
            return self._play(order, recipient=SANDBOX_REFUSES)
        payer = self._wallets.on(route.source_network["name"])
        order["destination_address"] = self._who_refuses
        created = world.target.create(order)
        sent = payer.deposit(created["deposit_actions"][0])
        return Journey(created, sent, refund_address=fields.get("refund_address", ""))

    @cached_property
    def _who_refuses(self) -> str:
        """Return a contract that refuses coins."""
        network = self._world.native_route.destination_network["name"]
        deployer = self._wallets.on(network)
        sent = deployer.send(to=None, value=0, data=REFUSES, gas=GAS_CREATE)
        return str(deployer.chain.receipt(sent)["contractAddress"])

    def _play(self, order: Mapping[str, Any], *, recipient: str = SANDBOX_PAYS) -> Journey:
        """Create a swap that a sandbox pays."""
        created = self._world.target.create({**order, "destination_address": recipient})
        return Journey(created, refund_address=str(order.get("refund_address", "")))
