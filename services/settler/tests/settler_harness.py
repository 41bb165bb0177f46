"""The settler's use cases around one unit of work, at a time that the test sets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from services.settler.tests.factories import (
    ETHEREUM,
    MINUTE,
    NOON,
    PAYOUT,
    REQUESTED,
    SIGNER,
    TREASURY,
    a_catalogue,
    a_deposit_message,
    a_quote,
    a_request,
    funding,
)
from services.settler.tests.fakes import FakeUnitOfWork
from swap_chains.fake import FakeChain, FakeReader
from swap_contracts.deposits import DepositChanged
from swap_contracts.envelope import Envelope
from swap_contracts.payouts import PayoutChanged
from swap_contracts.quoting import QuoteAnswer, QuoteQuestion
from swap_contracts.swaps import SwapRequest
from swap_domain.catalogue import NATIVE, Catalogue
from swap_settler.gasless.usecases.expire_authorizations import ExpireAuthorizations
from swap_settler.model.messages.message_mapping import MessageMapper
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.model.swap import Swap
from swap_settler.settling.decide.payouts import abandon_payment
from swap_settler.settling.decide.requotes import RequoteRefusal
from swap_settler.settling.ports import DueRefund, DueRefunds, DueRequote, DueRequotes
from swap_settler.settling.usecases.complete_swaps import CompleteSwaps
from swap_settler.settling.usecases.expire_swaps import ExpireSwaps
from swap_settler.settling.usecases.request_swaps import RequestSwaps
from swap_settler.settling.usecases.requote_swaps import RequoteSwaps
from swap_settler.settling.usecases.settle_deposits import SettleDeposits
from swap_settler.settling.usecases.settle_payouts import SettlePayouts
from swap_settler.settling.usecases.start_refunds import StartRefunds

PPM: Final = 1_000_000
QUOTED_MIN: Final = 100


class NoRefunds:
    """For tests without refunds."""

    async def due(self, network: str, *, limit: int) -> Sequence[DueRefund]:
        return ()


class NoRequotes:
    """For tests with deposits of exactly the requested sum."""

    async def due(self, *, limit: int) -> Sequence[DueRequote]:
        return ()


class Quoter:
    """Offers a configured share of the requested sum, or a refusal."""

    def __init__(self) -> None:
        self.quoted: list[QuoteQuestion] = []
        self.share_ppm = PPM * PAYOUT // REQUESTED
        self.refused: RequoteRefusal | None = None

    async def quote(self, question: QuoteQuestion) -> QuoteAnswer | RequoteRefusal:
        self.quoted.append(question)
        units = int(question.base_units)
        if self.refused is not None or units < QUOTED_MIN:
            return self.refused or RequoteRefusal.BELOW_MINIMUM
        quote = a_quote(requested=units, payout=units * self.share_ppm // PPM)
        return QuoteAnswer(quote=quote, lifetime_seconds=300)


class Settler:
    def __init__(
        self,
        unit_of_work: FakeUnitOfWork | PostgresUnitOfWork,
        refunds: DueRefunds | None = None,
        *,
        requotes: DueRequotes | None = None,
        now: datetime = NOON,
        catalogue: Catalogue | None = None,
    ) -> None:
        catalogue = catalogue or a_catalogue()
        mapper = MessageMapper(catalogue)
        self.now = now
        self._unit_of_work = unit_of_work
        self.quoter = Quoter()
        self.swap_messages = swap_messages = SwapMessages(catalogue)
        self.request_swaps = RequestSwaps(
            unit_of_work, clock=self._clock, swap_messages=swap_messages, catalogue=catalogue
        )
        self.settle_deposits = SettleDeposits(
            unit_of_work, clock=self._clock, mapper=mapper, swap_messages=swap_messages
        )
        self.settle_payouts = SettlePayouts(
            unit_of_work, clock=self._clock, mapper=mapper, swap_messages=swap_messages
        )
        self.chain = FakeChain(
            ETHEREUM, depository=SIGNER, treasury=TREASURY[ETHEREUM], decimals={NATIVE: 18}
        )
        self.start_refunds = StartRefunds(
            unit_of_work,
            refunds=refunds or NoRefunds(),
            chain=FakeReader(self.chain),
            network=a_catalogue().network(ETHEREUM),
            clock=self._clock,
            swap_messages=swap_messages,
        )
        self.requote_swaps = RequoteSwaps(
            unit_of_work,
            requotes=requotes or NoRequotes(),
            pricing=self.quoter,
            clock=self._clock,
            swap_messages=swap_messages,
            patience=10 * MINUTE,
            pause=MINUTE,
        )
        self.expire_authorizations = ExpireAuthorizations(
            unit_of_work, clock=self._clock, swap_messages=swap_messages
        )
        self.complete_swaps = CompleteSwaps(
            unit_of_work, clock=self._clock, swap_messages=swap_messages
        )
        self.expire_swaps = ExpireSwaps(
            unit_of_work, clock=self._clock, swap_messages=swap_messages
        )

    def _clock(self) -> datetime:
        return self.now

    async def requests(self, *messages: Envelope[SwapRequest]) -> None:
        await self.request_swaps(messages)

    async def deposits(self, *messages: Envelope[DepositChanged]) -> None:
        await self.settle_deposits(messages)

    async def payouts(self, *messages: Envelope[PayoutChanged]) -> None:
        await self.settle_payouts(messages)

    async def abandon(self, swap: Swap, intent_id: UUID) -> None:
        """Abandon a payment that is proven dead."""
        because = "no transaction of its slot paid it"
        change = abandon_payment(swap, intent_id, at=self.now, because=because, failures=1)
        async with self._unit_of_work() as work:
            await work.flush([change], self.swap_messages.outgoing([change], at=self.now))

    async def paid_for(self, *numbers: int) -> None:
        """Request swaps and confirm their deposits, so that their payouts are reserved."""
        await self.deposits(funding())
        await self.requests(*(a_request(number) for number in numbers or (7,)))
        await self.deposits(*(a_deposit_message(number=number) for number in numbers or (7,)))
