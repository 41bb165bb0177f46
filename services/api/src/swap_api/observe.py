"""Facts of the api: one function logs and counts each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Final
from uuid import UUID

import structlog
from prometheus_client import Counter, Histogram

from swap_runtime.telemetry import tracing
from swap_runtime.telemetry.metrics import begin_at_zero, counter, gauge, histogram

# Alert: many answers of 500 or above.
ANSWERS: Final = counter("api_answers", "Answers by route and status", ["route", "status"])
# Alert: slow for long.
DURATION: Final = histogram("api_answer_seconds", "Time to answer by route", ["route"])
UNRECORDED: Final = counter(
    "api_requests_unrecorded", "Requests that the log of requests leaves out", ["because"]
)
REFUSALS: Final = counter("api_refusals", "Refusals by public code", ["code"])
CREATED: Final = counter("api_swaps_created", "Swaps created", ["source", "destination"])
HINTS_DELETED: Final = counter("api_hints_deleted", "Old deposit hints deleted")
REPLAYED: Final = counter(
    "api_answers_replayed", "Requests answered again from their idempotency key"
)
# Alert: grows for long. While Redis is unavailable, each process limits rates on its own.
RATE_LIMIT_STORE_UNAVAILABLE: Final = counter("api_counters_away", "Times Redis did not answer")
# Alert: grows for long.
QUOTER_UNAVAILABLE: Final = counter("api_quoter_away", "Times the quoter did not answer")
STORED: Final = counter("api_swaps_stored", "Rows of the read model written")
# `because` is one of the texts in `ReadCaughtUp`.
SHOWN_BEHIND: Final = counter(
    "api_swaps_shown_behind",
    "Swaps answered from a row that is older than the settler's last decision",
    ["because"],
)

GASLESS: Final = gauge(
    "api_gasless_offered", "Tokens that can be deposited by a signature now", ["network", "token"]
)
DEPOSITORIES: Final = gauge(
    "api_depository_offered", "Depositories that accept deposits, as last read", ["network"]
)
AUTHORIZATIONS: Final = counter(
    "api_authorizations_taken", "Signatures that were accepted", ["network", "standard"]
)

# The texts that are logged with the stopped networks, and when there is none. Halts are made by the
# chain-watcher, other stops by the settler's operators.
STOPPED: Final = {
    "destination": ("payouts to networks are stopped", "payouts are stopped to no network"),
    "source": (
        "payouts of deposits from networks are stopped",
        "payouts are stopped for deposits from no network",
    ),
    "halt": ("networks are halted", "no network is halted"),
    "closure": ("networks are closed to new swaps", "no network is closed to new swaps"),
}
SERVER_ERROR: Final = 500
SERVER_ERRORS: Final = (500, 503)  # those that the api answers with
log = structlog.get_logger()


def routes_listed(routes: Collection[str]) -> None:
    """Begin to count the server errors of routes that may have none for long."""
    begin_at_zero(ANSWERS, routes, [str(status) for status in SERVER_ERRORS])


def request_answered(route: str, status: int, seconds: float) -> None:
    answers, duration = _answers(route, status)
    answers.inc()
    duration.observe(seconds, tracing.exemplar())


@cache
def _answers(route: str, status: int) -> tuple[Counter, Histogram]:
    """Cache the labelled metrics: to find them costs more than to count."""
    return ANSWERS.labels(route=route, status=str(status)), DURATION.labels(route=route)


def request_refused(code: str) -> None:
    REFUSALS.labels(code=code).inc()


def answered_with_error(status: int, error: BaseException, **request: object) -> None:
    """Log an error under the request id that its answer carries.

    :param request: `request_id`, `route`, and `app_id` and `swap_id` where they are known.
    """
    if status >= SERVER_ERROR:
        log.error("request failed", status=status, exc_info=error, **request)
    else:
        code = getattr(error, "code", None)
        log.info("request refused", status=status, code=code, **request)


def requests_unrecorded(because: str, number: int) -> None:
    UNRECORDED.labels(because=because).inc(number)


def swap_created(swap_id: UUID, source: str, destination: str) -> None:
    _created_counter(source, destination).inc()
    log.info("swap created", swap_id=str(swap_id))


def refund_address_set(swap_id: UUID) -> None:
    log.info("refund address set", swap_id=str(swap_id))


@cache
def _created_counter(source: str, destination: str) -> Counter:
    return CREATED.labels(source=source, destination=destination)


def answer_replayed() -> None:
    REPLAYED.inc()


def swaps_stored(number: int) -> None:
    STORED.inc(number)


def shown_behind(because: str) -> None:
    SHOWN_BEHIND.labels(because=because).inc()


def heads_unreadable(error: Exception) -> None:
    log.warning("heads unreadable", reason=_first_line(error))


def rate_limit_store_unavailable(error: Exception) -> None:
    RATE_LIMIT_STORE_UNAVAILABLE.inc()
    log.warning("rate-limit store unavailable", reason=f"{type(error).__name__}: {error}")


def idempotency_claim_not_released(error: Exception) -> None:
    log.warning("idempotency claim not released; it expires", reason=str(error))


def answer_not_stored(error: Exception) -> None:
    log.warning("answer not stored for its idempotency key", reason=str(error))


def quoter_unavailable(error: Exception) -> None:
    QUOTER_UNAVAILABLE.inc()
    log.warning("quoter away", reason=str(error))


def key_issued(key_id: UUID, app_id: UUID, kind: str) -> None:
    log.info("key issued", key_id=str(key_id), app_id=str(app_id), kind=kind)


def key_revoked(key_id: UUID) -> None:
    log.info("key revoked", key_id=str(key_id))


def member_joined(member_id: UUID, organization_id: UUID) -> None:
    log.info("member joined", member_id=str(member_id), organization_id=str(organization_id))


def gasless_offered(network: str, token: str, findings: Sequence[str]) -> None:
    """Each finding is a mismatch between catalogue and chain, which an operator must correct."""
    GASLESS.labels(network=network, token=token).set(0 if findings else 1)
    if findings:
        log.error("gasless not offered", network=network, token=token, because=list(findings))
    else:
        log.info("gasless offered", network=network, token=token)


def gasless_unknown(network: str, error: Exception) -> None:
    log.warning("gasless unknown", network=network, error=str(error))


def depository_assumed(network: str) -> None:
    """Count a Depository as offered until its chain was read."""
    DEPOSITORIES.labels(network=network).set(1)


def depository_offered(network: str, findings: Sequence[str]) -> None:
    """Each finding, such as a pause or a Treasury that is not listed, is for an operator."""
    DEPOSITORIES.labels(network=network).set(0 if findings else 1)
    if findings:
        log.error("depository closed", network=network, because=list(findings))
    else:
        log.info("depository offered", network=network)


def depository_unknown(network: str, error: Exception) -> None:
    log.warning("depository unknown", network=network, error=str(error))


def authorization_accepted(swap_id: UUID, network: str, standard: str) -> None:
    log.info("signature accepted", swap_id=str(swap_id), network=network, standard=standard)
    AUTHORIZATIONS.labels(network=network, standard=standard).inc()


def allowance_unknown(network: str, error: Exception) -> None:
    log.warning("allowance unknown", network=network, error=str(error))


def deposit_hinted(swap_id: UUID, network: str, *, is_sent: bool) -> None:
    log.info("deposit hinted", swap_id=str(swap_id), network=network, is_sent=is_sent)


def lookup_failed(network: str, error: Exception) -> None:
    log.warning("transactions not looked up", network=network, error=str(error))


def attachment_accepted(swap_id: UUID, network: str) -> None:
    log.info("signed attachment of a transfer accepted", swap_id=str(swap_id), network=network)


def stops_changed(stop: str, networks: Collection[str]) -> None:
    """Log the networks on which something is stopped now; `*` is every one."""
    on_some, on_none = STOPPED[stop]
    if networks:
        log.warning(on_some, networks=sorted(networks))
    else:
        log.warning(on_none)


def deposit_addresses_unverified(network: str, error: Exception) -> None:
    log.warning("deposit addresses not verified", network=network, error=str(error))


def hints_deleted(number: int) -> None:
    HINTS_DELETED.inc(number)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
