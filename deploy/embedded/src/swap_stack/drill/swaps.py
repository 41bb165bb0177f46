"""The swaps of the drill: created and paid for at the moments that it is about."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import aiohttp
from eth_account import Account

from swap_stack.daemon import StackError
from swap_stack.demo.journeys import (
    COIN_TO_OTHER_COIN,
    NATIVE_TO_NATIVE,
    REFUSED,
    TOKEN_TO_TOKEN,
    Journey,
    Method,
)
from swap_stack.demo.partner import Partner
from swap_stack.demo.user import User, deploy_refusing
from swap_stack.node import Node

FINAL: Final = ("completed", "failed", "expired", "refunded")
PATIENCE_SECONDS: Final = 120.0
POLL_SECONDS: Final = 0.3


@dataclass(frozen=True, slots=True)
class Planned:
    """One swap, and when what happens to it."""

    name: str
    journey: Journey
    when: str


PAID_OUT: Final = Planned("paid out", TOKEN_TO_TOKEN, "created before the backup, paid after it")
SENT_BACK: Final = Planned("sent back", REFUSED, "created before the backup, refunded after it")
UNPAID: Final = Planned(
    "not yet paid for", COIN_TO_OTHER_COIN, "created before the backup, paid for after the restore"
)
FORGOTTEN: Final = Planned(
    "forgotten", replace(NATIVE_TO_NATIVE, amount="0.2"), "created and paid after the backup"
)
NEW: Final = Planned("new", NATIVE_TO_NATIVE, "created after the restore")


class Swaps:
    """A partner and a user who know what was created, whatever a database forgets."""

    def __init__(self, stack: Mapping[str, Any], session: aiohttp.ClientSession) -> None:
        partner = stack["partners"][0]
        self._partner = Partner(session, stack["gateway"]["url"], partner["api_key"])
        self._networks = {network["name"]: network for network in stack["networks"]}
        self._prepared: dict[Planned, dict[str, Any]] = {}

    def id_of(self, planned: Planned) -> str:
        return str(self._prepared[planned]["swap"]["id"])

    async def create(self, planned: Planned) -> None:
        journey = planned.journey
        user = self._networks[journey.source_network]["users"][0]
        body = {
            "source_network": journey.source_network,
            "source_token": journey.source_token,
            "destination_network": journey.destination_network,
            "destination_token": journey.destination_token,
            "destination_address": await self._recipient(journey),
            "refund_address": user["address"],
            "amount": journey.amount,
            "use_depository": journey.method is Method.DEPOSITORY,
            "refuel": journey.refuel,
        }
        self._prepared[planned] = await self._partner.create_swap(body)

    async def pay(self, planned: Planned) -> None:
        """Send what its deposit action says."""
        [action] = self._prepared[planned]["deposit_actions"]
        network = self._networks[planned.journey.source_network]
        user = User(Node(network["rpc_urls"][0]), network["users"][0]["private_key"])
        await user.approve(action)
        await user.deposit(action)

    async def status(self, planned: Planned) -> str:
        answer = await self._partner.get_swap(self.id_of(planned))
        return str(answer["swap"]["status"])

    async def follow(self, planned: Planned, *to: str) -> str:
        """Return the status that it has in the end.

        :raises StackError: when it takes too long.
        """
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while (status := await self.status(planned)) not in (to or FINAL):
            if asyncio.get_running_loop().time() > deadline:
                raise StackError(f"{planned.name}: still {status} after {PATIENCE_SECONDS:.0f} s")
            await asyncio.sleep(POLL_SECONDS)
        return status

    async def _recipient(self, journey: Journey) -> str:
        if not journey.recipient_refuses:
            return str(Account.create().address)
        network = self._networks[journey.destination_network]
        key = network["users"][1]["private_key"]
        return await deploy_refusing(Node(network["rpc_urls"][0]), key)
