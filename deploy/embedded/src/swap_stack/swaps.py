"""A partner and its user: the swaps of the demonstration and of the drills."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from eth_account import Account

from swap_sdk import AsyncClient
from swap_sdk.calls import SwapOptions
from swap_sdk.models import PreparedSwap
from swap_stack.daemon import StackError
from swap_stack.demo.journeys import Journey, Method
from swap_stack.keys import DevelopmentKey
from swap_stack.node import Node
from swap_stack.user import User, balance_of, refuse_at, requested_base_units

FINAL: Final = frozenset({"completed", "failed", "expired", "refunded"})
PATIENCE_SECONDS: Final = 120.0
POLL_SECONDS: Final = 0.3


@dataclass(frozen=True, slots=True)
class PlannedSwap:
    """One swap and its name in the output."""

    name: str
    journey: Journey


@asynccontextmanager
async def open_swaps(
    stack: Mapping[str, Any], *, api_key: str | None = None
) -> AsyncIterator[Swaps]:
    """
    :param api_key: by default the first partner's.
    """
    key = api_key or stack["partners"][0]["api_key"]
    async with AsyncClient(stack["gateway"]["url"], key) as client:
        yield Swaps(stack, client)


class Swaps:
    """A partner and a user; what they created is recorded here, also after a restore."""

    def __init__(self, stack: Mapping[str, Any], client: AsyncClient) -> None:
        self._client = client
        self._networks = {network["name"]: network for network in stack["networks"]}
        self._prepared: dict[PlannedSwap, PreparedSwap] = {}

    def id_of(self, planned: PlannedSwap) -> str:
        return self._prepared[planned]["swap"]["id"]

    async def create(self, planned: PlannedSwap) -> PreparedSwap:
        """
        :raises SwapError: when the service refuses it.
        """
        journey = planned.journey
        address = self._user(journey).address
        options: SwapOptions = {
            "refund_address": address,
            "use_depository": journey.method is Method.DEPOSITORY,
            "use_gasless": journey.method is Method.GASLESS,
            "use_deposit_address": journey.method is Method.DEPOSIT_ADDRESS,
            "refuel": journey.refuel,
        }
        if journey.method is Method.GASLESS:
            # It names its signer at creation; elsewhere an approval is sent unasked.
            options["source_address"] = address
        self._prepared[planned] = await self._client.create_swap(
            source_network=journey.source_network,
            source_token=journey.source_token,
            destination_network=journey.destination_network,
            destination_token=journey.destination_token,
            destination_address=await self._recipient(journey),
            amount=journey.amount,
            options=options,
        )
        return self._prepared[planned]

    async def pay(self, planned: PlannedSwap) -> tuple[str | None, str]:
        """Send what its deposit action says; return the hashes of an approval and the deposit."""
        [action] = self._prepared[planned]["deposit_actions"]
        base_units = requested_base_units(action) * planned.journey.paid_percent // 100
        return await self._user(planned.journey).pay(action, base_units)

    async def sign(self, planned: PlannedSwap) -> str:
        """Submit the user's signature; return the status of the authorization.

        :raises SwapError: when the service refuses it.
        """
        [action] = self._prepared[planned]["deposit_actions"]
        assert action["typed_data"] is not None
        signer = self._user(planned.journey)
        signature = signer.sign(action["typed_data"])
        answer = await self._client.authorize(
            self.id_of(planned), signature=signature, signer_address=signer.address
        )
        return answer["status"]

    async def read(self, planned: PlannedSwap) -> PreparedSwap:
        return await self._client.swap(self.id_of(planned))

    async def status(self, planned: PlannedSwap) -> str:
        return (await self.read(planned))["swap"]["status"]

    async def follow(self, planned: PlannedSwap) -> str:
        """Return the status that it has in the end.

        :raises StackError: when it takes too long.
        """
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while (status := await self.status(planned)) not in FINAL:
            if asyncio.get_running_loop().time() > deadline:
                raise StackError(f"{planned.name}: still {status} after {PATIENCE_SECONDS:.0f} s")
            await asyncio.sleep(POLL_SECONDS)
        return status

    async def received_base_units(self, planned: PlannedSwap) -> int:
        """Return what the recipient has on chain."""
        journey = planned.journey
        network = self._networks[journey.destination_network]
        token = next(t for t in network["tokens"] if t["symbol"] == journey.destination_token)
        recipient = self._prepared[planned]["swap"]["destination_address"]
        return await balance_of(self._node(network["name"]), recipient, token["contract"])

    async def _recipient(self, journey: Journey) -> str:
        recipient = str(Account.create().address)
        if journey.recipient_refuses:
            await refuse_at(self._node(journey.destination_network), recipient)
        return recipient

    def _user(self, journey: Journey) -> User:
        network = journey.source_network
        return User(self._node(network), DevelopmentKey(**self._networks[network]["users"][0]))

    def _node(self, network: str) -> Node:
        return Node(self._networks[network]["rpc_urls"][0])
