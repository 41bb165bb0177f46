"""What the api needs from the outside, in its own words."""

from __future__ import annotations

from typing import Protocol

from swap_chains.evm.transaction_lookup import LocatedTransaction
from swap_contracts.quoting import (
    LimitsAnswer,
    PricesAnswer,
    QuoteAnswer,
    QuoteQuestion,
    RangesAnswer,
    RouteQuestion,
)
from swap_domain.catalogue import Network


class Pricing(Protocol):
    """The quoter.

    Every method raises Unavailable when it does not answer in time.
    """

    async def quote(self, question: QuoteQuestion) -> QuoteAnswer:
        """
        :raises PriceRefused: when the quoter refuses.
        """
        ...

    async def limits(self, question: RouteQuestion) -> LimitsAnswer:
        """
        :raises PriceRefused: when the quoter refuses.
        """
        ...

    async def ranges(self, question: RouteQuestion) -> RangesAnswer:
        """
        :raises PriceRefused: when the quoter refuses.
        """
        ...

    async def prices(self) -> PricesAnswer: ...


class PriceRefused(Exception):
    """The quoter refuses, with its own code and text."""

    def __init__(self, code: str, message: str, limit_base_units: int | None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.limit_base_units = limit_base_units


class ChainTransactions(Protocol):
    """The nodes, queried about single transactions."""

    async def locate(self, network: Network, transaction_hash: str) -> LocatedTransaction:
        """Return where the transaction is; the answer may be a second old.

        :param transaction_hash: in lower case.
        :raises Unavailable: when no node answers in time, or too many questions wait.
        """
        ...
