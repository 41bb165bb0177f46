"""Decides which orders wait for a second operator's approval, by their stake."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from swap_domain.catalogue import Catalogue
from swap_settler.operator.decide.signer import EVERYWHERE
from swap_settler.operator.decide.stakes import (
    Amount,
    CapLimit,
    CapName,
    second_operator_reason,
    usd_micros_of,
)
from swap_settler.operator.ports import Prices
from swap_settler.operator.store.stakes import PostgresStakes
from swap_settler.operator.usecases.manage_caps import with_address


class WeighOrders:
    """Each method returns why a second operator has to approve; None where one is enough."""

    def __init__(
        self, stakes: PostgresStakes, prices: Prices, *, catalogue: Catalogue, above_usd_micros: int
    ) -> None:
        self._stakes = stakes
        self._prices = prices
        self._catalogue = catalogue
        self._above = above_usd_micros
        self._decimals = {
            (network.name, token.address): token.decimals
            for network in catalogue.networks.values()
            for token in network.tokens
        }

    async def of_claimable(self, id: int, *, base_units: int) -> str | None:
        """Return it for a balance that is paid, or given to a swap."""
        return await self._of_balance(await self._stakes.claimable(id), base_units)

    async def of_fee(self, id: int, *, base_units: int) -> str | None:
        """Return it for the whole debt: parts of it might each be below the amount."""
        return await self._of_balance(await self._stakes.partner_fee(id), base_units)

    async def of_payment(self, id: UUID) -> str | None:
        """Return it for a payment that is let through its caps."""
        payment = await self._stakes.payment(id)
        return None if payment is None else await self._of_amounts([payment])

    async def of_stop(self, network: str) -> str | None:
        """Return it for a stop that is lifted: all that may leave there is at stake."""
        is_there = self._is_on(network)
        return await self._of_amounts([a for a in await self._stakes.inventory() if is_there(a)])

    async def of_everything(self) -> str | None:
        """Return it for a stop that holds payments on every network."""
        return await self.of_stop(EVERYWHERE)

    async def of_new_cap(self, name: CapName, limit: CapLimit) -> str | None:
        """Return it for a cap that is raised; a new or a lower one bounds what was free."""
        present = await self._stakes.cap(with_address(self._catalogue, name))
        if present is None or not limit.is_above(present):
            return None
        return await self.of_limit(name, limit)

    async def of_limit(self, name: CapName, limit: CapLimit) -> str | None:
        """Return it for what a cap lets leave at once or in a day, whatever it was before."""
        token = with_address(self._catalogue, name).token
        if token is None:
            return second_operator_reason(limit.units_a_day, above=self._above)
        return await self._of_amounts([Amount(name.network, token, limit.units_a_day)])

    async def of_lifted_cap(self, name: CapName) -> str | None:
        """Return it for a cap that is taken away: all that it bounds is at stake."""
        token = with_address(self._catalogue, name).token
        return await self._of_amounts(
            [
                amount
                for amount in await self._stakes.inventory()
                if amount.network == name.network and token in (None, amount.token)
            ]
        )

    async def _of_balance(self, balance: Amount | None, base_units: int) -> str | None:
        """Return it for the whole balance; where there is none, the order itself is refused."""
        if balance is None:
            return None
        # It may become what is ordered before the order is carried out.
        units = max(balance.base_units, base_units)
        return await self._of_amounts([Amount(balance.network, balance.token, units)])

    async def _of_amounts(self, amounts: Sequence[Amount]) -> str | None:
        prices = await self._prices.current()
        at_stake = usd_micros_of(amounts, prices=prices, decimals=self._decimals)
        return second_operator_reason(at_stake, above=self._above)

    def _is_on(self, network: str) -> Callable[[Amount], bool]:
        return lambda amount: network in (EVERYWHERE, amount.network)
