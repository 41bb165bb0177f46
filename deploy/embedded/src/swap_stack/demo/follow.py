"""One swap from the first request to the last webhook."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from swap_sdk.models import PreparedSwap, Swap, Transaction
from swap_stack.daemon import StackError
from swap_stack.demo.deliveries import Delivery, read_deliveries
from swap_stack.demo.journeys import Journey, PaymentTime
from swap_stack.demo.timeline import Timeline, shorten
from swap_stack.demo.trail import read_trail, summarize
from swap_stack.report import Report
from swap_stack.swaps import FINAL, PlannedSwap, Swaps, open_swaps
from swapctl.message_trail import OutboxMessage

PATIENCE_SECONDS = 90.0
POLL_SECONDS = 0.15
CLOCK_SLACK = timedelta(seconds=1)  # the database has a clock of its own


@dataclass(frozen=True, slots=True)
class FollowedSwap:
    """How one swap ended."""

    journey: Journey
    swap: PreparedSwap  # as it was read last
    duration: timedelta
    received_base_units: int  # what the destination has on chain
    trail: tuple[OutboxMessage, ...]
    deliveries: tuple[Delivery, ...]

    @property
    def status(self) -> str:
        return self.swap["swap"]["status"]

    @property
    def requotes(self) -> int:
        return self.swap["swap"]["quote_revision"] or 0

    def transactions_of(self, kind: str) -> list[Transaction]:
        """Return its transactions of one type."""
        return [one for one in self.swap["swap"]["transactions"] if one["type"] == kind]


class Follower:
    """Does one journey and reports what happens meanwhile."""

    def __init__(
        self,
        stack: Mapping[str, Any],
        root: Path,
        report: Report,
        *,
        short_lived_key: str | None = None,
    ) -> None:
        """
        :param short_lived_key: of an app for journeys that are about the end of a swap's lifetime.
        """
        self._stack = stack
        webhook = stack["partners"][0]["webhook"]
        self._received = root / webhook["received"] if webhook else None
        self._report = report
        self._short_lived_key = short_lived_key

    async def follow(self, journey: Journey) -> FollowedSwap:
        """
        :raises StackError: when the swap does not end in time.
        :raises SwapError: when the service refuses it.
        """
        started = datetime.now(UTC)
        key = self._short_lived_key if journey.is_short_lived else None
        async with open_swaps(self._stack, api_key=key) as swaps:
            return await self._follow(swaps, PlannedSwap(journey.title, journey), started)

    async def _follow(self, swaps: Swaps, planned: PlannedSwap, started: datetime) -> FollowedSwap:
        journey = planned.journey
        timeline = Timeline(self._report.console, self._report.started_at)
        prepared = await swaps.create(planned)
        _show_created(journey, prepared, timeline)
        received = None if journey.is_short_lived else self._received
        auditor_url = self._stack["postgres"]["auditor_url"]
        watch = Watch(swaps, planned, auditor_url, received, timeline, started=started)
        if journey.payment_time is PaymentTime.LATE:
            await watch.until_final()
        if journey.payment_time is not PaymentTime.NEVER:
            await _fund(swaps, planned, prepared, timeline)
        last = await watch.until_final(expects_refund=journey.payment_time is PaymentTime.LATE)
        return FollowedSwap(
            journey=journey,
            swap=last,
            duration=watch.ended_at - started,
            received_base_units=await swaps.received_base_units(planned),
            trail=watch.trail,
            deliveries=watch.deliveries,
        )


def _show_created(journey: Journey, prepared: PreparedSwap, timeline: Timeline) -> None:
    swap, quote = prepared["swap"], prepared["quote"]
    if journey.recipient_refuses:
        refusing = f"{shorten(swap['destination_address'])} on {journey.destination_network}"
        timeline.print_fact("transaction", f"{refusing} takes no money")
    receive = f"{quote['receive_amount']} {journey.destination_token}"
    timeline.print_fact("request", "POST /api/v2/swaps")
    timeline.print_fact("request", f"swap {swap['id']}")
    timeline.print_fact("request", f"will receive {receive}, fee {quote['total_fee']}")


async def _fund(
    swaps: Swaps, planned: PlannedSwap, prepared: PreparedSwap, timeline: Timeline
) -> None:
    journey, [action] = planned.journey, prepared["deposit_actions"]
    if (typed_data := action["typed_data"]) is not None:
        status = await swaps.sign(planned)
        what = f"signs {typed_data['primaryType']}, and sends nothing"
        timeline.print_fact("request", what)
        timeline.print_fact("request", f"POST /api/v2/swaps/…/authorize: {status}")
        return
    approval, deposit = await swaps.pay(planned)
    network = journey.source_network
    if approval is not None:
        what = f"{shorten(approval)} approves {shorten(str(action['to_address']))} on {network}"
        timeline.print_fact("transaction", what)
    timeline.print_fact("transaction", f"{shorten(deposit)} deposits on {network}")


class Watch:
    """Looks at a swap from all sides until nothing more is to come."""

    def __init__(
        self,
        swaps: Swaps,
        planned: PlannedSwap,
        auditor_url: str,
        received: Path | None,
        timeline: Timeline,
        *,
        started: datetime,
    ) -> None:
        """
        :param received: the file of the partner's webhooks; None where none is expected.
        """
        self._swaps = swaps
        self._planned = planned
        self._auditor_url = auditor_url
        self._received = received
        self._started = started
        self._timeline = timeline
        self.trail: tuple[OutboxMessage, ...] = ()
        self.deliveries: tuple[Delivery, ...] = ()
        self.ended_at = started

    async def until_final(self, *, expects_refund: bool = False) -> PreparedSwap:
        """
        :param expects_refund: whether money that comes after the end is to be seen on its way back.
        :raises StackError: when it takes too long.
        """
        deadline = self._started + timedelta(seconds=PATIENCE_SECONDS)
        while datetime.now(UTC) < deadline:
            answer = await self._swaps.read(self._planned)
            swap = answer["swap"]
            await self._look(swap)
            is_back = not expects_refund or any(is_refund(sent) for sent in swap["transactions"])
            if swap["status"] in FINAL and self._has_webhook(swap["status"]) and is_back:
                return answer
            await asyncio.sleep(POLL_SECONDS)
        raise StackError(
            f"Swap {swap['id']} is still {swap['status']} after "
            f"{PATIENCE_SECONDS:.0f} s, with {len(self.deliveries)} webhooks."
        )

    async def _look(self, swap: Swap) -> None:
        now = datetime.now(UTC)
        since = self._started - CLOCK_SLACK
        self.trail = await asyncio.to_thread(read_trail, self._auditor_url, swap["id"], since=since)
        for message in self.trail:
            what = f"{message.source} → {message.topic}: {summarize(message)}"
            key = f"{message.source}/{message.id}"
            self._timeline.add("message", what, at=message.created_at, key=key)
        for sent in swap["transactions"]:
            if sent["transaction_hash"]:
                what = f"{shorten(sent['transaction_hash'])} {sent['type']} {sent['status']}"
                self._timeline.add("transaction", what, at=now)
        self._timeline.add("status", swap["status"], at=now)
        if swap["status"] in FINAL and self.ended_at == self._started:
            self.ended_at = now
        if self._received is not None:
            self.deliveries = read_deliveries(self._received, swap["id"])
        for delivery in self.deliveries:
            genuine = "signature verified" if delivery.verified else "SIGNATURE WRONG"
            what = f"{delivery.event_type}, {genuine}"
            self._timeline.add("webhook", what, at=delivery.at, key=delivery.message_id)
        self._timeline.show()

    def _has_webhook(self, status: str) -> bool:
        """Whether its webhook has arrived, where one is expected."""
        return self._received is None or any(d.status == status for d in self.deliveries)


def is_refund(sent: Transaction) -> bool:
    """Whether a transaction has brought money back."""
    return (sent["type"], sent["status"]) == ("refund", "completed")
