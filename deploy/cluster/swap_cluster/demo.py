"""`make cluster-demo`: the whole system in pods, and a swap of each method through the Service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swap_cluster.clients import describe_stack
from swap_cluster.cluster import start_cluster
from swap_cluster.deployment import NAMESPACE, deploy
from swap_cluster.images import load_images
from swap_cluster.kubectl import kubectl
from swap_cluster.settings import PLACES
from swap_cluster.webhooks import copying_webhooks
from swap_stack.account import make_link
from swap_stack.daemon import StackError
from swap_stack.demo.follow import FollowedSwap, Follower
from swap_stack.demo.journeys import (
    BY_A_SIGNATURE,
    COIN_TO_OTHER_COIN,
    NATIVE_TO_NATIVE,
    TO_AN_ADDRESS,
)
from swap_stack.report import Report

JOURNEYS = (NATIVE_TO_NATIVE, COIN_TO_OTHER_COIN, BY_A_SIGNATURE, TO_AN_ADDRESS)


async def run_demo(report: Report) -> None:
    """Start what is missing, deploy, and send a swap of each method.

    :raises StackError: when a swap ends otherwise than it should.
    """
    await start_cluster(report)
    await load_images(report)
    await deploy(report)
    stack = await describe_stack()
    follower = Follower(stack, PLACES.root, report)
    async with copying_webhooks():
        outcomes = []
        for journey in JOURNEYS:
            report.console.print(f"\n[bold]{journey.title}[/]", highlight=False)
            outcomes.append(await follower.follow(journey))
    report.console.print()
    report.console.print(await kubectl("get", "pods", "--namespace", NAMESPACE, "--output=wide"))
    _show(outcomes, report)
    await _show_dashboard(stack, report)


async def _show_dashboard(stack: Mapping[str, Any], report: Report) -> None:
    dashboard = stack["dashboard"]
    who = f"{dashboard['email']}, password {dashboard['password']}"
    report.print_step("dashboard", f"{dashboard['url']} as {who}")
    link = await make_link(stack)
    report.console.print(f"  sign in, once: {link}", highlight=False, soft_wrap=True)


def _show(outcomes: list[FollowedSwap], report: Report) -> None:
    for outcome in outcomes:
        seconds = outcome.duration.total_seconds()
        webhooks = f"{len(outcome.deliveries)} webhooks"
        report.print_step(
            outcome.journey.method, f"{outcome.status} after {seconds:.1f} s, {webhooks}"
        )
    wrong = [each.journey.title for each in outcomes if each.status != each.journey.ending]
    if wrong:
        raise StackError("\n".join(["These swaps ended otherwise than they should:", *wrong]))
