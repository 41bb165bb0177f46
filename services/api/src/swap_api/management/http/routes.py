"""The addresses of the management API."""

from __future__ import annotations

from typing import Final

from swap_api.admission.decide.rate_limits import Kind
from swap_api.http.endpoints import MANAGEMENT, Endpoint
from swap_api.management.http.addresses import (
    APP,
    COUNT_LIMIT,
    KEY,
    MEMBER,
    ORGANIZATION,
    WEBHOOK,
    get_endpoint,
    post_endpoint,
)
from swap_api.management.http.app_fees import AppFeeEndpoints
from swap_api.management.http.app_limits import AppLimitEndpoints
from swap_api.management.http.figures import FigureEndpoints
from swap_api.management.http.members import MemberEndpoints
from swap_api.management.http.organizations import ManagementEndpoints
from swap_api.management.http.parameters import (
    AcceptBody,
    AppBody,
    AppNameBody,
    ChangesParameters,
    DaysParameters,
    ExpiryBody,
    FeeBody,
    FeeEntriesParameters,
    FrameOriginsBody,
    InspectBody,
    InvitationBody,
    KeyBody,
    KeyOriginsBody,
    KeysParameters,
    LimitsBody,
    MessagesParameters,
    OrganizationBody,
    ReplayBody,
    RequestsParameters,
    RoleBody,
    RotationBody,
    SettingsBody,
    TokenBody,
    WebhookBody,
    WebhookEventsBody,
)
from swap_api.management.http.request_log import RequestLogEndpoints
from swap_api.management.http.webhooks import WebhookEndpoints
from swap_api.model.keys import Scope
from swap_contracts.public.app_fees import AppFeesModel, FeeEntryModel
from swap_contracts.public.errors import ErrorCode
from swap_contracts.public.figures import AppFiguresModel, DayFiguresModel, WebhookFiguresModel
from swap_contracts.public.management import (
    AccessTokenModel,
    ApiRequestModel,
    AppLimitsModel,
    AppModel,
    AuditEntryModel,
    InvitationModel,
    InvitedModel,
    JoinedModel,
    KeyModel,
    MemberModel,
    MeModel,
    NewAccessTokenModel,
    NewInvitationModel,
    NewKeyModel,
    NewWebhookModel,
    OrganizationModel,
    WebhookMessageDetailModel,
    WebhookMessageModel,
    WebhookModel,
    WebhookRemovedModel,
    WebhookReplayedModel,
    WebhookResentModel,
    WebhookSecretModel,
    WebhookSwitchedModel,
    WebhookTestedModel,
)

LOG_WEIGHT: Final = 5  # a filter may read many records of the app
LINKED: Final = {"Link": "The next page (RFC 8288)"}
LIMITS_WEIGHT: Final = 5  # unpaid deposit addresses are counted for each network
FIGURES_WEIGHT: Final = 20  # a week of an app's swaps is read


def management(
    *,
    organizations: ManagementEndpoints,
    members: MemberEndpoints,
    webhooks: WebhookEndpoints,
    figures: FigureEndpoints,
    app_limits: AppLimitEndpoints,
    app_fees: AppFeeEndpoints,
    request_log: RequestLogEndpoints,
) -> list[Endpoint]:
    """Return every endpoint of the management API, including the operators'."""
    return [
        *_organizations(organizations),
        *_apps(organizations, figures),
        *_keys(organizations),
        get_endpoint(
            f"{APP}/limits",
            app_limits.limits,
            "Read an app's limits, and how many swaps and deposit addresses are unpaid",
            AppLimitsModel,
            weight=LIMITS_WEIGHT,
        ),
        get_endpoint(
            f"{APP}/fees",
            app_fees.fees,
            "Read what an app has earned by its own fee: paid out, on its way, waiting",
            list[AppFeesModel],
        ),
        get_endpoint(
            f"{APP}/fees/entries",
            app_fees.entries,
            "List the fees that an app's swaps earned and their payouts, newest first",
            list[FeeEntryModel],
            query=FeeEntriesParameters,
            headers=LINKED,
        ),
        get_endpoint(
            f"{APP}/requests",
            request_log.requests,
            "List recorded requests of an app's keys, newest first",
            list[ApiRequestModel],
            query=RequestsParameters,
            weight=LOG_WEIGHT,
            headers=LINKED,
        ),
        *_members(members),
        *_tokens(members),
        *_webhooks(webhooks),
    ]


def _organizations(organizations: ManagementEndpoints) -> list[Endpoint]:
    return [
        get_endpoint(
            f"{MANAGEMENT}/organizations",
            organizations.organizations,
            "List the organizations the caller may read",
            list[OrganizationModel],
            is_paged=True,
        ),
        post_endpoint(
            f"{MANAGEMENT}/organizations",
            organizations.add_organization,
            "Add an organization",
            OrganizationModel,
            OrganizationBody,
            scope=Scope.OPERATOR,
            creates=True,
        ),
        get_endpoint(
            ORGANIZATION, organizations.organization, "Read an organization", OrganizationModel
        ),
        post_endpoint(
            ORGANIZATION,
            organizations.rename_organization,
            "Rename an organization",
            OrganizationModel,
            OrganizationBody,
        ),
        get_endpoint(
            f"{ORGANIZATION}/changes",
            organizations.changes,
            "List what was changed, by whom and when, newest first",
            list[AuditEntryModel],
            is_paged=True,
            query=ChangesParameters,
            refuses=(ErrorCode.ROLE_TOO_LOW,),
        ),
    ]


def _apps(organizations: ManagementEndpoints, figures: FigureEndpoints) -> list[Endpoint]:
    return [
        get_endpoint(
            f"{ORGANIZATION}/apps",
            organizations.apps,
            "List an organization's apps",
            list[AppModel],
            is_paged=True,
        ),
        post_endpoint(
            f"{ORGANIZATION}/apps",
            organizations.add_app,
            "Add an app",
            AppModel,
            AppBody,
            refuses=COUNT_LIMIT,
            creates=True,
        ),
        get_endpoint(APP, organizations.app, "Read an app", AppModel),
        get_endpoint(
            f"{APP}/figures",
            figures.figures,
            "Count an app's swaps of the last day and week, with volume and median duration",
            AppFiguresModel,
            weight=FIGURES_WEIGHT,
        ),
        get_endpoint(
            f"{APP}/figures/days",
            figures.by_day,
            "Count an app's swaps of each of the last days, with volume and median duration",
            list[DayFiguresModel],
            query=DaysParameters,
            weight=FIGURES_WEIGHT,
        ),
        post_endpoint(
            APP, organizations.change_app, "Set an app's settings", AppModel, SettingsBody
        ),
        post_endpoint(
            f"{APP}/name", organizations.rename_app, "Rename an app", AppModel, AppNameBody
        ),
        post_endpoint(
            f"{APP}/frame_origins",
            organizations.set_frame_origins,
            "Set which sites may show an app's pay pages in a frame",
            AppModel,
            FrameOriginsBody,
        ),
        post_endpoint(
            f"{APP}/limits",
            organizations.set_limits,
            "Set what an app may",
            AppModel,
            LimitsBody,
            scope=Scope.OPERATOR,
        ),
        post_endpoint(
            f"{APP}/fee",
            organizations.set_fee,
            "Set what an app takes of its swaps",
            AppModel,
            FeeBody,
            scope=Scope.OPERATOR,
        ),
    ]


def _keys(organizations: ManagementEndpoints) -> list[Endpoint]:
    closed = (ErrorCode.KEY_CLOSED,)
    return [
        get_endpoint(
            f"{APP}/keys",
            organizations.keys,
            "List an app's API keys, newest first",
            list[KeyModel],
            is_paged=True,
            query=KeysParameters,
        ),
        post_endpoint(
            f"{APP}/keys",
            organizations.add_key,
            "Make an API key and show it, this once",
            NewKeyModel,
            KeyBody,
            refuses=COUNT_LIMIT,
            shows_secret=True,
        ),
        post_endpoint(
            f"{KEY}/rotate",
            organizations.rotate_key,
            "Replace an API key; the old one goes on for a while",
            NewKeyModel,
            RotationBody,
            refuses=(*closed, *COUNT_LIMIT),
            shows_secret=True,
        ),
        post_endpoint(
            f"{KEY}/expire",
            organizations.expire_key,
            "Let an API key end at a moment",
            KeyModel,
            ExpiryBody,
            refuses=closed,
        ),
        post_endpoint(
            f"{KEY}/allowed_origins",
            organizations.set_allowed_origins,
            "Set the origins of the web pages that may use a publishable key",
            KeyModel,
            KeyOriginsBody,
            refuses=closed,
        ),
        post_endpoint(
            f"{KEY}/revoke", organizations.revoke_key, "Close an API key at once", KeyModel
        ),
    ]


def _members(members: MemberEndpoints) -> list[Endpoint]:
    return [
        get_endpoint(
            f"{ORGANIZATION}/members",
            members.members,
            "List an organization's members",
            list[MemberModel],
            is_paged=True,
        ),
        post_endpoint(
            f"{MEMBER}/role",
            members.change_role,
            "Give a member another role",
            MemberModel,
            RoleBody,
            refuses=(ErrorCode.LAST_OWNER,),
        ),
        post_endpoint(
            f"{MEMBER}/remove",
            members.remove,
            "Let a member go, with every access token",
            MemberModel,
            refuses=(ErrorCode.LAST_OWNER,),
        ),
        get_endpoint(
            f"{ORGANIZATION}/invitations",
            members.invitations,
            "List invitations that can still be accepted",
            list[InvitationModel],
            is_paged=True,
            refuses=(ErrorCode.ROLE_TOO_LOW,),
        ),
        post_endpoint(
            f"{ORGANIZATION}/invitations",
            members.invite,
            "Invite somebody and show the invitation's token, this once",
            NewInvitationModel,
            InvitationBody,
            refuses=COUNT_LIMIT,
            shows_secret=True,
        ),
        post_endpoint(
            f"{MANAGEMENT}/invitations/{{invitationId}}/revoke",
            members.revoke_invitation,
            "Take an invitation back",
            InvitationModel,
        ),
        post_endpoint(
            f"{MANAGEMENT}/invitations/inspect",
            members.inspect,
            "Read what an invitation is for, without accepting it",
            InvitedModel,
            InspectBody,
            scope=Scope.NO_KEY,
            refuses=(ErrorCode.INVITATION_INVALID,),
            kind=Kind.READ,
        ),
        post_endpoint(
            f"{MANAGEMENT}/invitations/accept",
            members.accept,
            "Take an invitation: become a member, with a first access token",
            JoinedModel,
            AcceptBody,
            scope=Scope.NO_KEY,
            refuses=(ErrorCode.INVITATION_INVALID,),
            shows_secret=True,
        ),
    ]


def _tokens(members: MemberEndpoints) -> list[Endpoint]:
    return [
        get_endpoint(
            f"{MANAGEMENT}/me", members.me, "Read who the caller is", MeModel, scope=Scope.SELF
        ),
        get_endpoint(
            f"{MANAGEMENT}/me/tokens",
            members.tokens,
            "List the caller's access tokens",
            list[AccessTokenModel],
            is_paged=True,
            scope=Scope.SELF,
        ),
        post_endpoint(
            f"{MANAGEMENT}/me/tokens",
            members.add_token,
            "Make an access token and show it, this once",
            NewAccessTokenModel,
            TokenBody,
            scope=Scope.SELF,
            refuses=COUNT_LIMIT,
            shows_secret=True,
        ),
        post_endpoint(
            f"{MANAGEMENT}/me/tokens/{{tokenId}}/revoke",
            members.revoke_token,
            "Close an access token at once",
            AccessTokenModel,
            scope=Scope.SELF,
        ),
    ]


def _webhooks(webhooks: WebhookEndpoints) -> list[Endpoint]:
    refusals = (ErrorCode.DISABLED_BY_OPERATOR,)
    return [
        get_endpoint(
            f"{APP}/webhooks",
            webhooks.webhooks,
            "List an app's webhook endpoints",
            list[WebhookModel],
        ),
        get_endpoint(
            f"{APP}/webhooks/figures",
            webhooks.figures,
            "Count the messages of the last day to each endpoint of an app",
            list[WebhookFiguresModel],
        ),
        post_endpoint(
            f"{APP}/webhooks",
            webhooks.add,
            "Add a webhook endpoint and show its secret, this once",
            NewWebhookModel,
            WebhookBody,
            refuses=(*COUNT_LIMIT, *refusals),
            shows_secret=True,
        ),
        post_endpoint(
            f"{WEBHOOK}/rotate",
            webhooks.rotate,
            "Give an endpoint a new secret; the old one signs beside it for a day",
            WebhookSecretModel,
            shows_secret=True,
        ),
        post_endpoint(
            f"{WEBHOOK}/enable",
            webhooks.enable,
            "Send to an endpoint again, from now on",
            WebhookSwitchedModel,
            refuses=refusals,
        ),
        post_endpoint(
            f"{WEBHOOK}/remove",
            webhooks.remove,
            "Remove an endpoint: nothing is sent there or kept for it any more",
            WebhookRemovedModel,
            refuses=refusals,
        ),
        post_endpoint(
            f"{WEBHOOK}/events",
            webhooks.choose_events,
            "Change which events are sent to an endpoint, from now on",
            WebhookModel,
            WebhookEventsBody,
        ),
        post_endpoint(
            f"{WEBHOOK}/disable",
            webhooks.disable,
            "Send nothing more to an endpoint",
            WebhookSwitchedModel,
        ),
        post_endpoint(
            f"{WEBHOOK}/test",
            webhooks.test,
            "Send a webhook about a swap that does not exist",
            WebhookTestedModel,
        ),
        post_endpoint(
            f"{WEBHOOK}/replay",
            webhooks.replay,
            "Send everything since a moment again",
            WebhookReplayedModel,
            ReplayBody,
        ),
        post_endpoint(
            f"{WEBHOOK}/messages/{{messageId}}/replay",
            webhooks.replay_message,
            "Send one message again: the same id, the same bytes",
            WebhookResentModel,
        ),
        get_endpoint(
            f"{WEBHOOK}/messages",
            webhooks.messages,
            "List an endpoint's messages with every attempt: what waits, then what ended last",
            list[WebhookMessageModel],
            is_paged=True,
            query=MessagesParameters,
        ),
        get_endpoint(
            f"{WEBHOOK}/messages/{{messageId}}",
            webhooks.message,
            "Read a message with its body and its latest attempts: what was sent and answered",
            WebhookMessageDetailModel,
        ),
    ]
