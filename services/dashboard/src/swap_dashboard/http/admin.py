"""What operators may do, below `/admin` of the internal port."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, SecretStr, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_dashboard.domain.accounts import AccountRefused, to_email
from swap_dashboard.domain.refusals import RefusedRequest
from swap_dashboard.ports import ApiUnavailable, EmailTaken
from swap_dashboard.usecases.accept_invitation import AcceptInvitation
from swap_dashboard.usecases.make_sign_in_link import MakeSignInLink
from swap_dashboard.usecases.manage_second_factor import RemoveSecondFactor
from swap_runtime.errors import RequestRefused
from swap_runtime.operators.admin_routes import OperatorOrder
from swap_runtime.process.service import Service

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


class FactorRemoval(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    email: str
    reason: str = Field(min_length=1, max_length=2000)
    # The enrolment that is removed: a later one stays.
    begun_at: AwareDatetime | None = None


class AccountRoutes:
    """Accounts without a browser, and links for who lost a password."""

    def __init__(
        self,
        *,
        accept_invitation: AcceptInvitation,
        make_sign_in_link: MakeSignInLink,
        remove_second_factor: RemoveSecondFactor,
        address_of: Callable[[Request], str],
    ) -> None:
        """
        :param address_of: the client of a request, by which the api counts it.
        """
        self._accept_invitation = accept_invitation
        self._make_sign_in_link = make_sign_in_link
        self._remove_second_factor = remove_second_factor
        self._address_of = address_of

    def add_to(self, service: Service) -> None:
        service.admin("POST", "/accounts", self.add)
        service.admin("POST", "/memberships", self.add_membership)
        service.admin("POST", "/sign-in-links", self.link)
        service.order(
            "/second-factors/remove",
            self.remove_second_factor,
            needs_second=_needs_second,
            add_facts=self.add_enrolment,
        )

    async def add(self, request: Request) -> Response:
        body = await _read(NewAccount, request)
        try:
            account = await self._accept_invitation.with_new_account(
                body.invitation.get_secret_value(),
                body.email,
                body.password.get_secret_value(),
                address=self._address_of(request),
            )
        except EmailTaken:
            return _refusal("there is an account of this email", 409)
        except RefusedRequest as error:
            return _refusal(error.message, 422)
        except ApiUnavailable as error:
            return _refusal(str(error), 503)
        return JSONResponse({"id": str(account.id), "email": account.email})

    async def add_membership(self, request: Request) -> Response:
        body = await _read(NewMember, request)
        try:
            membership_id = await self._accept_invitation.for_email(
                body.invitation.get_secret_value(),
                body.email,
                address=self._address_of(request),
            )
        except RefusedRequest as error:
            return _refusal(error.message, 422)
        except ApiUnavailable as error:
            return _refusal(str(error), 503)
        if membership_id is None:
            return _refusal("there is no account of this email", 404)
        return JSONResponse({"id": str(membership_id)})

    async def link(self, request: Request) -> Response:
        body = await _read(LinkFor, request)
        try:
            link = await self._make_sign_in_link(body.email)
        except AccountRefused as error:
            return _refusal(error.message, 422)
        if link is None:
            return _refusal("there is no account of this email", 404)
        return JSONResponse({"link": link})

    async def remove_second_factor(self, order: OperatorOrder) -> Response:
        """Remove the second factor that the order names by its beginning."""
        try:
            form, email = _read_removal(order)
        except HTTPException as error:
            return _refusal(error.detail, error.status_code)
        if form.begun_at is None or not await self._remove_second_factor(email, form.begun_at):
            raise RequestRefused("the second factor of this email changed since: order it again")
        return JSONResponse({"removed": True})

    async def add_enrolment(self, order: OperatorOrder) -> OperatorOrder:
        """Bind the order to the second factor of now, unless it names one.

        :raises RequestRefused: when the account has none.
        """
        form, email = _read_removal(order)
        begun_at = form.begun_at or await self._remove_second_factor.begun_at(email)
        if begun_at is None:
            raise RequestRefused("no account of this email has a second factor")
        return order.bound_to(form, begun_at=begun_at)


async def _needs_second(order: OperatorOrder) -> str | None:
    try:
        _read_removal(order)
    except HTTPException:
        return None  # it is refused at once
    return "it ends the protection of a member's account"


def _read_removal(order: OperatorOrder) -> tuple[FactorRemoval, str]:
    """Return the form and its email.

    :raises HTTPException: when it is another form or no email.
    """
    form = _read_body(FactorRemoval, order.body)
    try:
        return form, to_email(form.email)
    except AccountRefused as error:
        raise HTTPException(422, error.message) from None


async def _read(model: type[Body], request: Request) -> Body:
    return _read_body(model, await request.body())


def _read_body(model: type[Body], body: bytes) -> Body:
    """
    :raises HTTPException: when it is another form.
    """
    try:
        return model.model_validate(orjson.loads(body))
    except (orjson.JSONDecodeError, ValidationError) as error:
        raise HTTPException(422, _reason(error)) from None


def _reason(error: Exception) -> str:
    """Name the fields at fault, and nothing of what they held."""
    if not isinstance(error, ValidationError):
        return "the body must be JSON"
    fields: list[Any] = [one["loc"] for one in error.errors(include_input=False)]
    return f"at fault: {fields}"


def _refusal(reason: str, status: int) -> Response:
    return JSONResponse({"error": reason}, status_code=status)
