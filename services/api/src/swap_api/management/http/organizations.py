"""Management of organizations, apps and API keys over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

import orjson
from starlette.responses import Response

from swap_api.http.endpoints import Context
from swap_api.http.paging import paged
from swap_api.http.parameters import Model, PageParameters, id_of, parse_body, parse_query
from swap_api.http.requests import Request
from swap_api.http.responses import NO_STORE, enveloped
from swap_api.management.decide.listing import Part, Window
from swap_api.management.http.parameters import (
    AppBody,
    AppNameBody,
    ChangesParameters,
    ExpiryBody,
    FeeBody,
    FrameOriginsBody,
    KeyBody,
    KeyOriginsBody,
    KeysParameters,
    LimitsBody,
    OrganizationBody,
    RotationBody,
    SettingsBody,
)
from swap_api.management.usecases.manage_keys import IssuedKey, ManageKeys
from swap_api.management.usecases.manage_partners import ManagePartners
from swap_api.model.members import Actor

PLACES: Final = ("page", "starting_after")


class ManagementEndpoints:
    def __init__(self, manage_partners: ManagePartners, manage_keys: ManageKeys) -> None:
        self._partners = manage_partners
        self._keys = manage_keys

    async def organizations(self, request: Request, context: Context) -> Response:
        actor = actor_of(context)
        return listed(
            request, await self._partners.list_organizations(window_of(request), actor=actor)
        )

    async def organization(self, request: Request, context: Context) -> Response:
        organization_id = id_of(request, "organizationId")
        actor = actor_of(context)
        return json_response(await self._partners.find_organization(organization_id, actor=actor))

    async def add_organization(self, request: Request, context: Context) -> Response:
        body = await read(OrganizationBody, request)
        return json_response(
            await self._partners.add_organization(body.name, actor=actor_of(context))
        )

    async def rename_organization(self, request: Request, context: Context) -> Response:
        organization_id = id_of(request, "organizationId")
        body = await read(OrganizationBody, request)
        actor = actor_of(context)
        return json_response(
            await self._partners.rename_organization(organization_id, body.name, actor=actor)
        )

    async def changes(self, request: Request, context: Context) -> Response:
        organization_id = id_of(request, "organizationId")
        parameters = parse_query(ChangesParameters, request.query)
        window = window_after(parameters, parameters.starting_after)
        part = await self._partners.list_changes(organization_id, window, actor=actor_of(context))
        return listed_after(request, part, window)

    async def apps(self, request: Request, context: Context) -> Response:
        organization_id = id_of(request, "organizationId")
        part = await self._partners.list_apps(
            organization_id, window_of(request), actor=actor_of(context)
        )
        return listed(request, part)

    async def app(self, request: Request, context: Context) -> Response:
        return json_response(
            await self._partners.find_app(id_of(request, "appId"), actor=actor_of(context))
        )

    async def add_app(self, request: Request, context: Context) -> Response:
        organization_id = id_of(request, "organizationId")
        body = await read(AppBody, request)
        row = await self._partners.add_app(
            organization_id,
            name=body.name,
            environment=body.environment,
            allowances=LimitsBody().allowances(swap_lifetime=body.swap_lifetime),
            actor=actor_of(context),
        )
        return json_response(row)

    async def change_app(self, request: Request, context: Context) -> Response:
        app_id = id_of(request, "appId")
        body = await read(SettingsBody, request)
        row = await self._partners.change_settings(
            app_id, name=body.name, swap_lifetime=body.swap_lifetime, actor=actor_of(context)
        )
        return json_response(row)

    async def rename_app(self, request: Request, context: Context) -> Response:
        app_id = id_of(request, "appId")
        body = await read(AppNameBody, request)
        row = await self._partners.rename_app(app_id, body.name, actor=actor_of(context))
        return json_response(row)

    async def set_limits(self, request: Request, context: Context) -> Response:
        app_id = id_of(request, "appId")
        body = await read(LimitsBody, request)
        return json_response(
            await self._partners.set_limits(app_id, body.allowances(), actor=actor_of(context))
        )

    async def set_fee(self, request: Request, context: Context) -> Response:
        app_id = id_of(request, "appId")
        body = await read(FeeBody, request)
        actor = actor_of(context)
        return json_response(
            await self._partners.set_fee(app_id, body.fee_basis_points, actor=actor)
        )

    async def set_frame_origins(self, request: Request, context: Context) -> Response:
        app_id = id_of(request, "appId")
        body = await read(FrameOriginsBody, request)
        actor = actor_of(context)
        return json_response(
            await self._partners.set_frame_origins(app_id, body.origins, actor=actor)
        )

    async def keys(self, request: Request, context: Context) -> Response:
        app_id = id_of(request, "appId")
        parameters = parse_query(KeysParameters, request.query)
        window = window_after(parameters, parameters.starting_after)
        part = await self._keys.list_all(app_id, window, actor=actor_of(context))
        return listed_after(request, part, window)

    async def add_key(self, request: Request, context: Context) -> Response:
        app_id = id_of(request, "appId")
        body = await read(KeyBody, request)
        issued = await self._keys.issue(
            app_id,
            body.kind,
            label=body.label,
            expires_at=body.expires_at,
            allowed_origins=body.allowed_origins,
            actor=actor_of(context),
        )
        return _issued(issued)

    async def rotate_key(self, request: Request, context: Context) -> Response:
        key_id = id_of(request, "keyId")
        body = await read(RotationBody, request)
        return _issued(
            await self._keys.rotate(key_id, overlap=body.overlap, actor=actor_of(context))
        )

    async def expire_key(self, request: Request, context: Context) -> Response:
        key_id = id_of(request, "keyId")
        body = await read(ExpiryBody, request)
        return json_response(
            await self._keys.expire(key_id, body.expires_at, actor=actor_of(context))
        )

    async def set_allowed_origins(self, request: Request, context: Context) -> Response:
        key_id = id_of(request, "keyId")
        body = await read(KeyOriginsBody, request)
        return json_response(
            await self._keys.set_allowed_origins(key_id, body.origins, actor=actor_of(context))
        )

    async def revoke_key(self, request: Request, context: Context) -> Response:
        return json_response(
            await self._keys.revoke(id_of(request, "keyId"), actor=actor_of(context))
        )


def actor_of(context: Context) -> Actor:
    """Return the actor; only endpoints of members and operators have one."""
    assert context.actor is not None
    return context.actor


async def read(model: type[Model], request: Request) -> Model:
    """
    :raises ApiRefusal: when the body does not fit the model.
    """
    return parse_body(model, await request.json_object())[0]


def json_response(content: Mapping[str, Any] | list[Any], *, is_secret: bool = False) -> Response:
    # A secret is shown once: nothing on the way may store it.
    return enveloped(orjson.dumps(content), NO_STORE if is_secret else {})


def listed(request: Request, part: Part) -> Response:
    parameters = parse_query(PageParameters, request.query)
    return paged(
        request,
        orjson.dumps(list(part.rows)),
        page=parameters.page,
        total=part.total,
        has_more=part.has_more,
    )


def window_of(request: Request) -> Window:
    """
    :raises Invalid: when it is no part of a list.
    """
    return window_after(parse_query(PageParameters, request.query))


def window_after(
    parameters: PageParameters, starting_after: UUID | int | str | None = None
) -> Window:
    """Return the part of a list after a row; the page that is named, without one."""
    offset = (parameters.page - 1) * parameters.page_size
    return Window(parameters.page_size, offset, starting_after)


def listed_from_place(request: Request, part: Part) -> Response:
    """Answer a part of a list; the link to the next one names a place, unless pages are named."""
    is_by_number = part.has_more and part.next is None  # of a notifier of an earlier version
    if is_by_number or "page" in dict(request.query):
        return listed(request, part)
    return _linked(request, part, part.next)


def listed_after(request: Request, part: Part, window: Window) -> Response:
    """Answer a part of a list; one after a row links to the part after its own last row."""
    if window.starting_after is None:
        return listed(request, part)
    return _linked(request, part, str(part.rows[-1]["id"]) if part.has_more else None)


def _linked(request: Request, part: Part, place: str | None) -> Response:
    headers = {"x-total-count": str(part.total)}
    if place is not None:
        query = [(name, value) for name, value in request.query if name not in PLACES]
        behind = urlencode([*query, ("starting_after", place)])
        headers["link"] = f'<{request.path}?{behind}>; rel="next"'
    return enveloped(orjson.dumps(list(part.rows)), headers)


def _issued(issued: IssuedKey) -> Response:
    return json_response({**issued.row, "key": issued.key}, is_secret=True)
