"""What sending money back costs on a network."""

from __future__ import annotations

from swap_domain.catalogue import Network
from swap_settler.model.swap import Swap
from swap_settler.settling.decide.refunds import cost_of, has_address


def refund_cost(network: Network, swap: Swap, *, fee: int, data_fee: int) -> int:
    """Return what a refund of a swap may cost, in base units of the source token.

    :param fee: of a unit of gas.
    :param data_fee: what the chain charges for the bytes of one transaction.
    """
    native, gas = network.native, network.gas
    is_native = swap.terms.source.token == native.address
    units = gas.pay_native if is_native else gas.pay_erc20
    if has_address(swap):
        units += gas.sweep_native if is_native else gas.sweep_erc20
        data_fee *= 2  # the sweep is a separate transaction
    return cost_of(
        swap,
        gas=units,
        max_fee_per_gas=fee,
        native_decimals=native.decimals,
        data_fee=data_fee,
    )
