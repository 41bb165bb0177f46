"""The checks of `swapctl doctor` about the state of a deployment: messages, nodes, money. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from swapctl.checkup import Finding, failure, ok, warning
from swapctl.node_rpc import BlockHead

HEAD_AGE_SECONDS_MAX: Final = 120
LAG_MESSAGES_MAX: Final = 1000
SILENCE_SECONDS_MAX: Final = 60


def check_topics(expected: Collection[str], found: Collection[str]) -> Finding:
    if missing := sorted(set(expected) - set(found)):
        text = f"missing: {', '.join(missing)}"
        to_do = "a service creates its producer topics at its start: restart it"
        return failure("topics", text, to_do, "unchanged; consumers read the outboxes meanwhile")
    return ok("topics", f"all {len(expected)} exist")


def check_consumer(service: str, topic: str, *, lag: int, silence: int) -> Iterator[Finding]:
    """Yield a finding if a consumer is behind, or nothing.

    :param lag: in messages.
    :param silence: seconds since the broker answered a poll.
    """
    part = f"consumer {service}"
    if silence > SILENCE_SECONDS_MAX:
        text = f"{topic}: no answer to a poll for {silence} s"
        yield failure(part, text, "check the broker; the sweep delivers meanwhile")
    elif lag > LAG_MESSAGES_MAX:
        text = f"{topic}: {lag} messages behind"
        yield warning(part, text, f"run more processes of {service}; read its log")


def check_parked(schema: str, count: int, oldest_seconds: int | None) -> Finding:
    """
    :param count: messages that await an operator.
    """
    part = f"parked {schema}"
    if not count:
        return ok(part, "none")
    text = f"{count} messages, the oldest {oldest_seconds} s old"
    to_do = "swapctl parked list; repair the cause, then swapctl parked replay"
    money = "where the messages report its arrival; their swaps are not paid meanwhile"
    return failure(part, text, to_do, money)


def check_endpoints(rows: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """
    :param rows: webhook endpoints that the service disabled, or that fail now.
    """
    for row in rows:
        app, name = row["app_id"], row["id"]
        if row["disabled_reason"] is None:
            text = f"{name} of app {app} has failed since {row['failing_since']:%Y-%m-%d %H:%M}"
            yield warning("webhooks", text, "swapctl webhook attempts; its owner repairs it")
        else:
            text = f"{name} of app {app} was disabled: {row['disabled_reason']}"
            to_do = "its owner repairs it, then: swapctl webhook enable, webhook replay-since"
            yield warning("webhooks", text, to_do)
    if not rows:
        yield ok("webhooks", "no endpoint fails or was disabled by failures")


def check_cover(row: Mapping[str, Any]) -> Finding:
    """
    :param row: one token: held and owed by the ledger, and the Treasury's balance.
    """
    network, token = row["network"], row["token"]
    part, owed, held = f"treasury {network}", int(row["owed"]), int(row["held"])
    if owed > held:
        text = f"{token}: {owed} base units are owed, the ledger has {held}"
        to_do = "stop payouts, then find the loss: swapctl payouts stop; swapctl invariants"
        return failure(part, text, to_do, "part of it is missing")
    if row["on_chain"] is not None and (on_chain := int(row["on_chain"])) < owed:
        text = f"{token}: {owed} base units are owed, the chain had {on_chain}"
        to_do = "swapctl reconcile; send inventory, or withdraw less: swapctl treasury plan"
        return failure(part, text, to_do, "payments above the balance wait")
    return ok(part, f"{token}: {held} base units held, {owed} of them owed")


def check_closures(closures: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for closure in closures:
        name = closure["network"]
        text = f"closed to new swaps: {closure['reason']}"
        yield warning(f"network {name}", text, f"swapctl network open {name}")


def check_head_age(network: str, url: str, seconds: int) -> Iterator[Finding]:
    """Yield a finding if a node's newest block is old, or nothing."""
    if seconds > HEAD_AGE_SECONDS_MAX:
        text = f"{url}: the newest block is {seconds} s old"
        to_do = "compare another provider: the node is behind, or the chain has stopped"
        yield warning(f"node of {network}", text, to_do)


def check_agreement(network: str, blocks: Mapping[str, BlockHead]) -> Iterator[Finding]:
    """Yield whether a network's nodes report the same block, or nothing with fewer than two.

    :param blocks: one final block of the same number, by node.
    """
    part = f"providers {network}"
    if len(blocks) < 2:  # noqa: PLR2004 - there is nothing to compare
        return
    number = next(iter(blocks.values())).number
    if len({block.hash for block in blocks.values()}) > 1:
        listed = ", ".join(f"{url} has {block.hash[:12]}…" for url, block in blocks.items())
        to_do = "find the wrong node with an explorer, and remove it from SWAP_NODES"
        money = f"payouts of {network} are unsafe while they differ: swapctl payouts stop"
        yield failure(part, f"final block {number} differs: {listed}", to_do, money)
    else:
        yield ok(part, f"{len(blocks)} nodes agree on final block {number}")
