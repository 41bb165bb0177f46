"""Reads from a chain whether its Depository accepts deposits now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from swap_chains.errors import InconsistentAnswer
from swap_chains.evm import codec
from swap_chains.evm.gasless import PAUSED
from swap_chains.evm.rpc import Node, Request, Rpc, view_request

IS_PAUSED: Final = "it is paused"
IS_NOT_LISTED: Final = "it does not list the Treasury"


async def depository_findings(
    rpc: Rpc, *, chain_id: int, depository: str, treasury: str
) -> Sequence[str]:
    """Return why deposits are impossible at the head of the chain; nothing while they work.

    Only the contract's own answer counts: without one, another node is queried.

    :raises ChainError: when no node of that chain answers.
    """
    questions = [
        Request("eth_chainId"),
        view_request(depository, PAUSED),
        view_request(depository, codec.encode_is_whitelisted(treasury)),
    ]

    async def read(node: Node) -> Sequence[str]:
        chain, paused, listed = await node.batch(questions)
        try:
            actual = codec.from_quantity(chain)
            is_paused, is_listed = _yes_or_no(paused), _yes_or_no(listed)
        except ValueError as error:
            raise InconsistentAnswer(node.label, f"nothing of {depository}: {error}") from error
        if actual != chain_id:
            raise InconsistentAnswer(node.label, f"serves chain {actual}, not {chain_id}")
        verdicts = ((IS_PAUSED, is_paused), (IS_NOT_LISTED, not is_listed))
        return [finding for finding, is_so in verdicts if is_so]

    return await rpc.on_one_node(read)


def _yes_or_no(answer: Any) -> bool:
    return codec.decode_bool(codec.from_hex(answer))
