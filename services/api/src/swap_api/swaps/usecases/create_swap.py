from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from swap_api import observe
from swap_api.admission.decide.idempotency import Claim
from swap_api.admission.store.idempotency import PostgresIdempotency
from swap_api.funding.adapters.gasless_rendering import JsonGaslessRendering
from swap_api.funding.ports import DepositAddresses
from swap_api.funding.usecases.request_signature import RequestSignature
from swap_api.funding.usecases.resolve_deposit import ResolveDeposit
from swap_api.model.addresses import AddressRules, refuse_own
from swap_api.model.keys import Caller, idempotency_owner
from swap_api.model.refusals import ApiRefusal
from swap_api.read_model.swaps import NewId, NewSequenceNumber, StoredSwap
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_api.swaps.decide.orders import (
    OWN_INVENTORY,
    Parties,
    Route,
    SwapOrder,
    caching_route_finder,
)
from swap_api.swaps.store.creations import (
    NamesOwnAddress,
    NewSwap,
    PostgresCreations,
    SequenceNumberTaken,
)
from swap_api.swaps.usecases.cap_deposit_addresses import CapDepositAddresses
from swap_api.swaps.usecases.cap_unpaid_swaps import CapUnpaidSwaps
from swap_api.swaps.usecases.fetch_price import FetchPrice
from swap_api.swaps.usecases.refuse_stopped_routes import RefuseStoppedRoutes
from swap_api.swaps.usecases.screen_parties import ScreenParties
from swap_contracts.public.errors import ErrorCode
from swap_contracts.quoting import QuoteAnswer
from swap_contracts.swaps import SwapRequested
from swap_contracts.topics import SWAP_REQUESTS
from swap_contracts.tracing import trace_id_of
from swap_domain.catalogue import Catalogue
from swap_runtime.clock import Clock
from swap_runtime.errors import Unavailable
from swap_runtime.messaging.outbox import Outgoing
from swap_runtime.telemetry import tracing

NUMBERS_TRIED_MAX: Final = 5
REQUESTED: Final = "requested"  # distinguishes this message from others about the swap


@dataclass(frozen=True, slots=True)
class Creation:
    """One request, with what is around its body."""

    caller: Caller
    client: str | None  # the client of a publishable key
    order: SwapOrder
    idempotency_key: str | None
    body_hash: bytes


@dataclass(frozen=True, slots=True)
class CreatedSwap:
    data: bytes
    is_replayed: bool


class CreateSwap:
    """Price, save and publish a swap, and answer with it."""

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        fetch_price: FetchPrice,
        cap_unpaid_swaps: CapUnpaidSwaps,
        cap_deposit_addresses: CapDepositAddresses,
        creations: PostgresCreations,
        idempotency: PostgresIdempotency,
        rendering: JsonRendering,
        request_signature: RequestSignature,
        gasless_rendering: JsonGaslessRendering,
        clock: Clock,
        new_id: NewId,
        new_sequence_number: NewSequenceNumber,
        deposit_addresses: DepositAddresses,
        deposit: ResolveDeposit,
        refuse_stopped_routes: RefuseStoppedRoutes,
        screen_parties: ScreenParties,
    ) -> None:
        self._deposit = deposit
        self._catalogue = catalogue
        self._addresses = AddressRules(catalogue)
        self._find_route = caching_route_finder(catalogue)
        self._fetch_price = fetch_price
        self._deposit_addresses = deposit_addresses
        self._refuse_stopped_routes = refuse_stopped_routes
        self._screen_parties = screen_parties
        self._cap_unpaid_swaps = cap_unpaid_swaps
        self._cap_deposit_addresses = cap_deposit_addresses
        self._creations = creations
        self._idempotency = idempotency
        self._rendering = rendering
        self._request_signature = request_signature
        self._gasless_rendering = gasless_rendering
        self._clock = clock
        self._new_id = new_id
        self._new_sequence_number = new_sequence_number

    async def __call__(self, creation: Creation) -> CreatedSwap:
        """
        :raises ApiRefusal: when the swap is not offered like that, or may not be created now.
        """
        route, parties = self._check(creation)
        if creation.idempotency_key is None:
            return CreatedSwap(
                await self._create(creation, route, parties, None), is_replayed=False
            )
        owner = idempotency_owner(creation.caller, creation.client or "")
        claim = Claim(owner, creation.idempotency_key, creation.body_hash, self._new_id())
        replay = await self._idempotency.claim(claim)
        if replay is not None:
            observe.answer_replayed()
            return CreatedSwap(replay.answer, is_replayed=True)
        try:
            return CreatedSwap(
                await self._create(creation, route, parties, claim), is_replayed=False
            )
        except (ApiRefusal, Unavailable):
            await self._idempotency.release(claim)
            raise

    def _check(self, creation: Creation) -> tuple[Route, Parties]:
        """Refuse what can be refused without I/O, before anything is counted or claimed."""
        query = creation.order.price
        route = self._find_route(creation.caller.environment, query.route)
        query.funding.check(route.source_network)
        if not query.is_open:
            query.amounts(route)
        query.slippage_ppm()
        return route, creation.order.parties.with_checksums(route, self._addresses)

    async def _create(
        self, creation: Creation, route: Route, parties: Parties, claim: Claim | None
    ) -> bytes:
        self._refuse_stopped_routes.check(route.source_network, route.destination_network)
        await self._screen_parties(parties.on(route))
        await self._cap_unpaid_swaps(creation.caller, creation.client)
        if creation.order.price.funding.use_deposit_address:
            await self._cap_deposit_addresses(creation.caller, route.source_network.name)
            await self._deposit_addresses.verify(route.source_network)
        swap_id = self._new_id()
        tracing.create_swap(swap_id)
        answer = await self._fetch_price.quote(
            route,
            creation.order.price,
            fee=creation.caller.allowances.fee_basis_points,
            may_be_open=True,
        )
        _require_refund_address(answer, parties)
        request = self._request(swap_id, creation, parties, answer)
        for _ in range(NUMBERS_TRIED_MAX):
            new = await self._new_swap(request, creation, claim, parties.source_address)
            try:
                await self._creations.add(new)
            except SequenceNumberTaken:
                request = request.model_copy(
                    update={"sequence_number": self._new_sequence_number()}
                )
                continue
            except NamesOwnAddress as named:
                refuse_own(asdict(parties), named.addresses)
                raise
            source, destination = route.source_network.name, route.destination_network.name
            observe.swap_created(request.swap_id, source, destination)
            return new.answer
        raise Unavailable("no free sequence number was found")

    def _request(
        self, swap_id: UUID, creation: Creation, parties: Parties, answer: QuoteAnswer
    ) -> SwapRequested:
        now, quote = self._clock(), answer.quote
        lifetime = creation.caller.allowances.swap_lifetime or self._catalogue.swap_lifetime
        method = creation.order.price.funding.method
        # Not validated: all of it was checked or made here, and tests read it back.
        return SwapRequested.from_trusted(
            {
                "swap_id": swap_id,
                "app_id": creation.caller.app_id,
                "sequence_number": self._new_sequence_number(),
                "reference_id": creation.order.reference_id,
                "method": method,
                "source": quote.source,
                "destination": quote.destination,
                # The signer is known after the signature; until then an address is a claim.
                "source_address": None if method == "gasless" else parties.source_address,
                "destination_address": parties.destination_address,
                "refund_address": parties.refund_address,
                "created_at": now,
                "expires_at": now + lifetime,
                "type": "SwapRequested",
                "quote": quote,
                "quote_expires_at": now + timedelta(seconds=answer.lifetime_seconds),
            }
        )

    async def _new_swap(
        self,
        request: SwapRequested,
        creation: Creation,
        claim: Claim | None,
        wallet: str | None,
    ) -> NewSwap:
        row = replace(self._rendering.new_swap(request), client=creation.client)
        outgoing = Outgoing.from_body(
            SWAP_REQUESTS,
            request,
            version=REQUESTED,
            trace_id=trace_id_of(request.swap_id),
            at=request.created_at,
        )
        stored = StoredSwap.of(request.app_id, request.expires_at, row.rendered, row.gasless)
        draft = None
        if row.gasless is None:
            stored = await self._deposit.inline(stored, request.swap_id, wallet)
        elif wallet is not None:
            draft = await self._request_signature.draft(
                row.gasless, request.swap_id, wallet, deadline=request.expires_at
            )
        if draft is not None:
            action = self._gasless_rendering.sign_action(stored, draft.relayed)
            stored = replace(stored, rendered=replace(stored.rendered, action=action))
        return NewSwap(
            row=row,
            outgoing=outgoing,
            claim=claim,
            answer=self._rendering.prepare(
                stored, {}, next_action=self._deposit.missing(stored, wallet)
            ),
            sign_request=None if draft is None else draft.request,
        )


def _require_refund_address(answer: QuoteAnswer, parties: Parties) -> None:
    """
    :raises ApiRefusal: when an external provider takes part and could fail.
    """
    has_provider = any(step.provider != OWN_INVENTORY for step in answer.quote.path)
    if has_provider and parties.refund_address is None:
        raise ApiRefusal(
            ErrorCode.REFUND_ADDRESS_REQUIRED,
            "This route goes through a swap provider; send a refund_address",
            metadata={"field_errors": {"refund_address": "is missing"}},
        )
