"""An internal port with operators, for tests of operators' reads and orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import uuid4

from swap_runtime.clock import Clock, utc_now
from swap_runtime.http.internal import Internal
from swap_runtime.operators.admin_routes import AdminRoute, OrderRoute
from swap_runtime.operators.identities import KnownOperator, Operator, Operators, token_hash
from swap_runtime.operators.order_desk import OrderDesk
from swap_runtime.operators.proposals import Proposals
from swap_runtime.postgres.database import Engine


def internal_port(
    engine: Engine,
    tokens: Mapping[str, Operator],
    *,
    reads: Sequence[AdminRoute] = (),
    orders: Sequence[OrderRoute] = (),
    clock: Clock = utc_now,
    lifetime: timedelta = timedelta(days=1),
) -> Internal:
    """Return an internal port that accepts these tokens."""
    known = [KnownOperator(operator, token_hash(token)) for token, operator in tokens.items()]
    return internal_port_of(
        engine, known, reads=reads, orders=orders, clock=clock, lifetime=lifetime
    )


def internal_port_of(
    engine: Engine,
    known: Sequence[KnownOperator],
    *,
    reads: Sequence[AdminRoute] = (),
    orders: Sequence[OrderRoute] = (),
    clock: Clock = utc_now,
    lifetime: timedelta = timedelta(days=1),
) -> Internal:
    """Return an internal port for these identities."""

    async def nothing() -> dict[str, str]:
        return {}

    operators = Operators(known, clock=clock)
    return Internal(
        operators=operators,
        desk=OrderDesk(
            engine,
            operators=operators,
            proposals=Proposals(engine, lifetime=lifetime),
            new_id=uuid4,
        ),
        alive=dict,
        ready=nothing,
        notes=dict,
        note_checks=nothing,
        admin=reads,
        orders=orders,
    )
