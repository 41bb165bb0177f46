"""The caller: a browser that an operator signed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from starlette.requests import Request

from swap_dashboard.console.domain.memory import MemorySessions
from swap_dashboard.console.domain.sessions import OperatorSession
from swap_dashboard.console.ports import OperatorApi
from swap_dashboard.console.usecases.act_as_operator import ActAsOperator
from swap_dashboard.console.usecases.sign_in import hash_secret
from swap_dashboard.http.client_addresses import ClientAddresses
from swap_dashboard.http.cookies import Cookies, form_token
from swap_dashboard.http.forms import Forms
from swap_dashboard.ports import Clock


class SignInNeeded(Exception):
    """There is no session, or it ended."""


class MayNotOrder(Exception):
    """The role reads and orders nothing."""


@dataclass(frozen=True, slots=True)
class Visitor:
    session: OperatorSession
    secret: str  # of the cookie
    api: OperatorApi
    order_id: UUID | None = None  # of the form that an order came from

    @property
    def form_token(self) -> str:
        return form_token(self.secret)


class Visitors:
    def __init__(
        self,
        sessions: MemorySessions,
        act_as_operator: ActAsOperator,
        cookies: Cookies,
        forms: Forms,
        addresses: ClientAddresses,
        *,
        clock: Clock,
    ) -> None:
        self._sessions = sessions
        self._act_as_operator = act_as_operator
        self._cookies = cookies
        self._forms = forms
        self._addresses = addresses
        self._clock = clock

    def find(self, request: Request) -> Visitor | None:
        secret = self._cookies.session(request)
        session = self._sessions.find(hash_secret(secret), self._clock()) if secret else None
        if session is None:
            return None
        return Visitor(session, secret, self._act_as_operator(session))

    def require(self, request: Request) -> Visitor:
        """
        :raises SignInNeeded: without a session.
        """
        visitor = self.find(request)
        if visitor is None:
            raise SignInNeeded
        return visitor

    async def read_form(self, request: Request) -> tuple[Visitor, Mapping[str, str]]:
        """
        :raises SignInNeeded: without a session.
        :raises FormRefused: when it was not made for this session.
        """
        visitor = self.require(request)
        return visitor, await self._forms.read(request, visitor.secret)

    async def read_order(self, request: Request) -> tuple[Visitor, Mapping[str, str]]:
        """
        :raises SignInNeeded: without a session.
        :raises MayNotOrder: when the role orders nothing; the services refuse it as well.
        :raises FormRefused: when it was not made for this session.
        """
        visitor, fields = await self.read_form(request)
        if not visitor.session.may_order:
            raise MayNotOrder
        return replace(visitor, order_id=_to_id(fields.get("order_id", ""))), fields

    def address(self, request: Request) -> str:
        return self._addresses.of(request)


def _to_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
