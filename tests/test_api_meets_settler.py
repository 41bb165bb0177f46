"""The settler accepts what the api accepts: no answer contains an invalid swap."""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime, timedelta
from itertools import count, product
from typing import Any
from uuid import UUID

import pytest

from services.api.tests.api_factories import a_body, a_caller, a_catalogue, a_quote
from services.api.tests.fake_chains import FakeChains, FakeDepositories
from swap_api.admission.decide.idempotency import Claim, Replay
from swap_api.funding.adapters.approval_rendering import JsonApprovalRendering
from swap_api.funding.usecases.offer_depository import OfferDepository
from swap_api.funding.usecases.offer_gasless import OfferGasless
from swap_api.funding.usecases.resolve_deposit import ResolveDeposit
from swap_api.http.endpoints import Context
from swap_api.http.requests import Request
from swap_api.model.refusals import ApiRefusal
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_api.swaps.http.swaps import SwapEndpoints
from swap_api.swaps.store.creations import NewSwap
from swap_api.swaps.usecases.cap_deposit_addresses import CapDepositAddresses
from swap_api.swaps.usecases.cap_unpaid_swaps import CapUnpaidSwaps
from swap_api.swaps.usecases.create_swap import CreateSwap
from swap_api.swaps.usecases.fetch_price import FetchPrice
from swap_api.swaps.usecases.list_swaps import ListSwaps
from swap_api.swaps.usecases.read_swap import ReadSwap
from swap_api.swaps.usecases.read_swap_states import ReadSwapStates
from swap_api.swaps.usecases.refuse_stopped_routes import RefuseStoppedRoutes
from swap_api.swaps.usecases.screen_parties import ScreenParties
from swap_contracts.quoting import (
    LimitsAnswer,
    PricesAnswer,
    QuoteAnswer,
    QuoteQuestion,
    RangesAnswer,
    RouteQuestion,
)
from swap_contracts.swaps import SwapRequested
from swap_contracts.topics import SWAP_REQUESTS
from swap_domain.catalogue import Network
from swap_runtime.public_catalogue import public_catalogue
from swap_runtime.screening import Screenings
from swap_settler.model.messages.message_mapping import to_swap

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FLAGS = ("refuel", "use_depository", "use_gasless", "use_deposit_address")
OFFERED = ("refuel", "use_depository", "use_deposit_address")
MEMBERS: tuple[Mapping[str, Any], ...] = (
    {},
    {"reference_id": "order-1", "slippage": "0.01", "use_new_deposit_address": True},
    {"source_address": "", "refund_address": "", "reference_id": "", "slippage": ""},
)


class Quoter:
    """Prices every request, including a refuel."""

    async def quote(self, question: QuoteQuestion) -> QuoteAnswer:
        refuel = "1000" if question.refuel else None
        quote = a_quote(refuel_in_source_base_units=refuel, refuel_base_units=refuel)
        return QuoteAnswer(quote=quote, lifetime_seconds=300)

    async def limits(self, question: RouteQuestion) -> LimitsAnswer:
        raise NotImplementedError

    async def ranges(self, question: RouteQuestion) -> RangesAnswer:
        raise NotImplementedError

    async def prices(self) -> PricesAnswer:
        raise NotImplementedError


class StoredCreations:
    """Stores creations; the other methods return the results of an empty database."""

    def __init__(self) -> None:
        self.creations: list[NewSwap] = []

    async def add(self, new: NewSwap) -> None:
        self.creations.append(new)

    async def count(self, app_id: UUID, client: str | None, *, up_to: int) -> int:
        return 0

    async def count_addresses(self, network: str, app_id: UUID | None, *, up_to: int) -> int:
        return 0

    async def claim(self, claim: Claim) -> Replay | None:
        return None

    async def release(self, claim: Claim) -> None:
        return None

    async def save(self, claim: Claim, swap_id: UUID, answer: bytes) -> None:
        return None

    async def current(self) -> frozenset[str]:
        return frozenset()

    async def sources(self) -> frozenset[str]:
        return frozenset()

    async def halted(self) -> frozenset[str]:
        return frozenset()

    async def closed(self) -> frozenset[str]:
        return frozenset()

    async def verify(self, network: Network) -> None:
        return None


async def requested(body: Mapping[str, Any]) -> SwapRequested | None:
    """Return what the settler reads after a request with this body; None if it was refused."""
    catalogue, creations, ids = a_catalogue(), StoredCreations(), count(1)
    public = public_catalogue(catalogue)
    rendering, gasless = (
        JsonRendering(catalogue, public),
        OfferGasless(catalogue, FakeChains(), public),
    )
    await gasless.refresh()
    depository = OfferDepository(catalogue, FakeDepositories(), deposit_address_networks=set())
    unread: Any = None
    create_swap = CreateSwap(
        catalogue,
        fetch_price=FetchPrice(Quoter(), rendering, gasless=gasless, depository=depository),
        cap_unpaid_swaps=CapUnpaidSwaps(
            creations, clock=lambda: AT, publishable_max=1, secret_max=1, is_lifted=False
        ),
        cap_deposit_addresses=CapDepositAddresses(
            creations, clock=lambda: AT, per_app=1, per_network=1, is_lifted=False
        ),
        creations=creations,
        idempotency=creations,
        rendering=rendering,
        request_signature=unread,
        gasless_rendering=unread,
        clock=lambda: AT,
        new_id=lambda: UUID(int=next(ids)),
        new_sequence_number=lambda: next(ids),
        deposit_addresses=creations,
        deposit=ResolveDeposit(
            catalogue,
            rendering=JsonApprovalRendering(),
            signing=unread,
            allowances=FakeChains(),
        ),
        refuse_stopped_routes=RefuseStoppedRoutes(creations),
        screen_parties=ScreenParties(Screenings()),
    )
    swaps = SwapEndpoints(
        catalogue,
        create_swap=create_swap,
        read_swap=ReadSwap(unread, unread, rendering, deposit=unread),
        list_swaps=ListSwaps(unread, unread, rendering),
        read_swap_states=ReadSwapStates(unread),
        set_refund_address=unread,
        speed_up_deposit=unread,
    )
    try:
        await swaps.create(a_request(body), Context(a_caller(), "", "request"))
    except ApiRefusal:
        assert creations.creations == []
        return None
    (new,) = creations.creations
    read = SWAP_REQUESTS.envelope.model_validate_json(new.outgoing.payload).body
    assert isinstance(read, SwapRequested)
    return read


def a_request(body: Mapping[str, Any]) -> Request:
    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": json.dumps(body).encode()}

    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/api/v2/swaps"}
    scope |= {"headers": [], "query_string": b""}
    return Request(scope, receive)


@pytest.mark.parametrize("flags", [*product([False, True], repeat=len(FLAGS))])
@pytest.mark.parametrize("members", MEMBERS)
async def test_the_settler_takes_whatever_the_api_accepts(
    flags: tuple[bool, ...], members: Mapping[str, Any]
) -> None:
    order = dict(zip(FLAGS, flags, strict=True))

    body = await requested(a_body(**order, **members))

    # The source is a coin, which does not support signatures.
    is_offered = not any(order[flag] for flag in FLAGS if flag not in OFFERED)
    is_conflict = order["use_depository"] and order["use_deposit_address"]
    assert (body is not None) == (is_offered and not is_conflict)
    if body is not None:
        swap = to_swap(body, at=AT + timedelta(seconds=1))
        assert swap.terms.destination_address == body.destination_address
        assert (swap.quote.refuel is not None) == order["refuel"]
