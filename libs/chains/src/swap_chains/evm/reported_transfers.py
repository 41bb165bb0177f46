"""Transfers of tokens that are not followed: the movements that any contract reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from swap_chains.evm import codec
from swap_chains.ports import ReportedTransfer

_TOPICS: Final = 3
_DIGITS_OF_A_WORD: Final = 2 + 64


class _Log(Protocol):
    @property
    def address(self) -> str: ...

    @property
    def topics(self) -> tuple[str, ...]: ...

    @property
    def data(self) -> str: ...


def in_logs(logs: Iterable[_Log]) -> tuple[ReportedTransfer, ...]:
    """Read the logs that have the form of an ERC-20 transfer, from any contract."""
    return tuple(
        ReportedTransfer(
            token=codec.checksum_address(log.address),
            from_address=codec.checksum_address("0x" + log.topics[1][-40:]),
            to_address=codec.checksum_address("0x" + log.topics[2][-40:]),
            base_units=int(log.data, 16),
        )
        for log in logs
        if len(log.topics) == _TOPICS
        and log.topics[0] == codec.TRANSFER
        and len(log.data) == _DIGITS_OF_A_WORD
    )
