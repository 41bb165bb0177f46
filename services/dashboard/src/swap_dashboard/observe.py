"""What happened, one function per fact: the only place that logs and counts."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

import structlog

from swap_runtime.telemetry import tracing
from swap_runtime.telemetry.metrics import begin_at_zero, counter, histogram

log = structlog.get_logger()

SIGN_INS = counter("dashboard_sign_ins", "Attempts to sign in, by outcome", ["outcome"])
PAGES = counter("dashboard_pages", "Answers, by route and class of status", ["route", "status"])
PAGE_SECONDS = histogram("dashboard_page_seconds", "How long an answer takes", ["route"])
API_UNAVAILABLE = counter(
    "dashboard_api_away",
    "Requests that the api did not answer, or answered with an error of its own",
)
FORMS_REFUSED = counter("dashboard_forms_refused", "Forms refused: no token, or from another site")
begin_at_zero(SIGN_INS, ("done", "failed", "blocked"))


def routes_listed(routes: Collection[str]) -> None:
    """Begin to count the errors of pages that may have none for long."""
    begin_at_zero(PAGES, routes, ["5xx"])


def signed_in(account_id: UUID, *, by: str) -> None:
    log.info("signed in", account_id=account_id, by=by)
    SIGN_INS.labels("done").inc()


def sign_in_failed() -> None:
    """Neither email nor address is logged: people type passwords into the wrong field."""
    log.info("sign-in failed")
    SIGN_INS.labels("failed").inc()


def sign_in_blocked() -> None:
    log.info("sign-in blocked")
    SIGN_INS.labels("blocked").inc()


def provider_unavailable(reason: str) -> None:
    log.warning("the identity provider does not answer", reason=reason)


def provider_refused(reason: str) -> None:
    log.warning("the identity provider's answer is refused", reason=reason)


def account_added(account_id: UUID, organization_id: UUID) -> None:
    log.info("account added", account_id=account_id, organization_id=organization_id)


def token_renewed(membership_id: UUID) -> None:
    log.info("access token renewed", membership_id=membership_id)


def token_not_renewed(membership_id: UUID, reason: str) -> None:
    log.warning("access token not renewed", membership_id=membership_id, reason=reason)


def second_factor_changed(account_id: UUID, state: str) -> None:
    log.warning("second factor changed", account_id=account_id, state=state)


def second_factor_unreadable(account_id: UUID) -> None:
    """No configured key opens it: the member must enter a recovery code."""
    log.warning("second factor unreadable", account_id=account_id)


def first_password_set(account_id: UUID) -> None:
    log.info("first password set", account_id=account_id)


def lost_password_replaced(account_id: UUID) -> None:
    log.info("lost password replaced", account_id=account_id)


def sessions_ended(account_id: UUID, number: int) -> None:
    log.info("sessions ended", account_id=account_id, number=number)


def form_refused(path: str) -> None:
    log.warning("form refused", path=path)
    FORMS_REFUSED.inc()


def api_unavailable(path: str, reason: str) -> None:
    log.warning("the api is unavailable", path=path, reason=reason)
    API_UNAVAILABLE.inc()


def page_answered(route: str, status: int, seconds: float) -> None:
    PAGES.labels(route, f"{status // 100}xx").inc()
    PAGE_SECONDS.labels(route).observe(seconds, tracing.exemplar())


def answer_failed(path: str, error: Exception) -> None:
    log.error("answer failed", path=path, exc_info=error)
