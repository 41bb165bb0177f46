"""Prices that an oracle keeps on chain, through the interface of Chainlink's aggregators.

Source of the interface: AggregatorV3Interface of @chainlink/contracts, `latestRoundData()` and
`decimals()`. An aggregator's answer is as reliable as its feeders. The caller limits its age and
its distance from other sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from swap_chains.errors import InconsistentAnswer, NodeRefused
from swap_chains.evm.codec import DECIMALS, WORD, selector
from swap_chains.evm.provider_agreement import Place, read_at_head_of_two
from swap_chains.evm.rpc import Node, Rpc, view_request

ROUND: Final = selector("latestRoundData()")
ROUND_WORDS: Final = 5  # round, answer, began, answered, round again
DECIMALS_MAX: Final = 36
LATEST_MAX: Final = 2**33  # seconds: far from now, and still a date


@dataclass(frozen=True, slots=True)
class FeedAnswer:
    """The newest round of one feed: dollars for a whole token are value ÷ 10^decimals."""

    value: int  # above zero
    decimals: int
    at: datetime


class EvmPriceFeeds:
    """The feeds of one network."""

    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc

    async def latest(self, aggregators: Sequence[str]) -> Mapping[str, FeedAnswer]:
        """Return the answer of each; one without a usable answer is left out.

        Where nodes of two providers are configured, two report the same at the same recent block.

        :raises ChainError: when no node answers, or no two of several alike.
        """
        addresses = list(dict.fromkeys(aggregators))

        async def read(node: Node, place: Place) -> Mapping[str, FeedAnswer]:
            requests = [
                view_request(a, data, place) for a in addresses for data in (ROUND, DECIMALS)
            ]
            answers = await node.batch(requests)
            if not all(isinstance(a, str | NodeRefused) for a in answers):
                raise InconsistentAnswer(node.label, "a call that returns no bytes")
            pairs = zip(addresses, answers[::2], answers[1::2], strict=True)
            found = {a: _answer(round_, decimals) for a, round_, decimals in pairs}
            return {a: answer for a, answer in found.items() if answer is not None}

        return await read_at_head_of_two(self._rpc, read)


def _answer(round_: Any, decimals: Any) -> FeedAnswer | None:
    """Read one feed's words; None where there is no round, no price, or no such contract."""
    words, [places] = _words(round_, ROUND_WORDS), _words(decimals, 1) or [DECIMALS_MAX + 1]
    if len(words) != ROUND_WORDS or places > DECIMALS_MAX:
        return None
    _, value, _, answered_at, _ = words
    is_positive = 0 < value < 2 ** (8 * WORD - 1)  # the answer is signed
    if not is_positive or not 0 < answered_at < LATEST_MAX:
        return None
    return FeedAnswer(value, places, datetime.fromtimestamp(answered_at, UTC))


def _words(answer: Any, count: int) -> list[int]:
    """Return so many words; none when the call was refused or returned something shorter."""
    data = b"" if isinstance(answer, NodeRefused) else bytes.fromhex(answer[2:])
    if len(data) < count * WORD:
        return []
    return [int.from_bytes(data[at : at + WORD]) for at in range(0, count * WORD, WORD)]
