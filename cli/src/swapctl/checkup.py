"""The checks of `swapctl doctor`: observations in, findings out. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

LAG_BLOCKS_MAX: Final = 30
UNPUBLISHED_SECONDS_MAX: Final = 30
SLOT_SECONDS_MAX: Final = 600
# Gas of one payout to one recipient, rounded up; the exact cost is in evm/gas.json.
PAYOUT_GAS: Final = 120_000
PAYOUTS_MIN: Final = 100


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: the checked part, its state, and what to do about a problem.

    `money` says where the money is that a problem concerns, or what happens to it meanwhile.
    """

    part: str
    level: Level
    text: str
    to_do: str = ""
    money: str = ""


def ok(part: str, text: str) -> Finding:
    return Finding(part, Level.OK, text)


def warning(part: str, text: str, to_do: str, money: str = "") -> Finding:
    return Finding(part, Level.WARNING, text, to_do, money)


def failure(part: str, text: str, to_do: str, money: str = "") -> Finding:
    return Finding(part, Level.FAILED, text, to_do, money)


def check_service(name: str, readiness: Mapping[str, Any] | None) -> Finding:
    """
    :param readiness: the answer of `/readyz`, or None without one.
    """
    part = f"service {name}"
    if readiness is None:
        return failure(part, "does not answer", f"read the log of {name}; restart it")
    problems = readiness["problems"]
    if problems:
        listed = "; ".join(f"{what}: {why}" for what, why in problems.items())
        return failure(part, f"not ready: {listed}", "repair the named parts; it recovers then")
    return ok(part, "ready")


def check_builds(builds: Mapping[str, str]) -> Iterator[Finding]:
    """Yield whether all services run the same build, or nothing if none names its build.

    :param builds: by service; a service of an older release names none.
    """
    if len(set(builds.values())) > 1:
        listed = ", ".join(f"{name} {build}" for name, build in builds.items())
        yield warning("versions", f"differ: {listed}", "finish the rollout, or roll it back")
    elif builds:
        yield ok("versions", f"every service runs {next(iter(builds.values()))}")


def check_migrations(schema: str, applied: str | None, latest: str | None) -> Finding:
    """
    :param latest: the newest migration of this checkout, or None without a checkout.
    """
    part = f"migrations {schema}"
    if applied is None:
        return failure(part, "the schema has no migrations", f"run the migrations of {schema}")
    if latest is None:
        return ok(part, f"at {applied}; not compared, no migrations folder here")
    if applied < latest:
        to_do = f"run the migrations of {schema} before its new version"
        return failure(part, f"at {applied}, the code expects {latest}", to_do)
    if applied > latest:
        return warning(
            part, f"at {applied}, newer than {latest} here", "use this version's swapctl"
        )
    return ok(part, f"at {applied}")


def check_outbox(schema: str, oldest_seconds: float | None) -> Finding:
    """
    :param oldest_seconds: age of the oldest message that is not published.
    """
    part = f"outbox {schema}"
    if oldest_seconds is None:
        return ok(part, "everything is published")
    text = f"the oldest unpublished message is {oldest_seconds:.0f} s old"
    if oldest_seconds > UNPUBLISHED_SECONDS_MAX:
        money = "unchanged; the sweep of each consumer delivers what Kafka does not"
        return failure(part, text, "check the broker and the log of the service", money)
    return ok(part, text)


def check_endpoint(part: str, address: str, *, is_open: bool) -> Finding:
    if is_open:
        return ok(part, f"{address} accepts connections")
    return failure(
        part, f"{address} refuses connections", f"start the {part}, or correct its address"
    )


def check_network(report: Mapping[str, Any]) -> Iterator[Finding]:
    """
    :param report: one network as the chain-watcher reports it.
    """
    name = report["network"]
    part, halted, lag = f"network {name}", report["halted"], report["lag_blocks"]
    if halted:
        to_do = f"compare the nodes' final blocks, then: swapctl network resume {name}"
        money = "deposits are on its chain and payouts wait in the Treasuries; nothing is signed"
        yield failure(part, f"halted: {halted['reason']}", to_do, money)
    if report["head"] is None:
        yield failure(part, "no node answers", "check the nodes of the catalogue, or of SWAP_NODES")
    elif lag is None:
        yield warning(part, "is not read yet", "wait; then read the log of the chain-watcher")
    elif lag > LAG_BLOCKS_MAX:
        yield warning(part, f"read {lag} blocks behind the head", "check the nodes' rate limits")
    elif not halted:
        yield ok(part, f"head {report['head']}, {lag} blocks behind")


def check_node(network: str, url: str, *, expected: int | None, found: int | str) -> Finding:
    """
    :param expected: the chain id of the network, where it is known.
    :param found: the chain id of the node, or the reason why it did not answer.
    """
    part = f"node of {network}"
    if isinstance(found, str):
        return failure(
            part, f"{url} does not answer ({found})", "check the address and the provider"
        )
    if expected is not None and found != expected:
        text = f"{url} has chain id {found}, the network has {expected}"
        return failure(part, text, "remove the node from the catalogue at once")
    return ok(part, f"{url}, chain id {found}")


def check_signer(signer: Mapping[str, Any], payouts: int | None) -> Iterator[Finding]:
    """
    :param signer: as the settler reports it.
    :param payouts: how many payouts its balance covers in gas, or None if no node reports it.
    """
    network, address = signer["network"], signer["address"]
    part, oldest = f"signer {network}", signer["oldest_slot_seconds"]
    if halted := signer["halted"]:
        to_do = f"find the cause, then: swapctl signer resume {network}"
        money = f"payments of {network} wait in its Treasury"
        yield failure(part, f"{address} is halted: {halted['reason']}", to_do, money)
    if oldest is not None and oldest > SLOT_SECONDS_MAX:
        text = f"{address}: the oldest open payment is {oldest} s old"
        yield warning(part, text, "check the nodes' gas price; swapctl signer list")
    if payouts is None:
        yield warning(part, f"{address}: the balance is unknown", "check the network's nodes")
    elif payouts < PAYOUTS_MIN:
        level = failure if payouts == 0 else warning
        text = f"{address} has gas for {payouts} payouts"
        to_do = "send the network's coin to this address: swapctl treasury plan"
        yield level(part, text, to_do, f"payments of {network} wait in its Treasury")
    elif not halted:
        yield ok(part, f"{address}, gas for {payouts} payouts")


def check_recovery(recovery: Mapping[str, Any]) -> Finding:
    if any(row["state"] == "open" for row in recovery["recoveries"]):
        to_do = "swapctl recovery status; docs/recovery.md"
        money = "payments wait in the Treasuries until it is proven that they were not made"
        return warning("recovery", "open: older payments on all networks are held", to_do, money)
    if uncompared := recovery.get("uncompared"):  # a settler of an older release has none
        names = ", ".join(row["network"] for row in uncompared)
        text = f"older payments are held: too few providers of {names} answer"
        return warning("recovery", text, "check its nodes; swapctl recovery status")
    if retained := recovery["retained"]:
        text = f"{len(retained)} payments are held after a recovery"
        return warning("recovery", text, "swapctl recovery status; release or explain each")
    return ok("recovery", "none is open")


def check_stops(stops: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for stop in stops:
        name = stop["network"]
        where = "every network" if name == "*" else name
        command = "swapctl payouts go" + ("" if name == "*" else f" {name}") + " --reason WHY"
        money = "payments wait in the Treasuries; deposits are credited as before"
        yield warning("payouts", f"stopped for {where}: {stop['reason']}", command, money)
    if not stops:
        yield ok("payouts", "not stopped")


def check_stuck(stuck: Sequence[Mapping[str, Any]]) -> Finding:
    if stuck:
        text = f"{len(stuck)} swaps exceed the maximum duration of their status"
        money = "credited and in the Treasuries of their source networks, unless a payment left"
        to_do = "swapctl stuck; then swapctl swap show ID"
        return failure("swaps", text, to_do, money)
    return ok("swaps", "none is stuck")
