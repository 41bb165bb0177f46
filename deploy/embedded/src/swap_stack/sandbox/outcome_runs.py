"""A user's part in each outcome."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final

from swap_sdk import ApiError, AsyncClient
from swap_sdk.models import Swap
from swap_stack.sandbox.outcomes import (
    BELOW_COST_BASE_UNITS,
    OVER_PERCENT,
    PARTIAL_PERCENT,
    SandboxOutcome,
)
from swap_stack.sandbox.sandbox_wallet import SandboxWallet
from swap_stack.user import requested_base_units

POLL_SECONDS = 0.2
WHOLE = 100
SOME_MINIMUMS = 4  # of the route, where a swap names no amount
WAITING: Final = "user_transfer_pending"
# The API takes no signature that has less left.
TOO_LATE_SECONDS = 25
SHOWN_SECONDS = 60.0
# How long a deposit is shown before it is taken back, and how long it stays gone. Both are long
# enough for a client that polls every second.
SEEN_SECONDS = 1.5
GONE_SECONDS = 2.5
ENDED = ("completed", "failed", "expired", "refunded")

Json = Mapping[str, Any]

logger = logging.getLogger("sandbox")


@dataclass(frozen=True, slots=True)
class OutcomeRun:
    """One swap, and who plays its user."""

    swap_id: str
    outcome: SandboxOutcome
    partner: AsyncClient
    sandbox_wallet: SandboxWallet
    other: (
        SandboxWallet  # pays what is to be taken back, so that no other deposit waits for its nonce
    )
    before_paying: Callable[[str], None]

    async def run(self) -> None:
        """Do what the outcome takes, once.

        :raises SwapError, NodeError: when the service or the chain will not have it.
        """
        await USER_ACTIONS[self.outcome](self)

    async def pay(self, percent: int = WHOLE, *, base_units: int | None = None) -> None:
        action = await self.action()
        if action is None:
            if percent != WHOLE or base_units is not None:
                logger.info("%s: a signature is for the whole amount: paid in full", self.swap_id)
            return await self._authorize()
        requested = await self.amount_to_deposit(action)
        units = requested * percent // WHOLE if base_units is None else base_units
        await self.sandbox_wallet.pay(action, units, before=self.note)

    def note(self) -> None:
        self.before_paying(self.swap_id)

    async def action(self) -> Json | None:
        """Return the deposit to make; None where a signature is asked for instead."""
        actions = (await self.partner.swap(self.swap_id))["deposit_actions"]
        return actions[0] if actions else None

    async def amount_to_deposit(self, action: Json) -> int:
        """Return what is to be deposited: where no amount was named, one that fits the route."""
        return requested_base_units(action) or await self._some(action)

    async def _some(self, action: Json) -> int:
        swap = await self.read()
        limits = await self.partner.limits(
            source_network=swap["source_network"]["name"],
            source_token=swap["source_token"]["symbol"],
            destination_network=swap["destination_network"]["name"],
            destination_token=swap["destination_token"]["symbol"],
            options={"use_deposit_address": True},
        )
        minimum = Decimal(str(limits["min_amount"])).scaleb(action["token"]["decimals"])
        return SOME_MINIMUMS * int(minimum)

    async def read(self) -> Swap:
        return (await self.partner.swap(self.swap_id))["swap"]

    async def is_waiting(self) -> bool:
        return (await self.read())["status"] == WAITING

    async def sign_step(self) -> Json:
        steps = await self.partner.deposit_actions(
            self.swap_id, source_address=self.sandbox_wallet.address
        )
        return next(step for step in steps if step["step"] == "sign")

    async def _authorize(self) -> None:
        step = await self.sign_step()
        signature = self.sandbox_wallet.sign(step["typed_data"])
        await self.authorize(signature)
        self.note()  # after it: a swap accepts one signature only

    async def authorize(self, signature: str) -> None:
        signer = self.sandbox_wallet.address
        await self.partner.authorize(self.swap_id, signature=signature, signer_address=signer)

    async def counts_at_once(self) -> bool:
        """Return whether the deposit that is seen needs no further block."""
        swap = await self.read()
        inputs = [one for one in swap["transactions"] if one["type"] == "input"]
        return all(one["max_confirmations"] <= 1 for one in inputs)

    async def until(
        self, condition: Callable[[Swap], bool], *, within: float | None = None
    ) -> None:
        async with asyncio.timeout(within):
            swap = await self.read()
            while not condition(swap):
                await asyncio.sleep(POLL_SECONDS)
                swap = await self.read()


async def pay_nothing(_: OutcomeRun) -> None:
    return


async def pay_too_late(outcome_run: OutcomeRun) -> None:
    action = await outcome_run.action()
    if action is None:
        return  # no signature is accepted after the deadline
    requested = await outcome_run.amount_to_deposit(action)
    await outcome_run.until(lambda swap: swap["status"] in ENDED)
    await outcome_run.sandbox_wallet.pay(action, requested, before=outcome_run.note)


async def sign_too_late(outcome_run: OutcomeRun) -> None:
    if await outcome_run.action() is not None:
        return  # it is not funded by a signature
    step = await outcome_run.sign_step()
    signature = outcome_run.sandbox_wallet.sign(step["typed_data"])
    left = int(step["valid_before"]) - datetime.now(UTC).timestamp()
    outcome_run.before_paying(outcome_run.swap_id)
    await asyncio.sleep(max(0, left - TOO_LATE_SECONDS))
    try:
        await outcome_run.authorize(signature)
    except ApiError:
        return


async def reorg_deposit(outcome_run: OutcomeRun) -> None:
    """Only a deposit that needs more than one block can be taken back before it counts."""
    async with outcome_run.other.stop_mining():
        if not await outcome_run.is_waiting():
            return  # it was over before its turn came
        action = await outcome_run.action()
        if action is None:
            return await outcome_run.pay()
        requested = await outcome_run.amount_to_deposit(action)
        _, sent = await outcome_run.other.pay(action, requested, before=outcome_run.note)
        await outcome_run.other.node.call("evm_mine")
        await outcome_run.until(_shows_input, within=SHOWN_SECONDS)
        if await outcome_run.counts_at_once():
            logger.info("%s: too small to be taken back: it counts at once", outcome_run.swap_id)
            return
        await asyncio.sleep(SEEN_SECONDS)
        raw = await outcome_run.other.reorg_out(sent)
        await outcome_run.until(lambda swap: not _shows_input(swap), within=SHOWN_SECONDS)
        await asyncio.sleep(GONE_SECONDS)
        await outcome_run.other.node.call("eth_sendRawTransaction", raw)


def _shows_input(swap: Swap) -> bool:
    return any(one["type"] == "input" for one in swap["transactions"])


USER_ACTIONS: Mapping[SandboxOutcome, Callable[[OutcomeRun], Awaitable[None]]] = {
    SandboxOutcome.COMPLETED: OutcomeRun.pay,
    SandboxOutcome.EXPIRED: pay_nothing,
    SandboxOutcome.PARTIAL: partial(OutcomeRun.pay, percent=PARTIAL_PERCENT),
    SandboxOutcome.OVER: partial(OutcomeRun.pay, percent=OVER_PERCENT),
    SandboxOutcome.LATE: pay_too_late,
    SandboxOutcome.REORGED: reorg_deposit,
    SandboxOutcome.PAYOUT_FAILS: OutcomeRun.pay,
    SandboxOutcome.REFUND_BELOW_COST: partial(OutcomeRun.pay, base_units=BELOW_COST_BASE_UNITS),
    SandboxOutcome.GASLESS_EXPIRED: sign_too_late,
    SandboxOutcome.SLOW: OutcomeRun.pay,
    SandboxOutcome.WEBHOOK_FAILS: OutcomeRun.pay,
}
