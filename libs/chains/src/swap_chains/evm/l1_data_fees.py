"""What a rollup charges for putting a transaction's bytes on the chain below it.

Source of the interface: GasPriceOracle of the OP stack (predeploy 0x42…0F since its Fjord upgrade),
`getL1FeeUpperBound(uint256 unsignedTxSize)`. An upper bound is what a quote needs: what was really
charged is booked from the receipt.
"""

from __future__ import annotations

from typing import Any, Final

from swap_chains.errors import InconsistentAnswer, NodeRefused
from swap_chains.evm.codec import WORD, selector, uint_word
from swap_chains.evm.rpc import Node, Rpc, view_request
from swap_domain.catalogue import L1DataFee

UPPER_BOUND: Final = selector("getL1FeeUpperBound(uint256)")


class L1DataFees:
    """The fee of one network, for a transaction of at most so many bytes."""

    def __init__(self, rpc: Rpc, *, oracle: str, transaction_bytes: int, max_wei: int) -> None:
        """
        :param max_wei: a higher answer of the oracle is refused.
        """
        self._request = view_request(oracle, UPPER_BOUND + uint_word(transaction_bytes))
        self._rpc = rpc
        self._max_wei = max_wei

    async def upper_bound(self) -> int:
        """Return the most that one transaction costs there now, in wei.

        :raises ChainUnavailable: when no node gives a usable answer.
        """

        async def read(node: Node) -> int:
            [answer] = await node.batch([self._request])
            fee = _fee(answer)
            if fee is None or fee > self._max_wei:
                raise InconsistentAnswer(node.label, f"an L1 data fee of {fee}")
            return fee

        return await self._rpc.on_one_node(read)


def l1_data_fees(rpc: Rpc, config: L1DataFee) -> L1DataFees:
    """Return the client of the catalogue's oracle."""
    return L1DataFees(
        rpc,
        oracle=config.oracle,
        transaction_bytes=config.transaction_bytes,
        max_wei=config.max_wei,
    )


def _fee(answer: Any) -> int | None:
    """Read one word; None where the call was refused, or there is no such contract."""
    if isinstance(answer, NodeRefused) or not isinstance(answer, str):
        return None
    data = bytes.fromhex(answer[2:])
    return int.from_bytes(data) if len(data) == WORD else None
