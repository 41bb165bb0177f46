"""An unsolicited token at a deposit address is swept by an operator's order."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from swap_chains.evm.codec import checksum_address
from swap_domain.catalogue import Catalogue
from swap_runtime.errors import RequestRefused
from swap_settler.operator import observe
from swap_settler.operator.store.sweep_orders import PostgresSweepOrders


@dataclass(frozen=True, slots=True)
class SweepOrder:
    """The token and address to sweep: it is not swept automatically, because of its gas."""

    network: str
    address: str
    token: str  # a symbol, or an address
    by: str
    reason: str


class OrderManualSweep:
    """Order it; once it is swept, its owner is paid as for anything that waits for one."""

    def __init__(self, orders: PostgresSweepOrders, *, catalogue: Catalogue) -> None:
        self._orders = orders
        self._catalogue = catalogue

    async def __call__(self, order: SweepOrder) -> None:
        """
        :raises RequestRefused: when nothing of it stands there.
        """
        network = self._catalogue.networks.get(order.network)
        token = None if network is None else network.find_token(order.token)
        if token is None:
            raise RequestRefused(f"{order.token} is not a token of {order.network}")
        try:
            address = checksum_address(order.address)
        except ValueError as error:
            raise RequestRefused(f"{order.address} is not an address") from error
        if not await self._orders.order(order.network, address, token.address):
            raise RequestRefused(f"no {token.symbol} of {order.network} stands at {address}")
        observe.sweep_ordered({**asdict(order), "token": token.address})
