"""What requests that manage something may say."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints

from swap_api.http.parameters import Moment, PageParameters, Parameters, Text, printable
from swap_api.management.decide.app_fees import FeeEntryKind
from swap_api.model.keys import Allowances, Environment, KeyKind
from swap_api.model.listing import PAGE_SIZE_MAX
from swap_api.model.members import Role
from swap_domain.fees import PARTNER_FEE_MAX

NAME_MAX = 200
URL_MAX = 2048
SECONDS_MAX = 10_000_000
OVERLAP_MAX = 30 * 24 * 3600
ORIGINS_MAX = 20
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
# A name, an IPv4 or a bracketed IPv6 address, with a port or without: no character of a policy.
ORIGIN = re.compile(r"https?://([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?")


def origin(value: str) -> str:
    """
    :raises ValueError: when it is more or less than scheme, host and port.
    """
    if not ORIGIN.fullmatch(value):
        raise ValueError("must be scheme and host, such as https://shop.example, and nothing more")
    return value


def key_origin(value: str) -> str:
    """Return the origin as browsers send it.

    It is in lower case. Its port has no leading zeros, and is left out where it is the scheme's.

    :raises ValueError: when it is no origin, or neither https nor localhost.
    """
    text = origin(value).lower()
    parts = urlsplit(text)
    if parts.scheme == "http" and parts.hostname not in LOCAL_HOSTS:
        raise ValueError("must be https; http is for localhost alone")
    default = 443 if parts.scheme == "https" else 80
    host = text[: text.rindex(":")] if parts.port is not None else text
    return host if parts.port in (None, default) else f"{host}:{parts.port}"


Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=NAME_MAX),
    AfterValidator(printable),
]
KeyOrigins = Annotated[
    list[Annotated[str, AfterValidator(key_origin)]], Field(max_length=ORIGINS_MAX)
]
Rate = Annotated[int, Field(gt=0, le=SECONDS_MAX)]


class DaysParameters(Parameters):
    days: int = Field(default=30, ge=1, le=90, description="How many days in UTC, today included")


class OrganizationBody(Parameters):
    name: Name = Field(description="What the organization is called", examples=["Shop"])


class LimitsBody(Parameters):
    """Limits of an app; absent ones are the deployment's settings."""

    reads_per_minute: Rate | None = None
    prices_per_minute: Rate | None = None
    creates_per_minute: Rate | None = None
    ceiling_factor: Rate | None = Field(
        default=None, description="What the whole app may, and a secret key, in clients"
    )
    pending_swaps_max: Rate | None = Field(
        default=None, description="How many swaps may wait for their deposit"
    )
    limits_lifted: bool = Field(default=False, description="No limits at all")

    def allowances(self, *, swap_lifetime: timedelta | None = None) -> Allowances:
        return Allowances(
            reads=self.reads_per_minute,
            prices=self.prices_per_minute,
            creates=self.creates_per_minute,
            ceiling_factor=self.ceiling_factor,
            pending_swaps=self.pending_swaps_max,
            is_lifted=self.limits_lifted,
            swap_lifetime=swap_lifetime,
        )


class FeeBody(Parameters):
    fee_basis_points: int = Field(
        ge=0,
        le=PARTNER_FEE_MAX,
        description="What the app takes of its swaps for itself, on top of our own fee; "
        "`service_fee` shows both together",
        examples=[25],
    )


class FrameOriginsBody(Parameters):
    origins: list[Annotated[str, AfterValidator(origin)]] = Field(
        max_length=ORIGINS_MAX,
        description="Sites that may show the app's pay pages in a frame; none: no site may. "
        "Scheme and host, with a port or without; https for a live app",
        examples=[["https://shop.example"]],
    )


class KeyOriginsBody(Parameters):
    origins: KeyOrigins = Field(
        description="Origins of the web pages that may use the key; none: any request may. "
        "Scheme and host, with a port or without; https, or http for localhost. Browsers send no "
        "`Origin` with a GET to the page's own host: call the API at another host, or let the "
        "proxy of the page's host add `Origin` where it is absent",
        examples=[["https://shop.example"]],
    )


class AppNameBody(Parameters):
    name: Name = Field(description="What the app is called", examples=["checkout"])


class LifetimeBody(Parameters):
    swap_lifetime_seconds: Rate | None = Field(
        default=None,
        description="How long its swaps wait for a deposit; test apps only. Absent: as promised",
    )

    @property
    def swap_lifetime(self) -> timedelta | None:
        seconds = self.swap_lifetime_seconds
        return None if seconds is None else timedelta(seconds=seconds)


class SettingsBody(LifetimeBody):
    name: Name | None = Field(
        default=None, description="What the app is called. Absent: as before", examples=["checkout"]
    )


class AppBody(LifetimeBody, AppNameBody):
    environment: Environment = Field(description="Which networks its keys see", examples=["test"])


class KeyBody(Parameters):
    kind: KeyKind = Field(
        default=KeyKind.SECRET, description="`publishable` may stand in a browser"
    )
    label: Name | None = Field(default=None, description="What it is for", examples=["shop 1"])
    expires_at: Moment | None = Field(default=None, description="Absent: when it is revoked")
    allowed_origins: KeyOrigins = Field(
        default=[],
        description="Origins of the web pages that may use it; `publishable` keys only",
    )


class RotationBody(Parameters):
    overlap_seconds: int | None = Field(
        default=None,
        ge=0,
        le=OVERLAP_MAX,
        description="How long the old key goes on; absent: a day",
        examples=[3600],
    )

    @property
    def overlap(self) -> timedelta | None:
        seconds = self.overlap_seconds
        return None if seconds is None else timedelta(seconds=seconds)


class ExpiryBody(Parameters):
    expires_at: Moment = Field(
        description="When the key ends", examples=["2030-01-31T12:00:00+00:00"]
    )


class InvitationBody(Parameters):
    name: Name = Field(description="Who is invited", examples=["ada@shop.example"])
    role: Role = Field(description="What they may", examples=["developer"])


class InspectBody(Parameters):
    token: Annotated[str, StringConstraints(min_length=1, max_length=256)] = Field(
        description="What came with the invitation", examples=["svc_invite_" + "5f" * 32]
    )


class AcceptBody(InspectBody):
    label: Name = Field(default="first", description="What the access token is for")


class RoleBody(Parameters):
    role: Role = Field(description="What the member may from now on", examples=["developer"])


class TokenBody(Parameters):
    label: Name = Field(description="What the access token is for", examples=["laptop"])
    expires_at: Moment | None = Field(
        default=None, description="At most 366 days from now; absent: in 90 days"
    )


class WebhookBody(Parameters):
    url: Annotated[str, StringConstraints(min_length=1, max_length=URL_MAX)] = Field(
        description="https; a test app's may be http. `listen:` is a listener: its messages are "
        "stored and read by `swapctl listen`, and sent nowhere",
        examples=["https://shop.example/webhooks"],
    )
    wants_updates: bool = Field(default=False, description="Progress within a status too")
    wants_notices: bool = Field(
        default=False, description="When another endpoint of the app is disabled"
    )


class WebhookEventsBody(Parameters):
    """What is sent to an endpoint beside every new status of a swap."""

    wants_updates: bool = Field(description="Progress within a status too", examples=[True])
    wants_notices: bool = Field(
        description="When another endpoint of the app is disabled", examples=[False]
    )


class ReplayBody(Parameters):
    since: Moment = Field(
        description="What happened since then is sent again",
        examples=["2026-01-31T12:00:00+00:00"],
    )
    undelivered_only: bool = Field(default=False, description="Only what never got through")


class KeysParameters(PageParameters):
    starting_after: UUID | None = Field(
        default=None,
        description="A key of the list: the page begins behind it. Takes the place of `page`",
    )


class ChangesParameters(PageParameters):
    starting_after: int | None = Field(
        default=None,
        ge=1,
        le=2**63 - 1,
        description="An entry of the log: the page begins behind it. Takes the place of `page`",
    )


class RequestsParameters(Parameters):
    request_id: Text | None = Field(
        default=None, description="Of the header X-Request-Id, or an error's metadata"
    )
    # Not `status`: a name of one endpoint is no misspelling of `statuses` at another.
    http_status: int | None = Field(
        default=None, ge=100, le=599, description="HTTP status of the answer", examples=[400]
    )
    failed_only: bool = Field(default=False, description="Only those with status 400 or above")
    route: Text | None = Field(
        default=None, description="As documented, such as /api/v2/swaps/{swapId}"
    )
    without_key: UUID | None = Field(
        default=None, description="Leaves out the requests with this key, by its id"
    )
    since: Moment | None = Field(default=None, description="Only those answered since then")
    starting_after: UUID | None = Field(
        default=None, description="A record of the list: the page begins behind it"
    )
    page_size: int = Field(default=20, ge=1, le=PAGE_SIZE_MAX)


# Opaque to clients.
Place = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,400}$")]


class FeeEntriesParameters(Parameters):
    kind: FeeEntryKind | None = Field(
        default=None, description="Only fees of swaps, or only payouts"
    )
    network: Text | None = Field(
        default=None, description="Name, or chain id; with `token`", examples=["ETHEREUM_DEVNET"]
    )
    token: Text | None = Field(
        default=None, description="Symbol, or contract address; with `network`", examples=["ETH"]
    )
    starting_after: UUID | None = Field(
        default=None, description="An entry of the list: the page begins behind it"
    )
    page_size: int = Field(default=20, ge=1, le=PAGE_SIZE_MAX)


class MessagesParameters(PageParameters):
    starting_after: Place | None = Field(
        default=None,
        description="A place of the list, as the `Link` to the next page has it: the page begins "
        "behind it",
    )
    since: Moment | None = Field(default=None, description="Only what ended since then, or waits")
    until: Moment | None = Field(
        default=None, description="Only what ended before then; not what waits"
    )
    undelivered_only: bool = Field(default=False, description="Only what never got through")
    delivered_only: bool = Field(default=False, description="Only what got through")
    oldest_first: bool = Field(
        default=False, description="Only what ended, in that order; not what waits"
    )
