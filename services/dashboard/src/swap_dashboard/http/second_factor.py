"""The second factor of who is signed in: switched on, confirmed, and off again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.http.forms import Forms
from swap_dashboard.http.layout import Layout
from swap_dashboard.http.pay_view import qr_code
from swap_dashboard.http.visitors import OrganizationNeeded, Visitor, Visitors
from swap_dashboard.usecases.manage_second_factor import (
    EnrolmentEnded,
    ManageSecondFactor,
    NewSecret,
)
from swap_dashboard.usecases.sign_in import SignInBlocked, SignInRefused

WRONG: Final = "The password or the code is wrong, or the code was used already."
WRONG_CODE: Final = "The code is wrong. Is the time of your device right?"
ENDED: Final = "No key of this session waits for a code: ten minutes passed, or another began."
ON: Final = "The second factor is on. Other sessions ended."
OFF: Final = "The second factor is off."
NEW_CODES: Final = "These are new recovery codes. The earlier ones do not work any more."


class SecondFactorPages:
    def __init__(
        self,
        layout: Layout,
        visitors: Visitors,
        forms: Forms,
        *,
        manage_second_factor: ManageSecondFactor,
    ) -> None:
        self._layout = layout
        self._visitors = visitors
        self._forms = forms
        self._manage = manage_second_factor

    def routes(self) -> Sequence[BaseRoute]:
        where = "/account/second-factor"
        return [
            Route(where, self.show),
            Route(f"{where}/begin", self.begin, methods=["POST"]),
            Route(f"{where}/confirm", self.confirm, methods=["POST"]),
            Route(f"{where}/codes", self.replace_codes, methods=["POST"]),
            Route(f"{where}/remove", self.remove, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        return await self._page(await self._visitors.require(request))

    async def begin(self, request: Request) -> Response:
        visitor, fields = await self._form(request)
        try:
            made = await self._manage.begin(visitor.session, fields.get("password", ""))
        except SignInRefused:
            return await self._page(visitor, problem=WRONG)
        except SignInBlocked as blocked:
            return await self._page(visitor, problem=str(blocked))
        return await self._page(visitor, made=made)

    async def confirm(self, request: Request) -> Response:
        visitor, fields = await self._form(request)
        try:
            codes = await self._manage.confirm(visitor.session, fields.get("code", ""))
        except EnrolmentEnded:
            return await self._page(visitor, problem=ENDED)
        except (SignInRefused, SignInBlocked) as error:
            return await self._page(visitor, problem=str(error) or WRONG_CODE, asks_again=True)
        return await self._page(visitor, done=ON, codes=codes)

    async def replace_codes(self, request: Request) -> Response:
        visitor, fields = await self._form(request)
        password, code = fields.get("password", ""), fields.get("code", "")
        try:
            codes = await self._manage.replace_codes(visitor.session, password, code)
        except (SignInRefused, SignInBlocked) as error:
            return await self._page(visitor, problem=str(error) or WRONG)
        return await self._page(visitor, done=NEW_CODES, codes=codes)

    async def remove(self, request: Request) -> Response:
        visitor, fields = await self._form(request)
        password, code = fields.get("password", ""), fields.get("code", "")
        try:
            await self._manage.remove(visitor.session, password, code)
        except (SignInRefused, SignInBlocked) as error:
            return await self._page(visitor, problem=str(error) or WRONG)
        return await self._page(visitor, done=OFF)

    async def _form(self, request: Request) -> tuple[Visitor, Mapping[str, str]]:
        visitor = await self._visitors.require(request)
        return visitor, await self._forms.read(request, visitor.token)

    async def _page(
        self,
        visitor: Visitor,
        *,
        problem: str | None = None,
        done: str | None = None,
        made: NewSecret | None = None,
        asks_again: bool = False,
        codes: Sequence[str] = (),
    ) -> Response:
        """
        :param asks_again: for the first code, without showing the secret again.
        """
        values: dict[str, Any] = {
            "problem": problem,
            "done": done,
            "made": made,
            "asks_again": asks_again,
            "qr": qr_code(made.uri) if made else None,
            "codes": codes,
            "needs_password": await self._manage.needs_password(visitor.session.account_id),
            "codes_left": await self._manage.state(visitor.session.account_id),
        }
        title, page = "Second factor", "second_factor.html"
        try:
            member = await self._visitors.member_of(visitor)
        except OrganizationNeeded:
            return self._layout.of_visitor(page, values, visitor=visitor, title=title)
        return self._layout.of_member(page, values, member=member, title=title, section="account")
