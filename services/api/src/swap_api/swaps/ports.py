"""What the api needs from the outside, in its own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from swap_api.admission.ports import Claim
from swap_api.model.gasless import (
    SignRequest,
)
from swap_api.read_model.swaps import StoredSwap, SwapRow
from swap_api.swaps.decide.orders import ReadAmount
from swap_api.swaps.decide.reach import Reached
from swap_api.swaps.lookup_ports import NetworkState, Posting, SwapEvent
from swap_chains.evm.transaction_lookup import LocatedTransaction
from swap_contracts.explaining import QuoterExplanationModel
from swap_contracts.quoting import (
    LimitsAnswer,
    PricesAnswer,
    Quote,
    QuoteAnswer,
    QuoteQuestion,
    RangesAnswer,
    RouteQuestion,
)
from swap_contracts.swaps import SwapChanged, SwapRequested
from swap_domain.catalogue import Network, Token
from swap_runtime.messaging.outbox import Outgoing


@dataclass(frozen=True, slots=True)
class NewSwap:
    """Everything that one creation saves."""

    row: SwapRow
    outgoing: Outgoing
    claim: Claim | None
    answer: bytes
    sign_request: SignRequest | None = None


class SequenceNumberTaken(Exception):
    """Another swap has the number: take a new one."""


class NamesOwnAddress(Exception):
    """Somebody would be paid, or pay, at a deposit address of another swap's."""

    def __init__(self, addresses: frozenset[str]) -> None:
        super().__init__()
        self.addresses = addresses  # in lower case


class Creations(Protocol):
    async def add(self, new: NewSwap) -> None:
        """Save the swap, its message and its answer, all or nothing.

        :raises SequenceNumberTaken: when it has to be tried with another number.
        :raises NamesOwnAddress: when one of its addresses belongs to another swap.
        :raises ApiRefusal: when the claim was lost meanwhile.
        :raises Unavailable: when Postgres is away.
        """
        ...


class OwnAddresses(Protocol):
    async def among(self, addresses: Sequence[str]) -> frozenset[str]:
        """Return which of the addresses, in lower case, are deposit addresses of swaps.

        :raises Unavailable: when Postgres is away.
        """
        ...


class UnpaidSwaps(Protocol):
    async def count(self, app_id: UUID, client: str | None, *, up_to: int) -> int:
        """Return how many swaps of the caller wait for money, counted up to a bound."""
        ...

    async def count_addresses(self, network: str, app_id: UUID | None, *, up_to: int) -> int:
        """Return how many deposit addresses of an app, or of all, wait for money on a network."""
        ...


class Hints(Protocol):
    async def source_network(self, app_id: UUID, swap_id: UUID) -> str | None:
        """Return where a swap's money comes from; None when the app has no such swap."""
        ...

    async def add(self, swap_id: UUID, transaction_hash: str, outgoing: Outgoing) -> bool:
        """Keep the hint and add the message; False when it was given before, or is too many."""
        ...

    async def has_hint(self, app_id: UUID, network: str, transaction_hash: str) -> bool:
        """Whether a hint for a swap of the app, from that network, names the transaction.

        :param transaction_hash: in lower case.
        :raises Unavailable: when Postgres is away.
        """
        ...


class RefundAddresses(Protocol):
    async def source_network(self, app_id: UUID, swap_id: UUID) -> str | None:
        """Return where a swap's money comes from; None when the app has no such swap."""
        ...

    async def set_first(self, swap_id: UUID, address: str, outgoing: Outgoing) -> bool:
        """Set the address and add the message; False when there is another one.

        The same one again is no news.
        """
        ...


class ReadModel(Protocol):
    async def apply(self, message_ids: Sequence[UUID], rows: Sequence[SwapRow]) -> None:
        """Save what is newer than what is there; one transaction, one statement per table."""
        ...


class Pricing(Protocol):
    """The quoter.

    Every method raises Unavailable when it does not answer in time.
    """

    async def quote(self, question: QuoteQuestion) -> QuoteAnswer:
        """
        :raises PriceRefused: when the quoter says no.
        """
        ...

    async def limits(self, question: RouteQuestion) -> LimitsAnswer:
        """
        :raises PriceRefused: when the quoter says no.
        """
        ...

    async def ranges(self, question: RouteQuestion) -> RangesAnswer:
        """
        :raises PriceRefused: when the quoter says no.
        """
        ...

    async def prices(self) -> PricesAnswer: ...


class PriceRefused(Exception):
    """The quoter says no, in its own code and words."""

    def __init__(self, code: str, message: str, limit_base_units: int | None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.limit_base_units = limit_base_units


class Rendering(Protocol):
    """From what is known to the bytes that are answered."""

    def new_swap(self, request: SwapRequested) -> SwapRow: ...

    def swap(self, swap: SwapChanged) -> SwapRow: ...

    def prepared(
        self,
        stored: StoredSwap,
        heads: Mapping[str, int],
        *,
        with_actions: bool = True,
        next_action: bytes = b"null",
    ) -> bytes: ...

    def events(self, events: Sequence[SwapEvent]) -> Sequence[bytes]: ...

    def ledger(self, postings: Sequence[Posting]) -> bytes: ...

    def transaction(
        self, stored: StoredSwap, heads: Mapping[str, int], *, network: str, transaction_id: str
    ) -> bytes | None: ...

    def located_transaction(
        self, network: Network, transaction_hash: str, located: LocatedTransaction, head: int
    ) -> bytes: ...

    def status(
        self, networks: Sequence[str], states: Mapping[str, NetworkState], *, at: datetime
    ) -> bytes: ...

    def quoted(self, quote: Quote) -> bytes: ...

    def explained(
        self, quote: Quote, explanation: QuoterExplanationModel, amount: ReadAmount
    ) -> bytes: ...

    def limits(self, answer: LimitsAnswer, source: Token, *, native: bool) -> bytes: ...

    def ranges(self, answer: RangesAnswer, source: Token) -> bytes: ...

    def rates(self, answer: RangesAnswer, source: Token) -> bytes: ...

    def amount(self, base_units: int, token: Token, *, is_minimum: bool) -> Any: ...

    def networks(self, prices: Mapping[tuple[str, str], int], types: Sequence[str]) -> bytes: ...

    def reached(
        self, reached: Sequence[Reached], prices: Mapping[tuple[str, str], int]
    ) -> bytes: ...
