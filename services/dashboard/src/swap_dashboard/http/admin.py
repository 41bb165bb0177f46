"""What operators may do, below `/admin` of the internal port."""

from __future__ import annotations

from typing import Any, TypeVar

import orjson
from aiohttp import web
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from swap_dashboard.domain.accounts import AccountRefused
from swap_dashboard.ports import ApiAway, ApiRefused, EmailTaken
from swap_dashboard.usecases.accept_invitation import AcceptInvitation
from swap_dashboard.usecases.make_sign_in_link import MakeSignInLink
from swap_runtime.service import Service

Body = TypeVar("Body", bound=BaseModel)


class NewAccount(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    invitation: SecretStr
    email: str
    password: SecretStr


class NewMember(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    invitation: SecretStr
    email: str


class LinkFor(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    email: str


class AccountRoutes:
    """Accounts without a browser, and links for who lost a password."""

    def __init__(
        self, *, accept_invitation: AcceptInvitation, make_sign_in_link: MakeSignInLink
    ) -> None:
        self._accept_invitation = accept_invitation
        self._make_sign_in_link = make_sign_in_link

    def add_to(self, service: Service) -> None:
        service.admin("POST", "/accounts", self.add)
        service.admin("POST", "/memberships", self.add_membership)
        service.admin("POST", "/sign-in-links", self.link)

    async def add(self, request: web.Request) -> web.Response:
        body = await _read(NewAccount, request)
        try:
            account = await self._accept_invitation.with_new_account(
                body.invitation.get_secret_value(), body.email, body.password.get_secret_value()
            )
        except EmailTaken:
            return _refusal("there is an account of this email", 409)
        except (AccountRefused, ApiRefused) as error:
            return _refusal(str(error), 422)
        except ApiAway as error:
            return _refusal(str(error), 503)
        return web.json_response({"id": str(account.id), "email": account.email})

    async def add_membership(self, request: web.Request) -> web.Response:
        body = await _read(NewMember, request)
        try:
            membership_id = await self._accept_invitation.for_email(
                body.invitation.get_secret_value(), body.email
            )
        except (AccountRefused, ApiRefused) as error:
            return _refusal(str(error), 422)
        except ApiAway as error:
            return _refusal(str(error), 503)
        if membership_id is None:
            return _refusal("there is no account of this email", 404)
        return web.json_response({"id": str(membership_id)})

    async def link(self, request: web.Request) -> web.Response:
        body = await _read(LinkFor, request)
        try:
            link = await self._make_sign_in_link(body.email)
        except AccountRefused as error:
            return _refusal(str(error), 422)
        if link is None:
            return _refusal("there is no account of this email", 404)
        return web.json_response({"link": link})


async def _read(model: type[Body], request: web.Request) -> Body:
    try:
        return model.model_validate(orjson.loads(await request.read()))
    except (orjson.JSONDecodeError, ValidationError) as error:
        raise web.HTTPUnprocessableEntity(text=_reason(error)) from None


def _reason(error: Exception) -> str:
    """Name the fields at fault, and nothing of what they held."""
    if not isinstance(error, ValidationError):
        return orjson.dumps({"error": "the body must be JSON"}).decode()
    fields: list[Any] = [one["loc"] for one in error.errors(include_input=False)]
    return orjson.dumps({"error": f"at fault: {fields}"}).decode()


def _refusal(reason: str, status: int) -> web.Response:
    return web.json_response({"error": reason}, status=status)
