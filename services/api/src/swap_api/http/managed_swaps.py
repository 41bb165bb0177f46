"""An app's swaps over HTTP, for members of its organization."""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from uuid import UUID

from starlette.responses import Response

from swap_api.domain.keys import Allowances, Caller, Environment, KeyKind
from swap_api.http.endpoints import Context, Endpoint
from swap_api.http.history import HistoryEndpoints
from swap_api.http.management import actor_of, told
from swap_api.http.management_addresses import APP, reading
from swap_api.http.parameters import ManagedListParameters, StepsParameters, SwapParameters, id_of
from swap_api.http.requests import Request
from swap_api.http.swaps import SwapEndpoints, swap_id_of
from swap_api.usecases.list_swap_messages import ListSwapMessages
from swap_api.usecases.manage_partners import ManagePartners
from swap_contracts.public.errors import ErrorCode
from swap_contracts.public.lookups import LedgerTransactionModel, SwapEventModel
from swap_contracts.public.management import WebhookMessageModel
from swap_contracts.public.models import PreparedSwapModel

SWAP: Final = f"{APP}/swaps/{{swapId}}"


class ManagedSwapEndpoints:
    """Answers a member as the app's secret key is answered, once the app is the member's."""

    def __init__(
        self,
        manage_partners: ManagePartners,
        swaps: SwapEndpoints,
        history: HistoryEndpoints,
        list_swap_messages: ListSwapMessages,
    ) -> None:
        self._partners = manage_partners
        self._swaps = swaps
        self._history = history
        self._list_swap_messages = list_swap_messages

    async def list_all(self, request: Request, context: Context) -> Response:
        return await self._swaps.list_behind(request, await self._as_app(request, context))

    async def read_by_hash(self, request: Request, context: Context) -> Response:
        return await self._swaps.read_by_hash(request, await self._as_app(request, context))

    async def read(self, request: Request, context: Context) -> Response:
        return await self._swaps.read(request, await self._as_app(request, context))

    async def events(self, request: Request, context: Context) -> Response:
        return await self._history.events(request, await self._as_app(request, context))

    async def ledger(self, request: Request, context: Context) -> Response:
        return await self._history.ledger(request, await self._as_app(request, context))

    async def webhooks(self, request: Request, context: Context) -> Response:
        caller = (await self._as_app(request, context)).caller
        swap_id = swap_id_of(request)
        return told(await self._list_swap_messages(caller, swap_id, actor=actor_of(context)))

    async def _as_app(self, request: Request, context: Context) -> Context:
        """Return the request as one of the app's.

        :raises NotFound: when there is no such app, or it is another organization's.
        """
        app_id = id_of(request, "appId")
        row = await self._partners.find_app(app_id, actor=actor_of(context))
        environment = Environment(row["environment"])
        caller = Caller(UUID(int=0), app_id, environment, KeyKind.SECRET, Allowances(), None)
        return replace(context, caller=caller)


def managed_swaps(swaps: ManagedSwapEndpoints) -> list[Endpoint]:
    """Return the addresses under which members read the swaps of their apps."""
    found = (ErrorCode.INVALID_ADDRESS_ERROR,)
    return [
        reading(
            f"{APP}/swaps",
            swaps.list_all,
            "List an app's swaps, newest first",
            list[PreparedSwapModel],
            is_paged=True,
            query=ManagedListParameters,
        ),
        reading(
            f"{APP}/swaps/by_transaction_hash/{{transactionHash}}",
            swaps.read_by_hash,
            "Find an app's swap by one of its transactions",
            PreparedSwapModel,
            query=StepsParameters,
            refuses=found,
        ),
        replace(
            reading(
                SWAP,
                swaps.read,
                "Read an app's swap",
                PreparedSwapModel,
                query=SwapParameters,
                refuses=found,
            ),
            is_conditional=True,
        ),
        replace(
            reading(
                f"{SWAP}/events",
                swaps.events,
                "List what happened to an app's swap; `Accept: text/event-stream` follows it live",
                list[SwapEventModel],
            ),
            is_live=True,
        ),
        reading(
            f"{SWAP}/ledger",
            swaps.ledger,
            "List what was booked for an app's swap",
            list[LedgerTransactionModel],
        ),
        reading(
            f"{SWAP}/webhooks",
            swaps.webhooks,
            "List the webhook messages about an app's swap, oldest first, with every attempt",
            list[WebhookMessageModel],
        ),
    ]
