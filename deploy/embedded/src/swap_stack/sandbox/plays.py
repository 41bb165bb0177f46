"""A user's part in each outcome."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from swap_stack.demo.partner import Partner, Refused
from swap_stack.sandbox.outcomes import (
    BELOW_COST_BASE_UNITS,
    OVER_PERCENT,
    PARTIAL_PERCENT,
    Outcome,
)
from swap_stack.sandbox.purse import Purse

POLL_SECONDS = 0.2
WHOLE = 100
SOME_MINIMUMS = 4  # of the route, where a swap names no amount
WAITING = "user_transfer_pending"
# The API takes no signature that has less left.
TOO_LATE_SECONDS = 25
SHOWN_SECONDS = 60.0
# How long a deposit stays gone: long enough for a client that polls every second.
GONE_SECONDS = 2.5
ENDED = ("completed", "failed", "expired", "refunded")

Read = Mapping[str, Any]

logger = logging.getLogger("sandbox")


@dataclass(frozen=True, slots=True)
class Play:
    """One swap, and who plays its user."""

    swap_id: str
    outcome: Outcome
    partner: Partner
    purse: Purse
    other: Purse  # pays what is to be taken back, so that no other deposit waits for its nonce
    before_paying: Callable[[str], None]

    async def run(self) -> None:
        """Do what the outcome takes, once.

        :raises Refused, NodeError: when the service or the chain will not have it.
        """
        await PARTS[self.outcome](self)

    async def pay(self, percent: int = WHOLE, *, base_units: int | None = None) -> None:
        action = await self.action()
        if action is None:
            if percent != WHOLE or base_units is not None:
                logger.info("%s: a signature is for the whole amount: paid in full", self.swap_id)
            return await self._authorize()
        requested = await self.amount_to_deposit(action)
        units = requested * percent // WHOLE if base_units is None else base_units
        await self.purse.pay(action, units, before=self.note)

    def note(self) -> None:
        self.before_paying(self.swap_id)

    async def action(self) -> Read | None:
        """Return the deposit to make; None where a signature is asked for instead."""
        actions = (await self.partner.get_swap(self.swap_id))["deposit_actions"]
        return actions[0] if actions else None

    async def amount_to_deposit(self, action: Read) -> int:
        """Return what is to be deposited: where no amount was named, one that fits the route."""
        named = int(action["amount_in_base_units"]) or _argument(action)
        return named or await self._some(action)

    async def _some(self, action: Read) -> int:
        swap = (await self.partner.get_swap(self.swap_id))["swap"]
        limits = await self.partner.limits(
            source_network=swap["source_network"]["name"],
            source_token=swap["source_token"]["symbol"],
            destination_network=swap["destination_network"]["name"],
            destination_token=swap["destination_token"]["symbol"],
            use_deposit_address="true",
        )
        least = Decimal(str(limits["min_amount"])).scaleb(action["token"]["decimals"])
        return SOME_MINIMUMS * int(least)

    async def is_waiting(self) -> bool:
        return bool((await self.partner.get_swap(self.swap_id))["swap"]["status"] == WAITING)

    async def sign_step(self) -> Read:
        steps = await self.partner.deposit_actions(self.swap_id, self.purse.address)
        return next(step for step in steps if step["step"] == "sign")

    async def _authorize(self) -> None:
        step = await self.sign_step()
        signature = self.purse.sign(step["typed_data"])
        await self.partner.authorize(self.swap_id, signature, self.purse.address)
        self.note()  # after it: a swap accepts one signature only

    async def counts_at_once(self) -> bool:
        """Return whether the deposit that is seen needs no further block."""
        swap = (await self.partner.get_swap(self.swap_id))["swap"]
        inputs = [one for one in swap["transactions"] if one["type"] == "input"]
        return all(one["max_confirmations"] <= 1 for one in inputs)

    async def until(self, is_so: Callable[[Read], bool], *, within: float | None = None) -> None:
        async with asyncio.timeout(within):
            swap = (await self.partner.get_swap(self.swap_id))["swap"]
            while not is_so(swap):
                await asyncio.sleep(POLL_SECONDS)
                swap = (await self.partner.get_swap(self.swap_id))["swap"]


def _argument(action: Read) -> int:
    """Return the amount of a token's deposit, which stands among the call's arguments."""
    return int(action["encoded_args"][-1]) if action["encoded_args"] else 0


async def in_full(play: Play) -> None:
    await play.pay()


async def nothing(_: Play) -> None:
    return


async def in_part(play: Play) -> None:
    await play.pay(PARTIAL_PERCENT)


async def too_much(play: Play) -> None:
    await play.pay(OVER_PERCENT)


async def too_little(play: Play) -> None:
    await play.pay(base_units=BELOW_COST_BASE_UNITS)


async def too_late(play: Play) -> None:
    action = await play.action()
    if action is None:
        return  # no signature is accepted after the deadline
    requested = await play.amount_to_deposit(action)
    await play.until(lambda swap: swap["status"] in ENDED)
    await play.purse.pay(action, requested, before=play.note)


async def signed_too_late(play: Play) -> None:
    if await play.action() is not None:
        return  # it is not funded by a signature
    step = await play.sign_step()
    signature = play.purse.sign(step["typed_data"])
    left = int(step["valid_before"]) - datetime.now(UTC).timestamp()
    play.before_paying(play.swap_id)
    await asyncio.sleep(max(0, left - TOO_LATE_SECONDS))
    try:
        await play.partner.authorize(play.swap_id, signature, play.purse.address)
    except Refused:
        return


async def taken_back(play: Play) -> None:
    """Only a deposit that needs more than one block can be taken back before it counts."""
    async with play.other.stopped():
        if not await play.is_waiting():
            return  # it was over before its turn came
        action = await play.action()
        if action is None:
            return await play.pay()
        requested = await play.amount_to_deposit(action)
        sent = await play.other.pay(action, requested, before=play.note)
        await play.other.node.call("evm_mine")
        await play.until(_shows_input, within=SHOWN_SECONDS)
        if await play.counts_at_once():
            logger.info("%s: too small to be taken back: it counts at once", play.swap_id)
            return
        raw = await play.other.take_back(sent)
        await play.until(lambda swap: not _shows_input(swap), within=SHOWN_SECONDS)
        await asyncio.sleep(GONE_SECONDS)
        await play.other.node.call("eth_sendRawTransaction", raw)


def _shows_input(swap: Read) -> bool:
    return any(one["type"] == "input" for one in swap["transactions"])


PARTS: Mapping[Outcome, Callable[[Play], Awaitable[None]]] = {
    Outcome.COMPLETED: in_full,
    Outcome.EXPIRED: nothing,
    Outcome.PARTIAL: in_part,
    Outcome.OVER: too_much,
    Outcome.LATE: too_late,
    Outcome.REORGED: taken_back,
    Outcome.PAYOUT_FAILS: in_full,
    Outcome.REFUND_BELOW_COST: too_little,
    Outcome.GASLESS_EXPIRED: signed_too_late,
    Outcome.SLOW: in_full,
    Outcome.WEBHOOK_FAILS: in_full,
}
