"""Admission to an endpoint: by API key, by access token or without one, within the rate limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from swap_api.admission.decide.link_tokens import HmacLinkTokens
from swap_api.admission.decide.rate_limits import Kind
from swap_api.admission.usecases.identify_caller import IdentifyCaller
from swap_api.admission.usecases.identify_member import IdentifyMember
from swap_api.admission.usecases.limit_requests import LimitRequests
from swap_api.http.clients import Clients
from swap_api.http.endpoints import Context, Endpoint
from swap_api.http.exchange import Exchange
from swap_api.http.parameters import id_of
from swap_api.http.requests import Request
from swap_api.model.keys import Caller, Scope
from swap_api.model.members import member_caller
from swap_api.model.refusals import ApiRefusal, Invalid, NotFound
from swap_runtime.errors import Unavailable

FOR_MEMBERS: Final = (Scope.MEMBER, Scope.SELF)


class Admission:
    def __init__(
        self,
        *,
        identify_caller: IdentifyCaller,
        identify_member: IdentifyMember,
        limit_requests: LimitRequests,
        link_tokens: HmacLinkTokens,
        clients: Clients,
        key_headers: Sequence[str],
        anonymous_caller: Caller,
    ) -> None:
        self._identify_caller = identify_caller
        self._identify_member = identify_member
        self._limit_requests = limit_requests
        self._link_tokens = link_tokens
        self._clients = clients
        self._key_headers = tuple(name.lower() for name in key_headers)
        self._anonymous_caller = anonymous_caller

    async def admit(self, exchange: Exchange, endpoint: Endpoint) -> Context:
        """
        :raises ApiRefusal: without a key that opens the endpoint, or above the rate limit.
        """
        request = exchange.request
        if endpoint.scope in FOR_MEMBERS:
            return await self._admit_member(exchange, endpoint)
        if endpoint.scope is Scope.PAY_LINK:
            return await self._admit_payer(exchange, endpoint)
        caller = await self._caller(request, endpoint)
        if endpoint.scope is not Scope.NO_KEY:
            exchange.app_id, exchange.key_id = caller.app_id, caller.key_id
        # Before it counts: pages of other origins use up nothing of the app's rate.
        caller.require_origin(request.header("origin"))
        client = self._clients.bucket(request) if caller.is_publishable else ""
        exchange.add_quota_state(
            await self._limit_requests(caller, client, endpoint.kind, weight=endpoint.weight)
        )
        caller.require(endpoint.scope)
        return Context(caller, client, exchange.request_id)

    async def count_unknown_path(self, exchange: Exchange) -> None:
        """Count a keyed request that leads nowhere as a read; without a key it is not counted.

        :raises RateLimited: when it is one too many.
        """
        request = exchange.request
        key = self._key_of(request)
        if key is None:
            return
        try:
            caller = await self._identify_caller(key, from_memory=False)
            caller.require_origin(request.header("origin"))
        except (ApiRefusal, Unavailable):
            return  # the answer 404 is the same for every caller
        exchange.app_id, exchange.key_id = caller.app_id, caller.key_id
        client = self._clients.bucket(request) if caller.is_publishable else ""
        exchange.add_quota_state(await self._limit_requests(caller, client, Kind.READ))

    async def _admit_member(self, exchange: Exchange, endpoint: Endpoint) -> Context:
        """
        :raises ApiRefusal: without a member's access token, or above the rate limit.
        """
        request = exchange.request
        token = bearer(request)
        if token and endpoint.body is not None:
            await request.json_body()  # first: a member removed meanwhile is refused
        actor = await self._identify_member(token)
        caller, client = member_caller(actor, self._anonymous_caller.environment)
        exchange.add_quota_state(
            await self._limit_requests(caller, client, endpoint.kind, weight=endpoint.weight)
        )
        return Context(caller, client, exchange.request_id, actor.asking(exchange.request_id))

    async def _admit_payer(self, exchange: Exchange, endpoint: Endpoint) -> Context:
        """Check the link's token, then count; the check needs no database.

        :raises NotFound: for a token that is not the swap's.
        :raises ApiRefusal: for a swap id that is none, or above the rate limit.
        """
        request, client = exchange.request, self._clients.bucket(exchange.request)
        try:
            swap_id = id_of(request, "swapId")
        except Invalid:
            exchange.add_quota_state(await self._limit_requests.of_wrong_link(client))
            raise
        if self._link_tokens.right_of(swap_id, bearer(request) or "") is None:
            exchange.add_quota_state(await self._limit_requests.of_wrong_link(client))
            raise NotFound
        exchange.add_quota_state(
            await self._limit_requests.of_link(
                swap_id, client, endpoint.kind, weight=endpoint.weight
            )
        )
        return Context(self._anonymous_caller, client, exchange.request_id)

    async def _caller(self, request: Request, endpoint: Endpoint) -> Caller:
        if endpoint.scope is Scope.NO_KEY:
            return self._anonymous_caller
        return await self._identify_caller(
            self._key_of(request), from_memory=endpoint.needs_process_alone
        )

    def _key_of(self, request: Request) -> str | None:
        return next(filter(None, map(request.header, self._key_headers)), None)


def bearer(request: Request) -> str | None:
    """Return the token of the header `Authorization`."""
    scheme, _, token = (request.header("authorization") or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None
