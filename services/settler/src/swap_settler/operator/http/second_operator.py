"""Which orders wait for a second operator: the stake of each order's body.

An invalid body needs no approval: the order itself is refused.
"""

from __future__ import annotations

from typing import Final

from swap_runtime.operators.admin_routes import OperatorOrder
from swap_settler.forms import read_form, read_id, skips_wrong_forms
from swap_settler.operator.decide.signer import EVERYWHERE
from swap_settler.operator.http.blocked import AddressForm
from swap_settler.operator.http.caps import LiftedCap, NewCap, payment_id
from swap_settler.operator.http.claims import BALANCE, AttachForm, PayForm
from swap_settler.operator.http.rescues import read_return
from swap_settler.operator.http.stops import LiftForm
from swap_settler.operator.usecases.weigh_orders import WeighOrders

RETURNS: Final = "a token that no catalogue knows has no price, and its return cannot be undone"


class SecondOperator:
    def __init__(self, weigh_orders: WeighOrders) -> None:
        self._weigh_orders = weigh_orders

    @skips_wrong_forms
    async def pays_claimable(self, order: OperatorOrder) -> str | None:
        id, form = read_id(order, of=BALANCE), read_form(order, PayForm)
        return await self._weigh_orders.of_claimable(id, base_units=int(form.base_units))

    @skips_wrong_forms
    async def attaches_claimable(self, order: OperatorOrder) -> str | None:
        id, form = read_id(order, of=BALANCE), read_form(order, AttachForm)
        return await self._weigh_orders.of_claimable(id, base_units=int(form.base_units))

    @skips_wrong_forms
    async def pays_fee(self, order: OperatorOrder) -> str | None:
        id, form = read_id(order, of=BALANCE), read_form(order, PayForm)
        return await self._weigh_orders.of_fee(id, base_units=int(form.base_units))

    @skips_wrong_forms
    async def sets_cap(self, order: OperatorOrder) -> str | None:
        form = read_form(order, NewCap)
        return await self._weigh_orders.of_new_cap(form.name, form.limit)

    @skips_wrong_forms
    async def lifts_cap(self, order: OperatorOrder) -> str | None:
        form = read_form(order, LiftedCap)
        return await self._weigh_orders.of_lifted_cap(form.name)

    @skips_wrong_forms
    async def grants_pass(self, order: OperatorOrder) -> str | None:
        return await self._weigh_orders.of_payment(payment_id(order))

    @skips_wrong_forms
    async def lifts_stop(self, order: OperatorOrder) -> str | None:
        form = read_form(order, LiftForm)
        if form.is_of_losses:  # what came from one network is paid on all of them
            return await self._weigh_orders.of_everything()
        return await self._weigh_orders.of_stop(form.where)

    @skips_wrong_forms
    async def lifts_block(self, order: OperatorOrder) -> str | None:
        """Return the stake of payments to the addresses afterwards, as of a lifted stop."""
        form = read_form(order, AddressForm)
        return await self._weigh_orders.of_stop(form.network or EVERYWHERE)

    @skips_wrong_forms
    async def returns_tokens(self, order: OperatorOrder) -> str | None:
        """Return it for every right order: what has no price counts as above each amount."""
        read_return(order)
        return RETURNS

    async def resumes_signers(self, order: OperatorOrder) -> str | None:
        return await self._weigh_orders.of_stop(order.target["network"])

    async def ends_hold(self, _: OperatorOrder) -> str | None:
        """Return the stake of what a recovery holds, as of a stop of every network."""
        return await self._weigh_orders.of_everything()
