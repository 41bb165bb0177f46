"""The public models of what organizations manage: apps, keys, members, webhook endpoints."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from swap_contracts.public.models import PublicModel

EnvironmentName = Literal["live", "test"]
KeyKindName = Literal["secret", "publishable"]
RoleName = Literal["owner", "admin", "developer", "viewer"]


class OrganizationModel(PublicModel):
    """Who integrates the service."""

    id: UUID
    name: str
    created_at: datetime


class AppModel(PublicModel):
    """What an organization integrates it into. A limit of null is the deployment's own."""

    id: UUID
    organization_id: UUID
    name: str
    environment: EnvironmentName
    reads_per_minute: int | None
    prices_per_minute: int | None
    creates_per_minute: int | None
    ceiling_factor: int | None
    pending_swaps_max: int | None
    limits_lifted: bool
    swap_lifetime_seconds: int | None
    created_at: datetime
    fee_basis_points: int
    frame_origins: list[str]  # sites that may show its pay pages in a frame


class RateModel(PublicModel):
    """How often requests of one kind may come: what a secret key and the whole app may."""

    kind: Literal["read", "price", "create"]
    per_minute: int
    per_minute_of_client: int  # of one client of a publishable key


class UnpaidSwapsModel(PublicModel):
    """Swaps of an app's secret keys that wait for their deposit."""

    number: int
    max: int
    max_of_client: int  # of one client of a publishable key


class DepositAddressesModel(PublicModel):
    """Deposit addresses of an app that wait for money on one network."""

    network: str
    number: int
    max: int


class AppLimitsModel(PublicModel):
    """What an app may. Where the limits are lifted, none of them refuses anything."""

    is_lifted: bool
    burst_minutes: int  # so many minutes' worth of a rate may come at once
    rates: list[RateModel]
    unpaid_swaps: UnpaidSwapsModel
    deposit_addresses: list[DepositAddressesModel]


class KeyModel(PublicModel):
    """An API key, by what its owner may recognise it by."""

    id: UUID
    app_id: UUID
    kind: KeyKindName
    label: str | None
    last_four: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    allowed_origins: list[str]  # of web pages that may use it; empty: any request may


class NewKeyModel(KeyModel):
    """A key, for the only time that it is shown."""

    key: str


class ApiRequestModel(PublicModel):
    """A recorded request of an app's key. Not all are recorded: successful reads are sampled."""

    id: UUID
    request_id: str
    at: datetime  # of the answer
    method: str
    route: str | None  # as documented; null: it led to no endpoint
    status: int
    error_code: str | None
    milliseconds: int
    swap_id: UUID | None
    key_id: UUID
    key_last_four: str | None
    body: str | None  # JSON: the documented members without secrets
    body_is_cut: bool


class MemberModel(PublicModel):
    """A person, or a machine, that manages an organization."""

    id: UUID
    organization_id: UUID
    name: str
    role: RoleName
    created_at: datetime


class MeModel(PublicModel):
    """Whose access token it is."""

    id: UUID
    name: str
    role: RoleName
    organization: OrganizationModel


class InvitationModel(PublicModel):
    """An invitation to become a member."""

    id: UUID
    organization_id: UUID
    name: str
    role: RoleName
    created_at: datetime
    expires_at: datetime


class NewInvitationModel(InvitationModel):
    """An invitation, with what takes it: shown once."""

    token: str


class InvitedModel(PublicModel):
    """What an invitation is for, as its holder sees it before accepting it."""

    organization: OrganizationModel
    name: str
    role: RoleName
    invited_by: str | None  # None: an operator of this service
    expires_at: datetime


class AccessTokenModel(PublicModel):
    """A member's token, by what its owner may recognise it by."""

    id: UUID
    label: str
    last_four: str
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


class NewAccessTokenModel(AccessTokenModel):
    """A token, for the only time that it is shown."""

    token: str


class JoinedModel(NewAccessTokenModel):
    """A new member, with a first token."""

    member: MemberModel


class AuditEntryModel(PublicModel):
    """Something that was changed: by whom, when, in which request."""

    id: int
    at: datetime
    actor: str  # the member's name then, or "operator"
    member_id: UUID | None
    request_id: str
    action: str
    subject_id: UUID
    details: dict[str, Any]


class WebhookModel(PublicModel):
    """The address at which an app receives its webhooks."""

    id: UUID
    app_id: UUID
    url: str
    environment: EnvironmentName
    wants_updates: bool
    wants_notices: bool
    created_at: datetime
    enabled_from: datetime
    disabled_at: datetime | None
    disabled_reason: str | None
    failing_since: datetime | None
    first_delivered_at: datetime | None


class NewWebhookModel(WebhookModel):
    """An endpoint with its secret, which is shown once."""

    secret: str


class WebhookSecretModel(PublicModel):
    """A new secret, shown once; the one before it signs beside it for a day."""

    id: UUID
    secret: str


class WebhookSwitchedModel(PublicModel):
    """Whether anything is sent to an endpoint."""

    id: UUID
    is_enabled: bool


class WebhookRemovedModel(PublicModel):
    """An endpoint that is gone."""

    id: UUID
    is_removed: bool


class WebhookTestedModel(PublicModel):
    """A message that tries an endpoint."""

    message_id: str


class WebhookReplayedModel(PublicModel):
    """How many messages are sent again."""

    id: UUID
    replayed: int


class WebhookResentModel(PublicModel):
    """A message that is sent again."""

    id: str
    is_due: bool


class DeliveryAttemptModel(PublicModel):
    """One try to deliver a message."""

    attempt: int
    at: datetime
    milliseconds: int
    http_status: int | None
    error: str | None


class DeliveryExchangeModel(DeliveryAttemptModel):
    """One try, with what was sent and what came back.

    Texts are bounded, and unsafe characters in them are replaced. Null is a body that is no text.
    """

    request_headers: dict[str, str]
    response_headers: dict[str, str]
    response_body: str | None
    response_body_is_cut: bool


class SentMessageModel(PublicModel):
    """A message to an endpoint."""

    id: str
    swap_id: UUID | None
    endpoint_id: UUID
    sequence: int
    event_type: str
    state: str
    attempts: int
    due_at: datetime | None  # of the next attempt; while one is under way, the end of its claim
    is_under_way: bool  # an attempt has begun and is not recorded
    created_at: datetime
    ended_at: datetime | None


class WebhookMessageModel(SentMessageModel):
    """A message to an endpoint, and how far it got."""

    log: list[DeliveryAttemptModel]


class WebhookMessageDetailModel(SentMessageModel):
    """A message with the bytes that every attempt sends, and its latest attempts."""

    body: str
    log: list[DeliveryExchangeModel]
