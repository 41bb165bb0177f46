"""Pay links over HTTP: the owner makes them, and their holders see one swap each."""

from __future__ import annotations

from dataclasses import replace

from starlette.responses import Response

from swap_api.funding.http.authorizations import AuthorizationEndpoints
from swap_api.http.admission import bearer
from swap_api.http.conditional import conditional
from swap_api.http.endpoints import Context
from swap_api.http.parameters import (
    LinkParameters,
    RefundAddressBody,
    StepsParameters,
    parse_body,
    parse_query,
    swap_id_of,
)
from swap_api.http.requests import Request
from swap_api.http.responses import NO_STORE, JsonResponse, data_response
from swap_api.model.refusals import NotFound
from swap_api.pay_links.usecases.make_link import MakeLink
from swap_api.pay_links.usecases.open_link import LinkHolder, OpenLink
from swap_api.pay_links.usecases.read_swap_for_payer import ReadSwapForPayer
from swap_api.swaps.http.history import HistoryEndpoints
from swap_api.swaps.usecases.set_refund_address import SetRefundAddress


class PayEndpoints:
    def __init__(
        self,
        *,
        make_link: MakeLink,
        open_link: OpenLink,
        read_swap_for_payer: ReadSwapForPayer,
        set_refund_address: SetRefundAddress,
        authorizations: AuthorizationEndpoints,
        history: HistoryEndpoints,
    ) -> None:
        self._make_link = make_link
        self._open_link = open_link
        self._read_swap_for_payer = read_swap_for_payer
        self._set_refund_address = set_refund_address
        self._authorizations = authorizations
        self._history = history

    async def link(self, request: Request, context: Context) -> Response:
        query = parse_query(LinkParameters, request.query)
        return data_response(
            await self._make_link(
                context.caller,
                swap_id_of(request),
                may_set_refund_address=query.may_set_refund_address,
            ),
            NO_STORE,
        )

    async def read(self, request: Request, context: Context) -> Response:
        query = parse_query(StepsParameters, request.query)
        holder = await self._holder(request)
        data = await self._read_swap_for_payer(holder, swap_id_of(request), query.source_address)
        return conditional(request, data)

    async def events(self, request: Request, context: Context) -> Response:
        return await self._history.events(request, await self._as_holder(request, context))

    async def authorize(self, request: Request, context: Context) -> Response:
        as_holder = await self._as_holder(request, context)
        return await self._authorizations.authorize(request, as_holder)

    async def refund_address(self, request: Request, context: Context) -> Response:
        swap_id, holder = swap_id_of(request), await self._holder(request)
        if not holder.may_set_refund_address:
            raise NotFound
        body, _ = parse_body(RefundAddressBody, await request.json_object())
        await self._set_refund_address(holder.caller, swap_id, body.refund_address)
        return JsonResponse(b'{"error":null}')

    async def _as_holder(self, request: Request, context: Context) -> Context:
        """
        :raises NotFound: for an unknown swap and for a wrong token alike.
        """
        return replace(context, caller=(await self._holder(request)).caller)

    async def _holder(self, request: Request) -> LinkHolder:
        """
        :raises NotFound: for an unknown swap and for a wrong token alike.
        """
        return await self._open_link(swap_id_of(request), bearer(request))
