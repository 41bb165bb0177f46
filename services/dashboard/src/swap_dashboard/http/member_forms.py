"""Forms that members send: who sends one, and its fields."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request

from swap_dashboard.http.forms import Forms
from swap_dashboard.http.visitors import Member, Visitors


class MemberForms:
    def __init__(self, visitors: Visitors, forms: Forms) -> None:
        self._visitors = visitors
        self._forms = forms

    async def read(self, request: Request) -> tuple[Member, Mapping[str, str]]:
        """Return who sends a form, and its fields.

        :raises SignInNeeded: without a session.
        :raises FormRefused: when it was not made for this session.
        """
        visitor = await self._visitors.require(request)
        fields = await self._forms.read(request, visitor.token)
        return await self._visitors.member_of(visitor), fields
