"""Swaps over HTTP: create, read, list, and what to do next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from starlette.responses import Response

from swap_api.http.conditional import conditional
from swap_api.http.endpoints import Context
from swap_api.http.idempotent_requests import body_hash, idempotency_key
from swap_api.http.paging import page_response
from swap_api.http.parameters import (
    AliasParameters,
    FilterParameters,
    ListParameters,
    ManagedListParameters,
    RefundAddressBody,
    RouteParameters,
    SpeedUpBody,
    StepsParameters,
    SwapBody,
    SwapParameters,
    parse_body,
    parse_query,
    swap_id_of,
)
from swap_api.http.requests import Request
from swap_api.http.responses import LIVE, EventStreamResponse, JsonResponse, data_response
from swap_api.model.keys import forbidden
from swap_api.model.listing import SwapFilter, to_statuses
from swap_api.model.refusals import Invalid, NotFound
from swap_api.swaps.decide.orders import Funding, Parties, PriceQuery, RouteQuery, SwapOrder
from swap_api.swaps.decide.transaction_hashes import is_transaction_hash
from swap_api.swaps.usecases.create_swap import CreateSwap, Creation
from swap_api.swaps.usecases.list_swaps import ListSwaps, RenderedPage
from swap_api.swaps.usecases.read_swap import ReadSwap
from swap_api.swaps.usecases.read_swap_states import ReadSwapStates
from swap_api.swaps.usecases.set_refund_address import SetRefundAddress
from swap_api.swaps.usecases.speed_up_deposit import SpeedUpDeposit
from swap_domain.catalogue import Catalogue

EMPTY: Final = b"[]"

# Hashes of every family that may come; anything else cannot be one.
_HASH: Final = re.compile(r"[0-9A-Za-z:_-]{1,128}")


class SwapEndpoints:
    def __init__(
        self,
        catalogue: Catalogue,
        *,
        create_swap: CreateSwap,
        read_swap: ReadSwap,
        list_swaps: ListSwaps,
        read_swap_states: ReadSwapStates,
        set_refund_address: SetRefundAddress,
        speed_up_deposit: SpeedUpDeposit,
    ) -> None:
        self._catalogue = catalogue
        self._create_swap = create_swap
        self._read_swap = read_swap
        self._list_swaps = list_swaps
        self._read_swap_states = read_swap_states
        self._set_refund_address = set_refund_address
        self._speed_up_deposit = speed_up_deposit

    async def create(self, request: Request, context: Context) -> Response:
        key = idempotency_key(request)
        body, content = parse_body(SwapBody, await request.json_object())
        creation = Creation(
            caller=context.caller,
            client=context.client or None,
            order=_order(body),
            idempotency_key=key,
            body_hash=body_hash(request.path, content) if key else b"",
        )
        created = await self._create_swap(creation)
        return data_response(
            created.data, {"idempotent-replayed": "true"} if created.is_replayed else {}
        )

    async def create_managed(self, request: Request, context: Context) -> Response:
        """Create a swap for a member; the idempotency key is handled before this."""
        body, _ = parse_body(SwapBody, await request.json_object())
        creation = Creation(
            caller=context.caller,
            client=None,
            order=_order(body),
            idempotency_key=None,
            body_hash=b"",
        )
        return data_response((await self._create_swap(creation)).data)

    async def read(self, request: Request, context: Context) -> Response:
        parameters = parse_query(SwapParameters, request.query)
        data = await self._read_swap.by_id(
            context.caller,
            swap_id_of(request),
            with_actions=not parameters.exclude_deposit_actions,
            source_address=parameters.source_address,
        )
        return conditional(request, data)

    async def refund_address(self, request: Request, context: Context) -> Response:
        swap_id = swap_id_of(request)
        body, _ = parse_body(RefundAddressBody, await request.json_object())
        await self._set_refund_address(context.caller, swap_id, body.refund_address)
        return data_response(
            await self._read_swap.by_id(context.caller, swap_id, with_actions=True)
        )

    async def deposit_speedup(self, request: Request, context: Context) -> Response:
        swap_id = swap_id_of(request)
        body, _ = parse_body(SpeedUpBody, await request.json_object())
        if not is_transaction_hash(body.transaction_id):
            raise Invalid.field("transaction_id", "is not the hash of a transaction")
        await self._speed_up_deposit(context.caller, swap_id, body.transaction_id)
        return JsonResponse(b'{"error":null}')

    async def read_by_hash(self, request: Request, context: Context) -> Response:
        transaction_hash = request.path_params["transactionHash"]
        if not _HASH.fullmatch(transaction_hash):
            raise NotFound
        parameters = parse_query(StepsParameters, request.query)
        found = await self._read_swap.by_transaction_hash(
            context.caller, transaction_hash, parameters.source_address
        )
        return conditional(request, found)

    async def read_next_action(self, request: Request, context: Context) -> Response:
        parameters = parse_query(StepsParameters, request.query)
        return data_response(
            await self._read_swap.with_next_action(
                context.caller, swap_id_of(request), parameters.source_address
            )
        )

    async def deposit_steps(self, request: Request, context: Context) -> Response:
        parameters = parse_query(StepsParameters, request.query)
        return data_response(
            await self._read_swap.deposit_steps(
                context.caller, swap_id_of(request), parameters.source_address
            )
        )

    async def list_all(self, request: Request, context: Context) -> Response:
        parameters = parse_query(ListParameters, request.query)
        wanted = self._filter(parameters, parameters.address, context)
        if context.caller.is_publishable and not wanted.addresses:
            raise forbidden("A publishable key lists swaps by address only; send an address")
        return _list_response(await self._list_swaps(wanted), wanted, request)

    async def list_after(self, request: Request, context: Context) -> Response:
        """Answer the list of members, which may begin after a swap."""
        parameters = parse_query(ManagedListParameters, request.query)
        wanted = self._filter(
            parameters, parameters.address, context, starting_after=parameters.starting_after
        )
        return _list_response(await self._list_swaps(wanted), wanted, request)

    async def list_states(self, request: Request, context: Context) -> Response:
        """Answer the states of the list of members, live on request."""
        parameters = parse_query(ManagedListParameters, request.query)
        wanted = self._filter(
            parameters, parameters.address, context, starting_after=parameters.starting_after
        )
        if LIVE not in (request.header("accept") or ""):
            return data_response(await self._read_swap_states(wanted))
        last = request.header("last-event-id") or ""
        return EventStreamResponse(self._read_swap_states.follow(wanted, after=last))

    async def list_by_addresses(self, request: Request, context: Context) -> Response:
        """Answer the alias that takes `addresses`, and nothing without one."""
        parameters = parse_query(AliasParameters, request.query)
        wanted = self._filter(parameters, parameters.addresses, context)
        if not wanted.addresses:
            return page_response(request, EMPTY, page=wanted.page, total=0, has_more=False)
        return _list_response(await self._list_swaps(wanted), wanted, request)

    def _filter(
        self,
        parameters: FilterParameters,
        addresses: Sequence[str],
        context: Context,
        *,
        starting_after: UUID | None = None,
    ) -> SwapFilter:
        return SwapFilter(
            app_id=context.caller.app_id,
            page=parameters.page,
            page_size=parameters.page_size,
            addresses=tuple(address.lower() for address in addresses),
            statuses=to_statuses(parameters.statuses),
            include_expired=parameters.include_expired,
            networks=tuple(network_name(self._catalogue, name) for name in parameters.networks),
            reference_id=parameters.reference_id,
            created_after=parameters.created_after,
            created_before=parameters.created_before,
            starting_after=starting_after,
        )


def network_name(catalogue: Catalogue, name_or_chain_id: str) -> str:
    """Return the catalogue's name of a network; an unknown one stays unchanged."""
    network = catalogue.find_network(name_or_chain_id)
    return name_or_chain_id if network is None else network.name


def price_query(parameters: RouteParameters) -> PriceQuery:
    return PriceQuery(
        route=RouteQuery(
            parameters.source_network,
            parameters.source_token,
            parameters.destination_network,
            parameters.destination_token,
        ),
        funding=Funding(
            parameters.use_depository, parameters.use_deposit_address, parameters.use_gasless
        ),
        refuel=parameters.refuel,
        amount=parameters.amount,
        slippage=parameters.slippage,
        receive_amount=parameters.receive_amount,
    )


def _order(body: SwapBody) -> SwapOrder:
    for field in ("source_exchange", "destination_exchange"):
        if getattr(body, field) is not None:
            raise Invalid.field(field, "is unknown")
    parties = Parties(body.destination_address, body.source_address, body.refund_address)
    return SwapOrder(price_query(body), parties, body.reference_id)


def _list_response(listed: RenderedPage, wanted: SwapFilter, request: Request) -> Response:
    return page_response(
        request, listed.data, page=wanted.page, total=listed.total, has_more=listed.has_more
    )
