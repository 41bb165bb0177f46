"""The endpoints of the management API."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, TypedDict

from swap_api.admission.decide.rate_limits import Kind
from swap_api.http.endpoints import MANAGEMENT, Endpoint
from swap_api.management.decide.listing import Row
from swap_api.management.http.addresses import (
    APP,
    COUNT_LIMIT,
    KEY,
    MEMBER,
    ORGANIZATION,
    get_endpoint,
)
from swap_api.management.http.app_fees import AppFeeEndpoints
from swap_api.management.http.calls import (
    change_endpoint,
    list_endpoint,
    order_endpoint,
    read_endpoint,
)
from swap_api.management.http.figures import FigureEndpoints
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
    OrganizationBody,
    RequestsParameters,
    RoleBody,
    RotationBody,
    SettingsBody,
    TokenBody,
)
from swap_api.management.http.request_log import RequestLogEndpoints
from swap_api.management.http.webhooks import WebhookEndpoints, webhook_endpoints
from swap_api.management.usecases.manage_keys import IssuedKey, ManageKeys
from swap_api.management.usecases.manage_members import IssuedToken, ManageMembers
from swap_api.management.usecases.manage_partners import ManagePartners
from swap_api.management.usecases.manage_webhooks import ManageWebhooks
from swap_api.management.usecases.read_app_limits import ReadAppLimits
from swap_api.model.keys import Scope
from swap_contracts.public.app_fees import AppFeesModel, FeeEntryModel
from swap_contracts.public.errors import ErrorCode
from swap_contracts.public.figures import AppFiguresModel, DayFiguresModel
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
    OrganizationModel,
)

LOG_WEIGHT: Final = 5  # a filter may read many records of the app
LINKED: Final = {"Link": "The next page (RFC 8288)"}
LIMITS_WEIGHT: Final = 5  # unpaid deposit addresses are counted for each network
FIGURES_WEIGHT: Final = 20  # a week of an app's swaps is read


class ManagementHandlers(TypedDict):
    """What answers the addresses."""

    partners: ManagePartners
    keys: ManageKeys
    members: ManageMembers
    webhooks: ManageWebhooks
    webhook_endpoints: WebhookEndpoints
    figures: FigureEndpoints
    read_app_limits: ReadAppLimits
    app_fees: AppFeeEndpoints
    request_log: RequestLogEndpoints


def management(handlers: ManagementHandlers) -> list[Endpoint]:
    """Return every endpoint of the management API, including the operators'."""
    partners, members, app_fees = handlers["partners"], handlers["members"], handlers["app_fees"]
    return [
        *_organizations(partners),
        *_apps(partners, handlers["figures"]),
        *_keys(handlers["keys"]),
        read_endpoint(
            f"{APP}/limits",
            "applimit_limits",
            lambda call: handlers["read_app_limits"](call.id, actor=call.actor),
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
            handlers["request_log"].requests,
            "List recorded requests of an app's keys, newest first",
            list[ApiRequestModel],
            query=RequestsParameters,
            weight=LOG_WEIGHT,
            headers=LINKED,
        ),
        *_members(members),
        *_tokens(members),
        *webhook_endpoints(handlers["webhooks"], handlers["webhook_endpoints"]),
    ]


def _organizations(partners: ManagePartners) -> list[Endpoint]:
    return [
        list_endpoint(
            f"{MANAGEMENT}/organizations",
            "management_organizations",
            lambda call, window: partners.list_organizations(window, actor=call.actor),
            "List the organizations the caller may read",
            list[OrganizationModel],
        ),
        change_endpoint(
            f"{MANAGEMENT}/organizations",
            "management_add_organization",
            lambda call: partners.add_organization(call.body.name, actor=call.actor),
            "Add an organization",
            OrganizationModel,
            body=OrganizationBody,
            scope=Scope.OPERATOR,
            creates=True,
        ),
        read_endpoint(
            ORGANIZATION,
            "management_organization",
            lambda call: partners.find_organization(call.id, actor=call.actor),
            "Read an organization",
            OrganizationModel,
        ),
        change_endpoint(
            ORGANIZATION,
            "management_rename_organization",
            lambda call: partners.rename_organization(call.id, call.body.name, actor=call.actor),
            "Rename an organization",
            OrganizationModel,
            body=OrganizationBody,
        ),
        list_endpoint(
            f"{ORGANIZATION}/changes",
            "management_changes",
            lambda call, window: partners.list_changes(call.id, window, actor=call.actor),
            "List what was changed, by whom and when, newest first",
            list[AuditEntryModel],
            query=ChangesParameters,
            refuses=(ErrorCode.ROLE_TOO_LOW,),
        ),
    ]


def _apps(partners: ManagePartners, figures: FigureEndpoints) -> list[Endpoint]:
    return [
        list_endpoint(
            f"{ORGANIZATION}/apps",
            "management_apps",
            lambda call, window: partners.list_apps(call.id, window, actor=call.actor),
            "List an organization's apps",
            list[AppModel],
        ),
        change_endpoint(
            f"{ORGANIZATION}/apps",
            "management_add_app",
            lambda call: partners.add_app(
                call.id,
                name=call.body.name,
                environment=call.body.environment,
                allowances=LimitsBody().allowances(swap_lifetime=call.body.swap_lifetime),
                actor=call.actor,
            ),
            "Add an app",
            AppModel,
            body=AppBody,
            refuses=COUNT_LIMIT,
            creates=True,
        ),
        read_endpoint(
            APP,
            "management_app",
            lambda call: partners.find_app(call.id, actor=call.actor),
            "Read an app",
            AppModel,
        ),
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
        change_endpoint(
            APP,
            "management_change_app",
            lambda call: partners.change_settings(
                call.id,
                name=call.body.name,
                swap_lifetime=call.body.swap_lifetime,
                actor=call.actor,
            ),
            "Set an app's settings",
            AppModel,
            body=SettingsBody,
        ),
        change_endpoint(
            f"{APP}/name",
            "management_rename_app",
            lambda call: partners.rename_app(call.id, call.body.name, actor=call.actor),
            "Rename an app",
            AppModel,
            body=AppNameBody,
        ),
        change_endpoint(
            f"{APP}/frame_origins",
            "management_set_frame_origins",
            lambda call: partners.set_frame_origins(call.id, call.body.origins, actor=call.actor),
            "Set which sites may show an app's pay pages in a frame",
            AppModel,
            body=FrameOriginsBody,
        ),
        change_endpoint(
            f"{APP}/limits",
            "management_set_limits",
            lambda call: partners.set_limits(call.id, call.body.allowances(), actor=call.actor),
            "Set what an app may",
            AppModel,
            body=LimitsBody,
            scope=Scope.OPERATOR,
        ),
        change_endpoint(
            f"{APP}/fee",
            "management_set_fee",
            lambda call: partners.set_fee(call.id, call.body.fee_basis_points, actor=call.actor),
            "Set what an app takes of its swaps",
            AppModel,
            body=FeeBody,
            scope=Scope.OPERATOR,
        ),
    ]


def _keys(keys: ManageKeys) -> list[Endpoint]:
    closed = (ErrorCode.KEY_CLOSED,)
    return [
        list_endpoint(
            f"{APP}/keys",
            "management_keys",
            lambda call, window: keys.list_all(call.id, window, actor=call.actor),
            "List an app's API keys, newest first",
            list[KeyModel],
            query=KeysParameters,
        ),
        change_endpoint(
            f"{APP}/keys",
            "management_add_key",
            lambda call: _with_key(keys.issue(call.id, **call.body.model_dump(), actor=call.actor)),
            "Make an API key and show it, this once",
            NewKeyModel,
            body=KeyBody,
            refuses=COUNT_LIMIT,
            shows_secret=True,
        ),
        change_endpoint(
            f"{KEY}/rotate",
            "management_rotate_key",
            lambda call: _with_key(
                keys.rotate(call.id, overlap=call.body.overlap, actor=call.actor)
            ),
            "Replace an API key; the old one goes on for a while",
            NewKeyModel,
            body=RotationBody,
            refuses=(*closed, *COUNT_LIMIT),
            shows_secret=True,
        ),
        change_endpoint(
            f"{KEY}/expire",
            "management_expire_key",
            lambda call: keys.expire(call.id, call.body.expires_at, actor=call.actor),
            "Let an API key end at a moment",
            KeyModel,
            body=ExpiryBody,
            refuses=closed,
        ),
        change_endpoint(
            f"{KEY}/allowed_origins",
            "management_set_allowed_origins",
            lambda call: keys.set_allowed_origins(call.id, call.body.origins, actor=call.actor),
            "Set the origins of the web pages that may use a publishable key",
            KeyModel,
            body=KeyOriginsBody,
            refuses=closed,
        ),
        order_endpoint(
            f"{KEY}/revoke",
            "management_revoke_key",
            lambda call: keys.revoke(call.id, actor=call.actor),
            "Close an API key at once",
            KeyModel,
        ),
    ]


def _members(members: ManageMembers) -> list[Endpoint]:
    return [
        list_endpoint(
            f"{ORGANIZATION}/members",
            "member_members",
            lambda call, window: members.list_members(call.id, window, actor=call.actor),
            "List an organization's members",
            list[MemberModel],
        ),
        change_endpoint(
            f"{MEMBER}/role",
            "member_change_role",
            lambda call: members.change_role(call.id, call.body.role, actor=call.actor),
            "Give a member another role",
            MemberModel,
            body=RoleBody,
            refuses=(ErrorCode.LAST_OWNER,),
        ),
        order_endpoint(
            f"{MEMBER}/remove",
            "member_remove",
            lambda call: members.remove(call.id, actor=call.actor),
            "Let a member go, with every access token",
            MemberModel,
            refuses=(ErrorCode.LAST_OWNER,),
        ),
        list_endpoint(
            f"{ORGANIZATION}/invitations",
            "member_invitations",
            lambda call, window: members.list_invitations(call.id, window, actor=call.actor),
            "List invitations that can still be accepted",
            list[InvitationModel],
            refuses=(ErrorCode.ROLE_TOO_LOW,),
        ),
        change_endpoint(
            f"{ORGANIZATION}/invitations",
            "member_invite",
            lambda call: _with_token(
                members.invite(call.id, name=call.body.name, role=call.body.role, actor=call.actor)
            ),
            "Invite a member and show the invitation's token, this once",
            NewInvitationModel,
            body=InvitationBody,
            refuses=COUNT_LIMIT,
            shows_secret=True,
        ),
        order_endpoint(
            f"{MANAGEMENT}/invitations/{{invitationId}}/revoke",
            "member_revoke_invitation",
            lambda call: members.revoke_invitation(call.id, actor=call.actor),
            "Take an invitation back",
            InvitationModel,
        ),
        change_endpoint(
            f"{MANAGEMENT}/invitations/inspect",
            "member_inspect",
            lambda call: members.inspect(call.body.token),
            "Read what an invitation is for, without accepting it",
            InvitedModel,
            body=InspectBody,
            scope=Scope.NO_KEY,
            refuses=(ErrorCode.INVITATION_INVALID,),
            kind=Kind.READ,
        ),
        change_endpoint(
            f"{MANAGEMENT}/invitations/accept",
            "member_accept",
            lambda call: _with_token(
                members.accept(
                    call.body.token, label=call.body.label, request_id=call.context.request_id
                )
            ),
            "Take an invitation: become a member, with a first access token",
            JoinedModel,
            body=AcceptBody,
            scope=Scope.NO_KEY,
            refuses=(ErrorCode.INVITATION_INVALID,),
            shows_secret=True,
        ),
    ]


def _tokens(members: ManageMembers) -> list[Endpoint]:
    return [
        read_endpoint(
            f"{MANAGEMENT}/me",
            "member_me",
            lambda call: members.about(actor=call.actor),
            "Read who the caller is",
            MeModel,
            scope=Scope.SELF,
        ),
        list_endpoint(
            f"{MANAGEMENT}/me/tokens",
            "member_tokens",
            lambda call, window: members.list_tokens(window, actor=call.actor),
            "List the caller's access tokens",
            list[AccessTokenModel],
            scope=Scope.SELF,
        ),
        change_endpoint(
            f"{MANAGEMENT}/me/tokens",
            "member_add_token",
            lambda call: _with_token(
                members.issue_token(
                    label=call.body.label, expires_at=call.body.expires_at, actor=call.actor
                )
            ),
            "Make an access token and show it, this once",
            NewAccessTokenModel,
            body=TokenBody,
            scope=Scope.SELF,
            refuses=COUNT_LIMIT,
            shows_secret=True,
        ),
        order_endpoint(
            f"{MANAGEMENT}/me/tokens/{{tokenId}}/revoke",
            "member_revoke_token",
            lambda call: members.revoke_token(call.id, actor=call.actor),
            "Close an access token at once",
            AccessTokenModel,
            scope=Scope.SELF,
        ),
    ]


async def _with_key(issuing: Awaitable[IssuedKey]) -> Row:
    issued = await issuing
    return {**issued.row, "key": issued.key}


async def _with_token(issuing: Awaitable[IssuedToken]) -> Row:
    issued = await issuing
    return {**issued.row, "token": issued.token}
