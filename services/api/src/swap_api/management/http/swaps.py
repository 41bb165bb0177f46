"""An app's swaps over HTTP, for members of its organization."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from starlette.responses import Response

from swap_api.http.endpoints import Context, Endpoint
from swap_api.http.parameters import (
    LinkParameters,
    ManagedListParameters,
    NetworksParameters,
    StepsParameters,
    SwapBody,
    SwapParameters,
    id_of,
    parse_query,
    swap_id_of,
)
from swap_api.http.requests import Request
from swap_api.management.http.addresses import APP, get_endpoint, post_endpoint
from swap_api.management.http.answers import actor_of, json_response
from swap_api.management.usecases.manage_partners import ManagePartners
from swap_api.management.usecases.manage_webhooks import ManageWebhooks
from swap_api.model.keys import Allowances, Caller, Environment, KeyKind
from swap_api.model.refusals import Invalid
from swap_api.pay_links.http.pay import PayEndpoints
from swap_api.swaps.http.catalogue import CatalogueEndpoints
from swap_api.swaps.http.history import HistoryEndpoints
from swap_api.swaps.http.routes import PRICE_REFUSALS
from swap_api.swaps.http.swaps import SwapEndpoints
from swap_api.swaps.usecases.read_swap_states import LOOKS_MAX
from swap_contracts.public.errors import ErrorCode
from swap_contracts.public.lookups import (
    LedgerTransactionModel,
    QuoteRevisionModel,
    SwapEventModel,
    SwapStateModel,
)
from swap_contracts.public.management import WebhookMessageModel
from swap_contracts.public.models import NetworkWithTokensModel, PreparedSwapModel
from swap_contracts.public.pay import PayLinkModel

SWAP: Final = f"{APP}/swaps/{{swapId}}"
# Without the refusals of idempotency keys and of bodies: `http/openapi.py` adds those.
MANAGED_CREATE_REFUSALS: Final = (
    *PRICE_REFUSALS,
    ErrorCode.PAYOUTS_PAUSED,
    ErrorCode.INVALID_ADDRESS_ERROR,
    ErrorCode.BLACKLISTED_ADDRESS,
    ErrorCode.REFUND_ADDRESS_REQUIRED,
    ErrorCode.TOO_MANY_PENDING_SWAPS,
)


class ManagedSwapEndpoints:
    """Answers a member like the app's secret key, if the app is of the member's organization."""

    def __init__(
        self,
        manage_partners: ManagePartners,
        swaps: SwapEndpoints,
        history: HistoryEndpoints,
        catalogue: CatalogueEndpoints,
        manage_webhooks: ManageWebhooks,
        *,
        pay: PayEndpoints,
    ) -> None:
        self._partners = manage_partners
        self._swaps = swaps
        self._history = history
        self._catalogue = catalogue
        self._webhooks = manage_webhooks
        self._pay = pay

    async def list_all(self, request: Request, context: Context) -> Response:
        return await self._swaps.list_after(request, await self._as_app(request, context))

    async def list_states(self, request: Request, context: Context) -> Response:
        return await self._swaps.list_states(request, await self._as_app(request, context))

    async def read_by_hash(self, request: Request, context: Context) -> Response:
        return await self._swaps.read_by_hash(request, await self._as_app(request, context))

    async def read(self, request: Request, context: Context) -> Response:
        return await self._swaps.read(request, await self._as_app(request, context))

    async def events(self, request: Request, context: Context) -> Response:
        return await self._history.events(request, await self._as_app(request, context))

    async def ledger(self, request: Request, context: Context) -> Response:
        return await self._history.ledger(request, await self._as_app(request, context))

    async def quotes(self, request: Request, context: Context) -> Response:
        return await self._history.quotes(request, await self._as_app(request, context))

    async def webhooks(self, request: Request, context: Context) -> Response:
        caller = (await self._as_app(request, context)).caller
        swap_id = swap_id_of(request)
        return json_response(
            await self._webhooks.messages_of_swap(caller, swap_id, actor=actor_of(context))
        )

    async def create(self, request: Request, context: Context) -> Response:
        """Create a swap of a test app. One of a live app is created by its server alone."""
        as_app = await self._as_app(request, context)
        actor_of(context).require_to_work_on(Environment.TEST)
        if as_app.caller.environment is not Environment.TEST:
            raise Invalid.field("appId", "is a live app: its own server creates its swaps")
        return await self._swaps.create_managed(request, as_app)

    async def networks(self, request: Request, context: Context) -> Response:
        return await self._catalogue.networks(request, await self._as_app(request, context))

    async def pay_link(self, request: Request, context: Context) -> Response:
        as_app = await self._as_app(request, context)
        if parse_query(LinkParameters, request.query).may_set_refund_address:
            actor_of(context).require_to_work_on(as_app.caller.environment)
        return await self._pay.link(request, as_app)

    async def _as_app(self, request: Request, context: Context) -> Context:
        """Return the context that a request of the app's secret key has; its key has no id.

        Rates are not part of it: admission has counted the request for the member.

        :raises NotFound: when there is no such app, or it is another organization's.
        """
        app_id = id_of(request, "appId")
        row = await self._partners.find_app(app_id, actor=actor_of(context))
        seconds = row["swap_lifetime_seconds"]
        allowances = Allowances(
            pending_swaps=row["pending_swaps_max"],
            is_lifted=row["limits_lifted"],
            fee_basis_points=row["fee_basis_points"],
            swap_lifetime=None if seconds is None else timedelta(seconds=seconds),
        )
        caller = Caller(
            key_id=UUID(int=0),
            app_id=app_id,
            environment=Environment(row["environment"]),
            kind=KeyKind.SECRET,
            allowances=allowances,
            expires_at=None,
        )
        return replace(context, caller=caller)


def managed_swap_endpoints(swaps: ManagedSwapEndpoints) -> list[Endpoint]:
    """Return the endpoints for members: they read swaps of their apps, and try test apps."""
    refusals = (ErrorCode.INVALID_ADDRESS_ERROR,)
    return [
        get_endpoint(
            f"{APP}/swaps",
            swaps.list_all,
            "List an app's swaps, newest first",
            list[PreparedSwapModel],
            is_paged=True,
            query=ManagedListParameters,
        ),
        replace(
            get_endpoint(
                f"{APP}/swap_states",
                swaps.list_states,
                "List ids and statuses of an app's swaps; `Accept: text/event-stream` follows them",
                list[SwapStateModel],
                query=ManagedListParameters,
            ),
            is_live=True,
            # A stream runs the list's query each second, and a filter may read many rows.
            # The weight is the endpoint's: a request without a stream counts as much.
            weight=LOOKS_MAX,
        ),
        post_endpoint(
            f"{APP}/swaps",
            swaps.create,
            "Create a swap of a test app",
            PreparedSwapModel,
            SwapBody,
            refuses=MANAGED_CREATE_REFUSALS,
            creates=True,
        ),
        replace(
            get_endpoint(
                f"{APP}/networks",
                swaps.networks,
                "List the networks and tokens that an app's swaps may use",
                list[NetworkWithTokensModel],
                query=NetworksParameters,
            ),
            is_conditional=True,
        ),
        get_endpoint(
            f"{APP}/swaps/by_transaction_hash/{{transactionHash}}",
            swaps.read_by_hash,
            "Find an app's swap by one of its transactions",
            PreparedSwapModel,
            query=StepsParameters,
            refuses=refusals,
        ),
        replace(
            get_endpoint(
                SWAP,
                swaps.read,
                "Read an app's swap",
                PreparedSwapModel,
                query=SwapParameters,
                refuses=refusals,
            ),
            is_conditional=True,
        ),
        replace(
            get_endpoint(
                f"{SWAP}/events",
                swaps.events,
                "List what happened to an app's swap; `Accept: text/event-stream` follows it live",
                list[SwapEventModel],
            ),
            is_live=True,
        ),
        get_endpoint(
            f"{SWAP}/ledger",
            swaps.ledger,
            "List what was booked for an app's swap",
            list[LedgerTransactionModel],
        ),
        get_endpoint(
            f"{SWAP}/quotes",
            swaps.quotes,
            "List the quotes of an app's swap: the first one, and each that replaced it",
            list[QuoteRevisionModel],
        ),
        get_endpoint(
            f"{SWAP}/webhooks",
            swaps.webhooks,
            "List the webhook messages about an app's swap, oldest first, with every attempt",
            list[WebhookMessageModel],
        ),
        get_endpoint(
            f"{SWAP}/pay_link",
            swaps.pay_link,
            "Read the link to the pay page of an app's swap",
            PayLinkModel,
            query=LinkParameters,
            refuses=(ErrorCode.ROLE_TOO_LOW,),
        ),
    ]
