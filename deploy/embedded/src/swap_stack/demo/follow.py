"""One swap from the first request to the last webhook."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
from eth_account import Account

from swap_stack.daemon import StackError
from swap_stack.demo.deliveries import Delivery, read_deliveries
from swap_stack.demo.journeys import Journey, Method, PaymentTime
from swap_stack.demo.partner import Partner
from swap_stack.demo.short_lived_app import create_short_lived_app
from swap_stack.demo.timeline import Timeline, shortened
from swap_stack.demo.trail import TrailMessage, read_trail
from swap_stack.demo.user import User, balance_of, deploy_refusing
from swap_stack.node import Node
from swap_stack.report import Report

FINAL = frozenset({"completed", "failed", "refunded", "expired"})
PATIENCE_SECONDS = 90.0
POLL_SECONDS = 0.15
CLOCK_SLACK = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one swap ended."""

    journey: Journey
    swap: Mapping[str, Any]  # the last answer of GET /api/v2/swaps/{id}
    duration: timedelta
    received_base_units: int  # what the destination has on chain
    trail: tuple[TrailMessage, ...]
    deliveries: tuple[Delivery, ...]

    @property
    def status(self) -> str:
        return str(self.swap["swap"]["status"])

    @property
    def requotes(self) -> int:
        return int(self.swap["swap"]["quote_revision"])

    def sent(self, kind: str) -> list[Mapping[str, Any]]:
        """Return its transactions of one type."""
        return [one for one in self.swap["swap"]["transactions"] if one["type"] == kind]


class Follower:
    """Does one journey and tells what happens meanwhile."""

    def __init__(self, stack: Mapping[str, Any], root: Path, report: Report) -> None:
        self._stack = stack
        self._partner = stack["partners"][0]
        webhook = self._partner["webhook"]
        self._received = root / webhook["received"] if webhook else None
        self._networks = {network["name"]: network for network in stack["networks"]}
        self._report = report
        self._short_lived_key: str | None = None

    async def follow(self, journey: Journey, session: aiohttp.ClientSession) -> Outcome:
        """
        :raises StackError: when the swap does not end in time.
        :raises Refused: when the service refuses it.
        """
        started = datetime.now(UTC)
        timeline = Timeline(self._report.console, self._report.started_at)
        partner = Partner(session, self._stack["gateway"]["url"], await self._key(journey, session))
        recipient = await self._recipient(journey, timeline)
        prepared = await self._create(journey, partner, recipient, timeline)
        received = None if journey.is_short_lived else self._received
        watch = Watch(self._stack, received, prepared["swap"]["id"], started, timeline)
        if journey.payment_time is PaymentTime.LATE:
            await watch.until_final(partner)
        await self._pay(journey, prepared, partner, timeline)
        last = await watch.until_final(
            partner, expects_refund=journey.payment_time is PaymentTime.LATE
        )
        return Outcome(
            journey=journey,
            swap=last,
            duration=watch.ended_at - started,
            received_base_units=await self._balance(journey, recipient),
            trail=watch.trail,
            deliveries=watch.deliveries,
        )

    async def _pay(
        self, journey: Journey, prepared: dict[str, Any], partner: Partner, timeline: Timeline
    ) -> None:
        if journey.method is Method.GASLESS:
            await self._sign(journey, prepared, partner, timeline)
        elif journey.payment_time is not PaymentTime.NEVER:
            await self._deposit(journey, prepared["deposit_actions"][0], timeline)

    async def _key(self, journey: Journey, session: aiohttp.ClientSession) -> str:
        if not journey.is_short_lived:
            return str(self._partner["api_key"])
        if self._short_lived_key is None:
            self._short_lived_key = await create_short_lived_app(self._stack, session)
        return self._short_lived_key

    async def _recipient(self, journey: Journey, timeline: Timeline) -> str:
        if not journey.recipient_refuses:
            return str(Account.create().address)
        network = self._networks[journey.destination_network]
        node, key = Node(network["rpc_urls"][0]), network["users"][1]["private_key"]
        refusing = await deploy_refusing(node, key)
        what = f"{shortened(refusing)} on {network['name']} takes no money"
        timeline.print_fact("transaction", what, at=datetime.now(UTC))
        return refusing

    async def _create(
        self, journey: Journey, partner: Partner, recipient: str, timeline: Timeline
    ) -> dict[str, Any]:
        user = self._networks[journey.source_network]["users"][0]
        body = {
            "source_network": journey.source_network,
            "source_token": journey.source_token,
            "destination_network": journey.destination_network,
            "destination_token": journey.destination_token,
            "destination_address": recipient,
            "refund_address": user["address"],
            "amount": journey.amount,
            "use_depository": journey.method is Method.DEPOSITORY,
            "use_gasless": journey.method is Method.GASLESS,
            "use_deposit_address": journey.method is Method.DEPOSIT_ADDRESS,
            # A gasless swap names its signer at creation; an approval is sent unasked.
            "source_address": user["address"] if journey.method is Method.GASLESS else None,
            "refuel": journey.refuel,
        }
        timeline.print_fact("request", "POST /api/v2/swaps", at=datetime.now(UTC))
        prepared = await partner.create_swap(body)
        quote = prepared["quote"]
        receive = f"{quote['receive_amount']} {journey.destination_token}"
        timeline.print_fact("request", f"swap {prepared['swap']['id']}", at=datetime.now(UTC))
        what = f"will receive {receive}, fee {quote['total_fee']}"
        timeline.print_fact("request", what, at=datetime.now(UTC))
        return prepared

    async def _deposit(
        self, journey: Journey, action: Mapping[str, Any], timeline: Timeline
    ) -> None:
        network = self._networks[journey.source_network]
        user = User(Node(network["rpc_urls"][0]), network["users"][0]["private_key"])
        approved = await user.approve(action)
        if approved is not None:
            spender = shortened(action["to_address"])
            what = f"{shortened(approved)} approves {spender} on {network['name']}"
            timeline.print_fact("transaction", what, at=datetime.now(UTC))
        sent = await user.deposit(action, percent=journey.paid_percent)
        what = f"{shortened(sent)} deposits on {network['name']}"
        timeline.print_fact("transaction", what, at=datetime.now(UTC))

    async def _sign(
        self, journey: Journey, prepared: Mapping[str, Any], partner: Partner, timeline: Timeline
    ) -> None:
        network = self._networks[journey.source_network]
        signer, [action] = network["users"][0], prepared["deposit_actions"]
        signature = User(Node(network["rpc_urls"][0]), signer["private_key"]).sign(action)
        what = f"signs {action['typed_data']['primaryType']}, and sends nothing"
        timeline.print_fact("request", what, at=datetime.now(UTC))
        swap_id = prepared["swap"]["id"]
        answer = await partner.authorize(swap_id, signature, signer["address"])
        what = f"POST /api/v2/swaps/…/authorize: {answer['status']}"
        timeline.print_fact("request", what, at=datetime.now(UTC))

    async def _balance(self, journey: Journey, recipient: str) -> int:
        network = self._networks[journey.destination_network]
        token = next(t for t in network["tokens"] if t["symbol"] == journey.destination_token)
        return await balance_of(Node(network["rpc_urls"][0]), recipient, token["contract"])


class Watch:
    """Looks at a swap from all sides until nothing more is to come."""

    def __init__(
        self,
        stack: Mapping[str, Any],
        received: Path | None,
        swap_id: str,
        started: datetime,
        timeline: Timeline,
    ) -> None:
        self._auditor_url = stack["postgres"]["auditor_url"]
        self._received = received
        self._swap_id = swap_id
        self._started = started
        self._timeline = timeline
        self.trail: tuple[TrailMessage, ...] = ()
        self.deliveries: tuple[Delivery, ...] = ()
        self.ended_at = started

    async def until_final(
        self, partner: Partner, *, expects_refund: bool = False
    ) -> dict[str, Any]:
        """
        :param expects_refund: whether money that comes after the end is to be seen on its way back.
        :raises StackError: when it takes too long.
        """
        deadline = self._started + timedelta(seconds=PATIENCE_SECONDS)
        while datetime.now(UTC) < deadline:
            answer = await partner.get_swap(self._swap_id)
            swap = answer["swap"]
            await self._look(swap)
            is_back = not expects_refund or any(is_refund(sent) for sent in swap["transactions"])
            if swap["status"] in FINAL and self._has_webhook(swap["status"]) and is_back:
                return answer
            await asyncio.sleep(POLL_SECONDS)
        raise StackError(
            f"Swap {self._swap_id} is still {swap['status']} after "
            f"{PATIENCE_SECONDS:.0f} s, with {len(self.deliveries)} webhooks."
        )

    async def _look(self, swap: Mapping[str, Any]) -> None:
        now = datetime.now(UTC)
        self.trail = await read_trail(self._auditor_url, self._swap_id, self._started - CLOCK_SLACK)
        for message in self.trail:
            what = f"{message.source} → {message.topic}: {message.summary}"
            at, key = message.created_at, message.message_id
            self._timeline.add("message", what, at=at, key=key)
        for sent in swap["transactions"]:
            if sent["transaction_hash"]:
                what = f"{shortened(sent['transaction_hash'])} {sent['type']} {sent['status']}"
                self._timeline.add("transaction", what, at=now)
        self._timeline.add("status", swap["status"], at=now)
        if swap["status"] in FINAL and self.ended_at == self._started:
            self.ended_at = now
        if self._received is not None:
            self._look_at_deliveries(self._received)
        self._timeline.show()

    def _look_at_deliveries(self, received: Path) -> None:
        self.deliveries = read_deliveries(received, self._swap_id)
        for delivery in self.deliveries:
            genuine = "signature verified" if delivery.verified else "SIGNATURE WRONG"
            what = f"{delivery.event_type}, {genuine}"
            self._timeline.add("webhook", what, at=delivery.at, key=delivery.message_id)

    def _has_webhook(self, status: str) -> bool:
        """Whether its webhook has arrived, where one is expected."""
        return self._received is None or any(d.status == status for d in self.deliveries)


def is_refund(sent: Mapping[str, Any]) -> bool:
    """Whether a transaction has brought money back."""
    return (sent["type"], sent["status"]) == ("refund", "completed")
