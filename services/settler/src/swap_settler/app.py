"""Builds the settler. The only module that knows every concrete class."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import aiohttp

from swap_chains.evm.codec import checksum_address
from swap_chains.evm.l1_data_fees import l1_data_fees
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Rpc, open_session
from swap_domain.catalogue import Catalogue
from swap_runtime.catalogue import load_catalogue
from swap_runtime.logging import configure_logging
from swap_runtime.screening import (
    BlockList,
    FreshList,
    NobodysAddresses,
    Screening,
    Screenings,
    ScreeningService,
)
from swap_runtime.service import Service, run
from swap_settler.adapters.blocked import PostgresBlocked
from swap_settler.adapters.caps import PostgresCaps
from swap_settler.adapters.chains import open_reader, open_rpc
from swap_settler.adapters.channels import REQUOTE_DUE
from swap_settler.adapters.claims import PostgresClaimUnitOfWork
from swap_settler.adapters.due_refunds import PostgresDueRefunds
from swap_settler.adapters.due_requotes import PostgresDueRequotes
from swap_settler.adapters.due_sweeps import PostgresDueSweeps
from swap_settler.adapters.dwelling import PostgresDwelling
from swap_settler.adapters.foreign import PostgresForeignNonces, PostgresForeignUnitOfWork
from swap_settler.adapters.losses import PostgresLosses
from swap_settler.adapters.partner_fees import PostgresFeeUnitOfWork
from swap_settler.adapters.quoter import HttpPrices, HttpPricing
from swap_settler.adapters.records import PostgresRecords
from swap_settler.adapters.rescues import PostgresRescues
from swap_settler.adapters.signers import PostgresSigners
from swap_settler.adapters.stops import PostgresStops
from swap_settler.adapters.sweep_orders import PostgresSweepOrders
from swap_settler.adapters.taken import PostgresTakenUnitOfWork
from swap_settler.adapters.unit_of_work import PostgresUnitOfWork
from swap_settler.adapters.withdrawal_work import PostgresWithdrawals
from swap_settler.domain.dwelling import Dwell
from swap_settler.handlers import deposits, payouts, requests
from swap_settler.http.admin import Admin
from swap_settler.http.blocked import BlockedAdmin
from swap_settler.http.caps import CapAdmin
from swap_settler.http.claims import ClaimAdmin
from swap_settler.http.explaining import ExplainAdmin
from swap_settler.http.partner_fees import FeeAdmin
from swap_settler.http.rescues import RescueAdmin
from swap_settler.http.signers import SignerAdmin
from swap_settler.http.stops import StopAdmin
from swap_settler.http.sweeps import SweepAdmin
from swap_settler.lanes import add_lanes
from swap_settler.recovering import add_recovery
from swap_settler.settings import SettlerGroup, SettlerSettings
from swap_settler.usecases.announcing import Announcer
from swap_settler.usecases.attach_claimable import AttachClaimable
from swap_settler.usecases.book_sweeps import BookSweeps
from swap_settler.usecases.book_withdrawals import BookWithdrawals
from swap_settler.usecases.close_foreign import CloseForeign
from swap_settler.usecases.complete_swaps import CompleteSwaps
from swap_settler.usecases.expire_authorizations import ExpireAuthorizations
from swap_settler.usecases.expire_swaps import ExpireSwaps
from swap_settler.usecases.explain_payments import ExplainPayments
from swap_settler.usecases.facts import Facts
from swap_settler.usecases.give_up_waiting import GiveUpWaiting
from swap_settler.usecases.guard_losses import GuardLosses
from swap_settler.usecases.inspect_swaps import InspectSwaps
from swap_settler.usecases.keep_blocked import KeepBlocked
from swap_settler.usecases.keep_caps import KeepCaps
from swap_settler.usecases.list_claimable import ListClaimable
from swap_settler.usecases.list_signers import ListSigners
from swap_settler.usecases.list_stuck import ListStuck
from swap_settler.usecases.order_sweeps import OrderSweeps
from swap_settler.usecases.pay_claimable import PayClaimable
from swap_settler.usecases.pay_partner_fees import PayPartnerFees
from swap_settler.usecases.prove_foreign import ProveForeign
from swap_settler.usecases.request_swaps import RequestSwaps
from swap_settler.usecases.requote_swaps import RequoteSwaps
from swap_settler.usecases.rescue_tokens import RescueTokens
from swap_settler.usecases.resume_signers import ResumeSigners
from swap_settler.usecases.settle_deposits import SettleDeposits
from swap_settler.usecases.settle_payouts import SettlePayouts
from swap_settler.usecases.start_refunds import StartRefunds
from swap_settler.usecases.stop_payouts import StopPayouts
from swap_settler.usecases.sweep_strangers import SweepStrangers

CONSUMER = "settler"
STUCK_INTERVAL = timedelta(seconds=10)


def main() -> None:
    configure_logging("settler")  # first: a wrong setting is logged, too
    settings = SettlerSettings()  # type: ignore[call-arg]  # the environment fills it
    run("settler", settings, settings.settler, build)


async def build(service: Service) -> None:
    group = service.group
    assert isinstance(group, SettlerGroup)
    catalogue = load_catalogue(service.settings.catalogue, checksum_address)
    announcer = Announcer(catalogue)
    session = open_session()
    service.on_stop(session.close)
    _settle(service, group, catalogue, announcer)
    _requote(service, group, announcer, HttpPricing(group.quoter_url, session))
    add_lanes(
        service,
        group,
        networks=catalogue.networks,
        nodes=service.settings.node_urls(),
        session=session,
        announcer=announcer,
        screening=_screening(service, session, environment=catalogue.environment),
    )
    networks, nodes = catalogue.networks, service.settings.node_urls()
    rpcs = {n: open_rpc(network, nodes.get(n, ()), session) for n, network in networks.items()}
    chains = {n: open_reader(networks[n], rpc) for n, rpc in rpcs.items()}
    proofs = {n: open_reader(networks[n], rpc, needs_two=True) for n, rpc in rpcs.items()}
    add_recovery(service, group, networks, chains, proofs)
    _refund(service, group, catalogue, announcer, chains, rpcs=rpcs)
    _sweep(service, group, catalogue, chains)
    list_stuck = _watch_dwelling(service, group, catalogue, announcer)
    _serve_operators(service, list_stuck)
    _serve_signers(service, catalogue, announcer, proofs, group.signer_report_interval)
    _serve_claims(service, catalogue, announcer, HttpPrices(group.quoter_url, session))
    _serve_stops(service, group, catalogue)
    _serve_caps(service, catalogue, group.signer_report_interval)
    _serve_blocked(service, catalogue)
    _serve_sweeps(service, catalogue)
    _serve_rescues(service, catalogue, chains)


def _screening(service: Service, session: aiohttp.ClientSession, *, environment: str) -> Screening:
    settings = service.settings.screening
    screenings: list[Screening] = [
        NobodysAddresses(environment=environment),
        FreshList(BlockList(service.engine)),
    ]
    if settings.url:
        screenings.append(ScreeningService(settings, session))
    return Screenings(*screenings)


def _settle(
    service: Service, group: SettlerGroup, catalogue: Catalogue, announcer: Announcer
) -> None:
    to, clock, parking = service.subscriptions, service.clock, service.parking(CONSUMER)
    work, facts = PostgresUnitOfWork(service.engine, consumer=CONSUMER), Facts(catalogue)
    requests.subscribe(
        to,
        request_swaps=RequestSwaps(work, clock=clock, announcer=announcer, catalogue=catalogue),
        parking=parking,
    )
    deposits.subscribe(
        to,
        settle_deposits=SettleDeposits(work, clock=clock, facts=facts, announcer=announcer),
        parking=parking,
    )
    payouts.subscribe(
        to,
        settle_payouts=SettlePayouts(work, clock=clock, facts=facts, announcer=announcer),
        parking=parking,
    )
    expire_swaps = ExpireSwaps(work, clock=clock, announcer=announcer)
    service.every("expire-swaps", group.expiry_interval, expire_swaps)
    expire_authorizations = ExpireAuthorizations(work, clock=clock, announcer=announcer)
    service.every("expire-authorizations", group.expiry_interval, expire_authorizations)
    complete_swaps = CompleteSwaps(work, clock=clock, announcer=announcer)
    service.every("complete-swaps", group.expiry_interval, complete_swaps)


def _requote(
    service: Service, group: SettlerGroup, announcer: Announcer, pricing: HttpPricing
) -> None:
    requote_swaps = RequoteSwaps(
        PostgresUnitOfWork(service.engine, consumer=CONSUMER),
        requotes=PostgresDueRequotes(service.engine, consumer=CONSUMER),
        pricing=pricing,
        clock=service.clock,
        announcer=announcer,
        patience=group.requote_patience,
        pause=group.requote_pause,
    )
    wake = service.wakes.on(REQUOTE_DUE)
    service.every("requote-swaps", group.requote_interval, requote_swaps, wake=wake)


def _refund(
    service: Service,
    group: SettlerGroup,
    catalogue: Catalogue,
    announcer: Announcer,
    chains: Mapping[str, EvmReader],
    *,
    rpcs: Mapping[str, Rpc],
) -> None:
    work = PostgresUnitOfWork(service.engine, consumer=CONSUMER)
    refunds = PostgresDueRefunds(service.engine)
    for network in catalogue.networks.values():
        told = network.l1_data_fee
        start_refunds = StartRefunds(
            work,
            refunds=refunds,
            chain=chains[network.name],
            network=network,
            clock=service.clock,
            announcer=announcer,
            patience=group.payout_dwell,
            data_fee=l1_data_fees(rpcs[network.name], told) if told else None,
        )
        service.every(f"start-refunds-{network.name}", group.refund_interval, start_refunds)


def _sweep(
    service: Service,
    group: SettlerGroup,
    catalogue: Catalogue,
    chains: Mapping[str, EvmReader],
) -> None:
    work = PostgresUnitOfWork(service.engine, consumer=CONSUMER)
    sweeps = PostgresDueSweeps(service.engine)
    withdrawals = PostgresWithdrawals(service.engine)
    book_withdrawals = BookWithdrawals(work, withdrawals=withdrawals, clock=service.clock)
    service.every("book-withdrawals", group.sweep_booking_interval, book_withdrawals)
    for network in catalogue.networks.values():
        book_sweeps = BookSweeps(work, sweeps=sweeps, network=network, clock=service.clock)
        service.every(f"book-sweeps-{network.name}", group.sweep_booking_interval, book_sweeps)
        if network.contracts.deposit_addresses is None:
            continue
        order_sweeps = OrderSweeps(
            work,
            sweeps=sweeps,
            chain=chains[network.name],
            network=network,
            clock=service.clock,
            again_after=group.sweep_interval,
        )
        service.every(f"order-sweeps-{network.name}", group.sweep_interval, order_sweeps)


def _watch_dwelling(
    service: Service, group: SettlerGroup, catalogue: Catalogue, announcer: Announcer
) -> ListStuck:
    dwelling = PostgresDwelling(service.engine, networks=list(catalogue.networks))
    give_up_waiting = GiveUpWaiting(
        PostgresUnitOfWork(service.engine, consumer=CONSUMER),
        dwelling=dwelling,
        clock=service.clock,
        announcer=announcer,
        dwell=group.payout_dwell,
    )
    service.every("give-up-waiting", STUCK_INTERVAL, give_up_waiting)
    return ListStuck(dwelling, Dwell(payment=group.payout_dwell, requote=group.requote_patience))


def _serve_operators(service: Service, list_stuck: ListStuck) -> None:
    records = PostgresRecords(service.engine)

    async def report_stuck() -> None:
        await list_stuck()

    service.every("report-stuck", STUCK_INTERVAL, report_stuck)
    admin = Admin(
        inspect_swaps=InspectSwaps(records),
        list_claimable=ListClaimable(records),
        list_stuck=list_stuck,
    )
    service.admin("GET", "/swaps/{id}", admin.swap)
    service.admin("GET", "/claimable", admin.claimable)
    service.admin("GET", "/stuck", admin.stuck)


def _serve_signers(
    service: Service,
    catalogue: Catalogue,
    announcer: Announcer,
    chains: Mapping[str, EvmReader],
    report_interval: timedelta,
) -> None:
    signers, nonces = PostgresSigners(service.engine), PostgresForeignNonces(service.engine)
    list_signers = ListSigners(signers)

    async def report_signers() -> None:
        await list_signers()

    service.every("report-signers", report_interval, report_signers)
    networks = catalogue.networks.values()
    treasuries = {network.name: network.contracts.treasury for network in networks}
    close_foreign = CloseForeign(
        nonces,
        PostgresForeignUnitOfWork(service.engine, consumer=CONSUMER),
        prove=ProveForeign(nonces, treasuries=treasuries),
        chains=chains,
        clock=service.clock,
        announcer=announcer,
    )
    of_signers = SignerAdmin(
        list_signers=list_signers,
        resume_signers=ResumeSigners(signers, chains=chains, close_foreign=close_foreign),
        clock=service.clock,
    )
    service.admin("GET", "/signers", of_signers.list_all)
    service.admin("POST", "/signers/{network}/resume", of_signers.resume)
    explain_payments = ExplainPayments(
        nonces,
        PostgresTakenUnitOfWork(service.engine, consumer=CONSUMER),
        catalogue=catalogue,
        chains=chains,
        clock=service.clock,
        announcer=announcer,
    )
    service.admin("POST", "/payouts/explain", ExplainAdmin(explain_payments).explain)


def _serve_claims(
    service: Service, catalogue: Catalogue, announcer: Announcer, prices: HttpPrices
) -> None:
    claims = PostgresClaimUnitOfWork(service.engine, consumer=CONSUMER)
    pay_claimable = PayClaimable(
        claims,
        catalogue=catalogue,
        clock=service.clock,
        announcer=announcer,
        prices=prices,
    )
    attach_claimable = AttachClaimable(claims, clock=service.clock, announcer=announcer)
    pay_partner_fees = PayPartnerFees(
        PostgresFeeUnitOfWork(service.engine, consumer=CONSUMER),
        catalogue=catalogue,
        clock=service.clock,
        announcer=announcer,
        prices=prices,
    )
    of_fees = FeeAdmin(pay_partner_fees)
    service.admin("GET", "/fees", of_fees.list_all)
    service.admin("POST", "/fees/{id}/pay", of_fees.pay)
    admin = ClaimAdmin(pay_claimable=pay_claimable, attach_claimable=attach_claimable)
    service.admin("POST", "/claimable/{id}/pay", admin.pay)
    service.admin("POST", "/claimable/{id}/attach", admin.attach)


def _serve_sweeps(service: Service, catalogue: Catalogue) -> None:
    admin = SweepAdmin(SweepStrangers(PostgresSweepOrders(service.engine), catalogue=catalogue))
    service.admin("POST", "/sweeps", admin.order)


def _serve_rescues(service: Service, catalogue: Catalogue, chains: Mapping[str, EvmReader]) -> None:
    rescues = PostgresRescues(service.engine)
    admin = RescueAdmin(RescueTokens(rescues, catalogue=catalogue, chains=chains))
    service.admin("GET", "/rescues/{network}/{hash}", admin.show)
    service.admin("POST", "/rescues/{network}/{hash}", admin.order)


def _serve_stops(service: Service, group: SettlerGroup, catalogue: Catalogue) -> None:
    stop_payouts = StopPayouts(PostgresStops(service.engine), networks=list(catalogue.networks))
    if unknown := sorted(set(group.loss_budgets_usd) - set(catalogue.networks)):
        raise ValueError(f"LOSS_BUDGETS_USD: no network of the catalogue: {', '.join(unknown)}")
    budgets = {
        network: 10**6 * group.loss_budgets_usd.get(network, group.loss_budget_usd)
        for network in catalogue.networks
    }
    guard_losses = GuardLosses(
        PostgresLosses(service.engine), budgets=budgets, span=group.loss_span
    )
    service.every("guard-losses", group.loss_interval, guard_losses)

    async def report_stops() -> None:
        await stop_payouts.list_all()

    service.every("report-stops", group.signer_report_interval, report_stops)
    admin = StopAdmin(stop_payouts, guard_losses=guard_losses)
    service.admin("GET", "/payouts/stops", admin.list_all)
    service.admin("POST", "/payouts/stop", admin.stop)
    service.admin("POST", "/payouts/go", admin.lift)


def _serve_caps(service: Service, catalogue: Catalogue, report_interval: timedelta) -> None:
    caps = PostgresCaps(service.engine, networks=list(catalogue.networks))
    keep_caps = KeepCaps(caps, catalogue=catalogue)
    service.every("report-lines", report_interval, keep_caps.report)
    admin = CapAdmin(keep_caps)
    service.admin("GET", "/caps", admin.list_all)
    service.admin("POST", "/caps", admin.set)
    service.admin("POST", "/caps/lift", admin.lift)
    service.admin("GET", "/payouts/queue", admin.list_waiting)
    service.admin("POST", "/payouts/queue/{id}/pass", admin.let_through)


def _serve_blocked(service: Service, catalogue: Catalogue) -> None:
    admin = BlockedAdmin(KeepBlocked(PostgresBlocked(service.engine), catalogue=catalogue))
    service.admin("GET", "/blocked", admin.list_all)
    service.admin("POST", "/blocked", admin.block)
    service.admin("POST", "/blocked/lift", admin.lift)
