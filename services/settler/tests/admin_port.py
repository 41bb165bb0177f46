"""Orders over HTTP without the internal port: a test sets the operator."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from services.settler.tests.fakes import FixedPrices
from swap_domain.catalogue import Catalogue
from swap_runtime.operators.admin_routes import CarryOut, Handler, OperatorOrder
from swap_runtime.postgres.database import Engine
from swap_settler.operator.store.stakes import PostgresStakes
from swap_settler.operator.usecases.weigh_orders import WeighOrders

DOLLAR = 10**18
ABOVE = 10**18  # micro-dollars, above every value in these tests


def a_dollar_each(catalogue: Catalogue) -> FixedPrices:
    return FixedPrices(
        {
            (network.name, token.address): DOLLAR
            for network in catalogue.networks.values()
            for token in network.tokens
        }
    )


def weighing(
    engine: Engine,
    catalogue: Catalogue,
    *,
    prices: FixedPrices | None = None,
    above: int = ABOVE,
) -> WeighOrders:
    return WeighOrders(
        PostgresStakes(engine),
        prices or a_dollar_each(catalogue),
        catalogue=catalogue,
        above_usd_micros=above,
    )


def as_operator(carry_out: CarryOut, name: str = "ann") -> Handler:
    """Return a handler that orders what a request says."""

    async def handle(request: Request) -> Response:
        return await carry_out(OperatorOrder(name, dict(request.path_params), await request.body()))

    return handle
