"""Pages from templates: every value escaped, numbers and moments the same on every page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from swap_dashboard.http.pay_texts import FIRST, texts
from swap_dashboard.http.user_agents import browser_name
from swap_dashboard.ports import Clock

PAGES: Final = files("swap_dashboard") / "pages"
DIGITS_MAX: Final = 8  # of a fraction, in tables
FRACTION_MIN: Final = 2  # digits of a large amount's fraction, in tables
SIGNIFICANT_MAX: Final = 10  # digits of an amount, in tables
NONE: Final = "\N{EN DASH}"
MINUTE_SECONDS: Final = 60
CUT: Final = (8, 6)  # characters of a long id that stay
# Status: its words, and the kind of badge.
STATUSES: Final[Mapping[str, tuple[str, str]]] = {
    "user_transfer_pending": ("Waiting for deposit", "waiting"),
    "ls_transfer_pending": ("Paying out", "active"),
    "completed": ("Completed", "good"),
    "failed": ("Failed", "bad"),
    "expired": ("Expired", "quiet"),
    "pending_refund": ("Refunding", "warning"),
    "refunded": ("Refunded", "quiet"),
}
STATUS_ORDER: Final = tuple(STATUSES)
TRANSACTION_NAMES: Final = {
    "input": "Deposit",
    "output": "Payout",
    "refuel": "Refuel",
    "refund": "Refund",
    "provider_refund": "Provider refund",
}
# As docs/managing.md has them, from the lowest.
ROLE_TEXTS: Final = {
    "viewer": "A viewer reads apps, swaps, members and webhooks, and changes nothing.",
    "developer": "A developer also makes test apps, and manages their keys and webhooks.",
    "admin": "An admin also manages live apps, members and invitations, and reads the log.",
    "owner": "An owner may do everything, and manages other owners.",
}
MESSAGE_KINDS: Final = {"delivered": "good", "failed": "bad", "waiting": "active"}
TRANSACTION_KINDS: Final = {"completed": "good", "pending": "active", "initiated": "waiting"}


class Pages:
    def __init__(self, *, clock: Clock, version: str) -> None:
        """
        :param version: of the static files: a browser keeps them until it changes.
        """
        self._clock = clock
        self._environment = Environment(
            loader=FileSystemLoader(str(PAGES)),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {
            "amount": amount,
            "browser_name": browser_name,
            "exact_amount": exact_amount,
            "last_digit": last_digit,
            "fail_words": lambda code: texts()[FIRST]["fail_reasons"].get(code, code),
            "cause_words": lambda cause: texts()[FIRST]["causes"].get(cause, cause),
            "usd": usd,
            "cut": cut,
            "moment": moment,
            "age": self._age,
            "age_seconds": self._age_seconds,
            "due": self._due,
            "detail": detail,
            "duration": duration,
            "seconds": lambda value: length(timedelta(seconds=int(value))),
            "shorten_amount": shorten_amount,
            "pretty": pretty,
            "pretty_json": pretty_json,
            "status_words": lambda status: STATUSES.get(status, (status, "quiet"))[0],
            "status_kind": lambda status: STATUSES.get(status, (status, "quiet"))[1],
        }
        self._environment.globals |= {
            "version": version,
            "transaction_names": TRANSACTION_NAMES,
            "transaction_kinds": TRANSACTION_KINDS,
            "message_kinds": MESSAGE_KINDS,
            "statuses": STATUSES,
            "role_texts": ROLE_TEXTS,
        }

    def render(
        self,
        name: str,
        values: Mapping[str, Any],
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> HTMLResponse:
        text = self._environment.get_template(name).render(**values)
        return HTMLResponse(text, status_code=status, headers=dict(headers or {}))

    def _age(self, value: str | datetime) -> str:
        return age(self._clock() - to_moment(value))

    def _age_seconds(self, value: str | datetime) -> int:
        return int((self._clock() - to_moment(value)).total_seconds())

    def _due(self, value: str | datetime) -> str:
        """Return until when; what is due in the past is about to begin."""
        left = to_moment(value) - self._clock()
        return f"in {length(left)}" if left > timedelta(0) else "now"


def to_moment(value: str | datetime) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def moment(value: str | datetime) -> str:
    return to_moment(value).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def age(span: timedelta) -> str:
    """Return how long ago or until when, in one unit."""
    shown = length(span)
    return f"in {shown}" if span < timedelta(0) else f"{shown} ago"


def length(span: timedelta) -> str:
    """Return how long, in one unit."""
    seconds = int(abs(span.total_seconds()))
    units = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
    of_unit, unit = next(((s, u) for s, u in units if seconds >= s), (1, "s"))
    return f"{seconds // of_unit} {unit}"


def duration(span: timedelta) -> str:
    seconds = span.total_seconds()
    if seconds < MINUTE_SECONDS:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), MINUTE_SECONDS)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = ((days, "d"), (hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def amount(value: Any, digits: int = DIGITS_MAX) -> str:
    """Return a number as people read it: no exponent, thousands apart, no zeros at the end."""
    if value is None:
        return NONE
    exact = Decimal(str(value))
    text = f"{exact:,.{digits}f}"
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    shown = f"{whole}.{fraction}" if fraction else whole
    return f"{exact:.2e}" if exact and shown in ("0", "-0") else shown


def last_digit(precision: int) -> str:
    """Return the smallest amount that the api shows of a token; what is less, it shows as zero."""
    return f"{Decimal(1).scaleb(-precision):f}"


def exact_amount(base_units: str, decimals: int) -> str:
    """Return all digits of an amount: what adds up in base units adds up on the page."""
    number = int(base_units)
    whole, rest = divmod(abs(number), 10**decimals)
    fraction = str(rest).zfill(decimals).rstrip("0")
    shown = f"{whole:,}.{fraction}" if fraction else f"{whole:,}"
    return f"-{shown}" if number < 0 else shown


def shorten_amount(text: str) -> str:
    """Cut the fraction of an exact amount for a table, and say so.

    A large amount has fewer digits of it, and one that would be shown as zero has its bound.
    """
    whole, _, fraction = text.partition(".")
    digits = min(DIGITS_MAX, max(FRACTION_MIN, SIGNIFICANT_MAX - sum(map(str.isdigit, whole))))
    if len(fraction) <= digits:
        return text
    if whole in ("0", "-0") and not fraction[:digits].strip("0"):
        return f"{'> -' if whole.startswith('-') else '< '}{last_digit(digits)}"
    return f"{whole}.{fraction[:digits]}…"


def usd(value: Any) -> str:
    return NONE if value is None else f"${Decimal(str(value)):,.2f}"


def cut(text: str | None, head: int = CUT[0], tail: int = CUT[1]) -> str:
    """Cut a long id in the middle: both of its ends distinguish it from others."""
    if not text:
        return NONE
    return text if len(text) <= head + tail + 1 else f"{text[:head]}…{text[-tail:]}"


def detail(value: Any) -> str:
    """Return a value of the log of changes as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def pretty_json(text: str) -> str:
    """Return JSON with its members on separate lines; other text stays unchanged."""
    try:
        return pretty(json.loads(text))
    except ValueError:
        return text
