"""The addresses of the management API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from swap_api.domain.keys import Scope
from swap_api.domain.rate_limits import Kind
from swap_api.http.endpoints import Endpoint, Handler
from swap_api.http.management import ManagementEndpoints
from swap_api.http.management_parameters import (
    AcceptBody,
    AppBody,
    ExpiryBody,
    FeeBody,
    InvitationBody,
    KeyBody,
    LimitsBody,
    MessagesParameters,
    OrganizationBody,
    ReplayBody,
    RoleBody,
    RotationBody,
    SettingsBody,
    TokenBody,
    WebhookBody,
)
from swap_api.http.members import MemberEndpoints
from swap_api.http.parameters import PageParameters, Parameters
from swap_api.http.webhooks import WebhookEndpoints
from swap_contracts.public.errors import ErrorCode
from swap_contracts.public.management import (
    AccessTokenModel,
    AppModel,
    AuditEntryModel,
    InvitationModel,
    JoinedModel,
    KeyModel,
    MemberModel,
    MeModel,
    NewAccessTokenModel,
    NewInvitationModel,
    NewKeyModel,
    NewWebhookModel,
    OrganizationModel,
    WebhookMessageModel,
    WebhookModel,
    WebhookReplayedModel,
    WebhookResentModel,
    WebhookSecretModel,
    WebhookSwitchedModel,
    WebhookTestedModel,
)

BASE: Final = "/management/v1"
ORGANIZATION: Final = f"{BASE}/organizations/{{organizationId}}"
APP: Final = f"{BASE}/apps/{{appId}}"
KEY: Final = f"{BASE}/keys/{{keyId}}"
MEMBER: Final = f"{BASE}/members/{{memberId}}"
WEBHOOK: Final = f"{BASE}/webhooks/{{webhookId}}"
FULL: Final = (ErrorCode.LIMIT_REACHED,)
PAGED: Final = {
    "X-Total-Count": "How many there are, counted up to 10,000",
    "Link": "The pages around this one (RFC 8288)",
}


def management(
    *, managed: ManagementEndpoints, members: MemberEndpoints, webhooks: WebhookEndpoints
) -> list[Endpoint]:
    """Return every address that manages something, those of operators included."""
    return [
        *_organizations(managed),
        *_apps(managed),
        *_keys(managed),
        *_members(members),
        *_tokens(members),
        *_webhooks(webhooks),
    ]


def _get(
    path: str,
    handler: Handler,
    summary: str,
    answers: Any,
    *,
    is_paged: bool = False,
    query: type[Parameters] | None = None,
    scope: Scope = Scope.MEMBER,
    refuses: Sequence[ErrorCode] = (),
) -> Endpoint:
    return Endpoint(
        "GET",
        path,
        handler,
        summary,
        answers,
        scope=scope,
        query=PageParameters if is_paged else query,
        refuses=_found(path, refuses),
        headers=PAGED if is_paged else {},
    )


def _post(
    path: str,
    handler: Handler,
    summary: str,
    answers: Any,
    body: type[Parameters] | None = None,
    *,
    scope: Scope = Scope.MEMBER,
    refuses: Sequence[ErrorCode] = (),
) -> Endpoint:
    asked = () if body is None else (ErrorCode.PAYLOAD_TOO_LARGE, ErrorCode.UNSUPPORTED_MEDIA_TYPE)
    permitted = (ErrorCode.ROLE_TOO_LOW,) if scope is Scope.MEMBER else ()
    return Endpoint(
        "POST",
        path,
        handler,
        summary,
        answers,
        kind=Kind.CREATE,
        scope=scope,
        body=body,
        refuses=_found(path, (*permitted, *refuses, *asked)),
    )


def _found(path: str, refuses: Sequence[ErrorCode]) -> Sequence[ErrorCode]:
    return (ErrorCode.NOT_FOUND, *refuses) if "{" in path else refuses


def _organizations(managed: ManagementEndpoints) -> list[Endpoint]:
    return [
        _get(
            f"{BASE}/organizations",
            managed.organizations,
            "List the organizations that the caller sees: the own one",
            list[OrganizationModel],
            is_paged=True,
        ),
        _post(
            f"{BASE}/organizations",
            managed.add_organization,
            "Add an organization",
            OrganizationModel,
            OrganizationBody,
            scope=Scope.OPERATOR,
        ),
        _get(ORGANIZATION, managed.organization, "Read an organization", OrganizationModel),
        _post(
            ORGANIZATION,
            managed.rename_organization,
            "Rename an organization",
            OrganizationModel,
            OrganizationBody,
        ),
        _get(
            f"{ORGANIZATION}/changes",
            managed.changes,
            "List what was changed, by whom and when, newest first",
            list[AuditEntryModel],
            is_paged=True,
            refuses=(ErrorCode.ROLE_TOO_LOW,),
        ),
    ]


def _apps(managed: ManagementEndpoints) -> list[Endpoint]:
    return [
        _get(
            f"{ORGANIZATION}/apps",
            managed.apps,
            "List an organization's apps",
            list[AppModel],
            is_paged=True,
        ),
        _post(
            f"{ORGANIZATION}/apps", managed.add_app, "Add an app", AppModel, AppBody, refuses=FULL
        ),
        _get(APP, managed.app, "Read an app", AppModel),
        _post(APP, managed.change_app, "Set an app's settings", AppModel, SettingsBody),
        _post(
            f"{APP}/limits",
            managed.set_limits,
            "Set what an app may",
            AppModel,
            LimitsBody,
            scope=Scope.OPERATOR,
        ),
        _post(
            f"{APP}/fee",
            managed.set_fee,
            "Set what an app takes of its swaps",
            AppModel,
            FeeBody,
            scope=Scope.OPERATOR,
        ),
    ]


def _keys(managed: ManagementEndpoints) -> list[Endpoint]:
    closed = (ErrorCode.KEY_CLOSED,)
    return [
        _get(
            f"{APP}/keys",
            managed.keys,
            "List an app's API keys, newest first",
            list[KeyModel],
            is_paged=True,
        ),
        _post(
            f"{APP}/keys",
            managed.add_key,
            "Make an API key and show it, this once",
            NewKeyModel,
            KeyBody,
            refuses=FULL,
        ),
        _post(
            f"{KEY}/rotate",
            managed.rotate_key,
            "Replace an API key; the old one goes on for a while",
            NewKeyModel,
            RotationBody,
            refuses=(*closed, *FULL),
        ),
        _post(
            f"{KEY}/expire",
            managed.expire_key,
            "Let an API key end at a moment",
            KeyModel,
            ExpiryBody,
            refuses=closed,
        ),
        _post(f"{KEY}/revoke", managed.revoke_key, "Close an API key at once", KeyModel),
    ]


def _members(members: MemberEndpoints) -> list[Endpoint]:
    return [
        _get(
            f"{ORGANIZATION}/members",
            members.members,
            "List an organization's members",
            list[MemberModel],
            is_paged=True,
        ),
        _post(
            f"{MEMBER}/role",
            members.change_role,
            "Give a member another role",
            MemberModel,
            RoleBody,
            refuses=(ErrorCode.LAST_OWNER,),
        ),
        _post(
            f"{MEMBER}/remove",
            members.remove,
            "Let a member go, with every access token",
            MemberModel,
            refuses=(ErrorCode.LAST_OWNER,),
        ),
        _get(
            f"{ORGANIZATION}/invitations",
            members.invitations,
            "List invitations that nobody took yet",
            list[InvitationModel],
            is_paged=True,
            refuses=(ErrorCode.ROLE_TOO_LOW,),
        ),
        _post(
            f"{ORGANIZATION}/invitations",
            members.invite,
            "Invite somebody and show the invitation's token, this once",
            NewInvitationModel,
            InvitationBody,
            refuses=FULL,
        ),
        _post(
            f"{BASE}/invitations/{{invitationId}}/revoke",
            members.revoke_invitation,
            "Take an invitation back",
            InvitationModel,
        ),
        _post(
            f"{BASE}/invitations/accept",
            members.accept,
            "Take an invitation: become a member, with a first access token",
            JoinedModel,
            AcceptBody,
            scope=Scope.NOBODY,
            refuses=(ErrorCode.INVITATION_INVALID,),
        ),
    ]


def _tokens(members: MemberEndpoints) -> list[Endpoint]:
    return [
        _get(f"{BASE}/me", members.me, "Read who the caller is", MeModel, scope=Scope.PERSON),
        _get(
            f"{BASE}/me/tokens",
            members.tokens,
            "List the caller's access tokens",
            list[AccessTokenModel],
            is_paged=True,
            scope=Scope.PERSON,
        ),
        _post(
            f"{BASE}/me/tokens",
            members.add_token,
            "Make an access token and show it, this once",
            NewAccessTokenModel,
            TokenBody,
            scope=Scope.PERSON,
            refuses=FULL,
        ),
        _post(
            f"{BASE}/me/tokens/{{tokenId}}/revoke",
            members.revoke_token,
            "Close an access token at once",
            AccessTokenModel,
            scope=Scope.PERSON,
        ),
    ]


def _webhooks(webhooks: WebhookEndpoints) -> list[Endpoint]:
    away = (ErrorCode.SERVICE_UNAVAILABLE,)
    return [
        _get(
            f"{APP}/webhooks",
            webhooks.webhooks,
            "List an app's webhook endpoints",
            list[WebhookModel],
            refuses=away,
        ),
        _post(
            f"{APP}/webhooks",
            webhooks.add,
            "Add a webhook endpoint and show its secret, this once",
            NewWebhookModel,
            WebhookBody,
            refuses=(*away, *FULL),
        ),
        _post(
            f"{WEBHOOK}/rotate",
            webhooks.rotate,
            "Give an endpoint a new secret; the old one signs beside it for a day",
            WebhookSecretModel,
            refuses=away,
        ),
        _post(
            f"{WEBHOOK}/enable",
            webhooks.enable,
            "Send to an endpoint again, from now on",
            WebhookSwitchedModel,
            refuses=(*away, ErrorCode.DISABLED_BY_OPERATOR),
        ),
        _post(
            f"{WEBHOOK}/disable",
            webhooks.disable,
            "Send nothing more to an endpoint",
            WebhookSwitchedModel,
            refuses=away,
        ),
        _post(
            f"{WEBHOOK}/test",
            webhooks.test,
            "Send a webhook about a swap that does not exist",
            WebhookTestedModel,
            refuses=away,
        ),
        _post(
            f"{WEBHOOK}/replay",
            webhooks.replay,
            "Send everything since a moment again",
            WebhookReplayedModel,
            ReplayBody,
            refuses=away,
        ),
        _post(
            f"{WEBHOOK}/messages/{{messageId}}/replay",
            webhooks.replay_message,
            "Send one message again: the same id, the same bytes",
            WebhookResentModel,
            refuses=away,
        ),
        _get(
            f"{WEBHOOK}/messages",
            webhooks.messages,
            "List the latest hundred messages of an endpoint, with every attempt",
            list[WebhookMessageModel],
            query=MessagesParameters,
            refuses=away,
        ),
    ]
