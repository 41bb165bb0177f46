"""Assigns each fake to its port. mypy checks it; nothing runs this module."""

from __future__ import annotations

from libs.runtime.tests.fakes import FakeParking, FakeProducer
from services.api.tests.fake_chains import (
    FakeChains,
    FakeChainTransactions,
    FakeDepositAddresses,
    FakeDepositories,
    FakeWallets,
)
from services.api.tests.fake_pricing import FakePricing
from services.api.tests.fake_webhooks import FakeWebhooks
from services.settler.tests.fakes import FakeRequotes, FakeUnitOfWork, FixedPrices
from services.settler.tests.model_world import Prices
from services.settler.tests.settler_harness import Quoter
from swap_api.funding.ports import (
    DepositAddresses,
    Depositories,
    GaslessChains,
    TokenAllowances,
    Wallets,
)
from swap_api.management.ports import WebhookEndpoints
from swap_api.swaps.ports import ChainTransactions, Pricing
from swap_chains.fake import FakeReader, FakeSender
from swap_chains.ports import ChainReader, ChainSender
from swap_domain.catalogue import Catalogue
from swap_runtime.messaging.parking import Parking
from swap_runtime.messaging.relay import Producer
from swap_settler.model.ports import UnitOfWork, Work
from swap_settler.operator import ports as settler
from swap_settler.settling import ports as settling
from swap_settler.settling.ports import (
    DepositWork,
    DueRefunds,
    DueRequotes,
    PayoutWork,
    RequestWork,
)
from swap_settler.sweeping.ports import Withdrawals, WithdrawalWork


def of_runtime() -> tuple[Parking, Producer]:
    return FakeParking(), FakeProducer()


def of_chains(reader: FakeReader, sender: FakeSender) -> tuple[ChainReader, ChainSender]:
    return reader, sender


def of_settler() -> tuple[UnitOfWork[Work], DueRefunds, DueRequotes]:
    work = FakeUnitOfWork()
    return work, work, FakeRequotes(work)


def of_consumers() -> tuple[
    UnitOfWork[RequestWork], UnitOfWork[DepositWork], UnitOfWork[PayoutWork]
]:
    work = FakeUnitOfWork()
    return work, work, work


def of_withdrawals() -> tuple[UnitOfWork[WithdrawalWork], Withdrawals]:
    work = FakeUnitOfWork()
    return work, work


def of_the_quoter() -> tuple[settler.Prices, settling.Pricing, settling.Pricing]:
    return FixedPrices(), Quoter(), Prices()


def of_the_api_on_chains() -> tuple[GaslessChains, TokenAllowances, Wallets, ChainTransactions]:
    return FakeChains(), FakeChains(), FakeWallets(), FakeChainTransactions()


def of_the_api(
    catalogue: Catalogue,
) -> tuple[Pricing, WebhookEndpoints, Depositories, DepositAddresses]:
    return FakePricing(catalogue), FakeWebhooks(), FakeDepositories(), FakeDepositAddresses()
