"""What happened to the kill switch, one function per fact."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import structlog

from swap_runtime.metrics import gauge
from swap_settler.domain.signer import EVERYWHERE

log = structlog.get_logger()

STOPPED = gauge("settler_stopped", "1 while an operator lets nothing be signed", ["network"])


def payouts_stopped(network: str, *, by: str, reason: str) -> None:
    log.error("payouts stopped by an operator", network=network, by=by, reason=reason)


def round_outlasts_the_stop(network: str) -> None:
    log.error("a round that began before payouts were stopped has not ended yet", network=network)


def payouts_let_go(network: str, *, by: str, reason: str) -> None:
    log.warning("payouts let go by an operator", network=network, by=by, reason=reason)


def stops(networks: Iterable[str], stopped: Collection[str]) -> None:
    for network in networks:
        is_stopped = network in stopped or EVERYWHERE in stopped
        STOPPED.labels(network).set(int(is_stopped))
