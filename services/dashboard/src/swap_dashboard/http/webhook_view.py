"""What a webhook message's page says about its attempts: what came back, and what follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

from swap_dashboard.http.rendering import to_moment

# As docs/webhooks.md promises them; a test compares them with the notifier's.
PAUSES: Final = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=10),
)
ATTEMPTS_MAX: Final = len(PAUSES) + 1
FAILING_MAX: Final = timedelta(days=5)
ATTEMPTS_SHOWN_MAX: Final = 20  # the notifier returns the latest ones
LISTENER_URL: Final = "listen:"
SIGNED: Final = ("id", "timestamp", "signature")
FIRST, RETRY, RESENT = "First attempt", "Retry", "Sent again by hand"
OLDEST_SHOWN: Final = "Oldest attempt shown"


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """What follows a failed attempt of a message that waits."""

    next_at: datetime
    left: int  # attempts, the next one included
    last_at: datetime  # of the last one, unless pauses become longer

    @property
    def is_last(self) -> bool:
        return self.left == 1


def plan_of(message: Mapping[str, Any]) -> RetryPlan | None:
    """Return the plan; None unless an attempt has failed and another one follows.

    While that one is under way, its time is not known: `due_at` is the end of its claim.
    """
    made = message["attempts"]
    if message["state"] != "waiting" or message["is_under_way"] or not 0 < made < ATTEMPTS_MAX:
        return None
    next_at = to_moment(message["due_at"])
    return RetryPlan(next_at, ATTEMPTS_MAX - made, next_at + sum(PAUSES[made:], timedelta(0)))


def attempts_of(log: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return attempts with their cause and all headers of the request, newest first.

    A resend restarts the numbers of attempts. The headers `svix-…` repeat the values of
    `webhook-…`, and are not stored a second time.
    """
    cause_of_oldest = OLDEST_SHOWN if is_cut(log) else FIRST
    return [
        {
            **each,
            "cause": _cause(each["attempt"], cause_of_oldest if number == 0 else RESENT),
            "request_headers": with_both_families(each["request_headers"]),
        }
        for number, each in reversed(list(enumerate(log)))
    ]


def is_cut(log: Sequence[Mapping[str, Any]]) -> bool:
    """Whether earlier attempts than those of the log are possible: they are not shown."""
    return len(log) >= ATTEMPTS_SHOWN_MAX


def with_both_families(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the request headers as they were sent, under both of their names."""
    repeated = {f"svix-{name}": headers.get(f"webhook-{name}") for name in SIGNED}
    return {**headers, **{name: value for name, value in repeated.items() if value is not None}}


def first_delivery(log: Sequence[Mapping[str, Any]]) -> str | None:
    """Return when the message was first accepted; a resend does not change it.

    None where no attempt was accepted, and where the log may lack the one that was.
    """
    if is_cut(log):
        return None
    return next((each["at"] for each in log if _is_success(each["http_status"])), None)


def disabled_from(webhook: Mapping[str, Any]) -> datetime | None:
    """Return when an endpoint that only fails is disabled by its next failure."""
    failing = webhook["failing_since"]
    return None if failing is None else to_moment(failing) + FAILING_MAX


def is_listener(webhook: Mapping[str, Any]) -> bool:
    """Whether its messages are stored only, for `swapctl listen`."""
    return bool(webhook["url"] == LISTENER_URL)


def _cause(attempt: int, cause_of_first: str) -> str:
    """
    :param cause_of_first: where the number is 1.
    """
    return RETRY if attempt > 1 else cause_of_first


def _is_success(status: int | None) -> bool:
    return status is not None and HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
