"""What the api needs from the outside, in its own words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from swap_api.domain.gasless import (
    GaslessSwap,
    SignRequest,
)
from swap_api.domain.keys import Caller
from swap_api.domain.listing import SwapFilter
from swap_api.domain.members import Actor
from swap_api.domain.orders import ReadAmount
from swap_api.domain.rate_limits import Count, Quota
from swap_api.domain.reach import Reached
from swap_api.lookup_ports import NetworkState, Posting, SwapEvent
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

Clock = Callable[[], datetime]
NewId = Callable[[], UUID]
NewSequenceNumber = Callable[[], int]


@dataclass(frozen=True, slots=True)
class Gap:
    """A transaction that is not final: its confirmations are filled in when it is read."""

    network: str
    block_number: int
    confirmations_required: int


@dataclass(frozen=True, slots=True)
class Rendered:
    """A swap's answer, made once and completed with each read."""

    document: bytes
    gaps: tuple[Gap, ...]
    action: bytes | None  # what the user has to do now, if anything
    step_status: str


@dataclass(frozen=True, slots=True)
class StoredSwap:
    app_id: UUID
    expires_at: datetime
    rendered: Rendered
    gasless: GaslessSwap | None = None
    sign_template: bytes | None = None  # the action of a gasless swap, before anybody is asked
    sequence: int = 0  # of the last change that is stored
    decided_sequence: int = 0  # of the last one that the settler had decided when this was read

    @classmethod
    def of(
        cls, app_id: UUID, expires_at: datetime, rendered: Rendered, gasless: GaslessSwap | None
    ) -> StoredSwap:
        """Build what is read; a gasless swap has no action until a signer is known."""
        if gasless is None:
            return cls(app_id, expires_at, rendered)
        bare = replace(rendered, action=None)
        return cls(app_id, expires_at, bare, gasless, rendered.action)


@dataclass(frozen=True, slots=True)
class SwapPage:
    swaps: tuple[StoredSwap, ...]
    total: int  # counted up to a bound
    has_more: bool


@dataclass(frozen=True, slots=True)
class SwapRow:
    """A swap as the read model keeps it."""

    swap: SwapChanged
    rendered: Rendered
    is_unpaid: bool
    client: str | None = None
    gasless: GaslessSwap | None = None
    deposit_address: str | None = None  # that is this swap's own


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to answer a request with an idempotency key."""

    app_id: UUID  # or who else owns the key: see `domain.keys.idempotency_owner`
    key: str
    body_hash: bytes
    token: UUID


@dataclass(frozen=True, slots=True)
class Replay:
    """The first answer to the same request."""

    answer: bytes


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


class Callers(Protocol):
    async def find(self, key: str) -> Caller | None:
        """Return whose key it is; None when it is unknown or revoked.

        :raises Unavailable: when that cannot be looked up.
        """
        ...

    def recall(self, key: str) -> Caller | None:
        """Return whose key it was when it was last looked up, however long ago."""
        ...


class AccessTokens(Protocol):
    async def identify(self, token_hash: bytes, at: datetime) -> Actor | None:
        """Return whose token it is; None when it is unknown, revoked, or ran out.

        :raises Unavailable: when that cannot be looked up.
        """
        ...


class Counters(Protocol):
    async def add(self, quotas: Sequence[Quota]) -> Sequence[Count]:
        """Count a request in all of the quotas, or in none when it is too much for one of them.

        Never raises, and answers in bounded time.
        """
        ...


class Idempotency(Protocol):
    async def claim(self, claim: Claim) -> Replay | None:
        """Take the right to answer, or return the first answer.

        :raises ApiRefusal: when another body used the key, or the first request still runs.
        """
        ...

    async def begin(self, claim: Claim) -> None:
        """Let nobody else do what the claim is for, even if this process dies in the middle.

        Who asks again later is given an empty answer, unless one was saved.

        :raises ApiRefusal: when the claim was lost meanwhile.
        """
        ...

    async def save(self, claim: Claim, swap_id: UUID | None, answer: bytes) -> None:
        """Keep what was answered, about a swap perhaps, if the claim was not lost meanwhile."""
        ...

    async def release(self, claim: Claim) -> None:
        """Give the right back where nothing was created; what was answered stays.

        Where that is not possible now, the right ends by itself a little later.
        """
        ...


class Creations(Protocol):
    async def add(self, new: NewSwap) -> None:
        """Save the swap, its message and its answer, all or nothing.

        :raises SequenceNumberTaken: when it has to be tried with another number.
        :raises NamesOwnAddress: when one of its addresses belongs to another swap.
        :raises ApiRefusal: when the claim was lost meanwhile.
        :raises Unavailable: when Postgres is away.
        """
        ...


class DepositAddresses(Protocol):
    async def verify(self, network: Network) -> None:
        """Make sure that the network's factory computes deposit addresses as we do, once.

        :raises ApiRefusal: while no node tells, or when it does not.
        """
        ...


class Depositories(Protocol):
    async def findings(self, network: Network) -> Sequence[str]:
        """Return what speaks against deposits through the Depository; nothing while it is open.

        :raises Unavailable: when no node tells.
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


class Swaps(Protocol):
    async def find(self, swap_id: UUID) -> StoredSwap | None: ...

    async def find_by_hash(
        self, app_id: UUID, transaction_hash: str
    ) -> tuple[UUID, StoredSwap] | None:
        """Return the app's newest swap that has the transaction."""
        ...

    async def list_page(self, wanted: SwapFilter) -> SwapPage: ...


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


class Heads(Protocol):
    async def current(self) -> Mapping[str, int]:
        """Return the newest watched block of each network."""
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
