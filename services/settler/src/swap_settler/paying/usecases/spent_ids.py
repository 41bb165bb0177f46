"""Which payment ids a Treasury has spent."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from swap_chains.events import Block
from swap_chains.evm.codec import encode_is_paid
from swap_chains.ports import Call, ChainReader
from swap_runtime.errors import Unavailable

VIEW_GAS: Final = 100_000
VIEW_CALLER: Final = "0x" + "0" * 40  # a view returns the same to every caller
CALLS_AT_ONCE: Final = 200


async def find_spent_ids(
    chain: ChainReader, treasury: str, ids: Iterable[int], *, at: Block | None = None
) -> frozenset[int]:
    """Return the ids that the Treasury has paid, to any recipient.

    :param at: the state of this block; None for the newest.
    :raises Unavailable: when a node does not answer for one of them.
    :raises ChainError: when no node gives a usable answer.
    """
    spent: set[int] = set()
    rest = iter(ids)
    while some := list(islice(rest, CALLS_AT_ONCE)):
        calls = [Call(treasury, 0, encode_is_paid(paid_id), VIEW_GAS) for paid_id in some]
        results = await chain.simulate(calls, sender=VIEW_CALLER, at=at)
        for paid_id, result in zip(some, results, strict=True):
            if not result.succeeded:
                raise Unavailable(
                    f"no node of {chain.network} reports whether {paid_id} is paid: {result.text}"
                )
            if int.from_bytes(result.data, "big"):
                spent.add(paid_id)
    return frozenset(spent)
