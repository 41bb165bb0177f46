"""What operators order of the settler, put together: signers, claims, stops, caps, addresses."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Final

from swap_chains.evm.reader import EvmReader
from swap_domain.catalogue import Catalogue
from swap_runtime.postgres.leases import Lease
from swap_runtime.process.service import Service
from swap_runtime.process.supervision import Beat, Rounds
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.store.unit_of_work import CONSUMER
from swap_settler.operator import observe
from swap_settler.operator.http.blocked import BlockedAdmin
from swap_settler.operator.http.books import BooksAdmin
from swap_settler.operator.http.caps import CapAdmin
from swap_settler.operator.http.claims import ClaimAdmin
from swap_settler.operator.http.closures import ClosureAdmin
from swap_settler.operator.http.partner_fees import FeeAdmin
from swap_settler.operator.http.reconciliation import ReconciliationAdmin
from swap_settler.operator.http.records import RecordAdmin
from swap_settler.operator.http.rescues import RescueAdmin
from swap_settler.operator.http.second_operator import SecondOperator
from swap_settler.operator.http.signers import SignerAdmin
from swap_settler.operator.http.stops import StopAdmin
from swap_settler.operator.http.sweeps import SweepAdmin
from swap_settler.operator.store.backlogs import PostgresBacklogs
from swap_settler.operator.store.blocked import PostgresBlocked
from swap_settler.operator.store.caps import PostgresCaps
from swap_settler.operator.store.claims import PostgresClaimUnitOfWork
from swap_settler.operator.store.closures import PostgresClosures
from swap_settler.operator.store.external_nonces import (
    PostgresExternalNonces,
    PostgresExternalNonceUnitOfWork,
)
from swap_settler.operator.store.external_payments import PostgresExternalPaymentUnitOfWork
from swap_settler.operator.store.invariants import PostgresInvariants, read_queries
from swap_settler.operator.store.losses import PostgresLosses
from swap_settler.operator.store.partner_fees import PostgresFeeUnitOfWork
from swap_settler.operator.store.records import PostgresRecords
from swap_settler.operator.store.rescues import PostgresRescues
from swap_settler.operator.store.signers import PostgresSigners
from swap_settler.operator.store.stops import PostgresStops
from swap_settler.operator.store.sweep_orders import PostgresSweepOrders
from swap_settler.operator.usecases.attach_claimable import AttachClaimable
from swap_settler.operator.usecases.check_invariants import CheckInvariants
from swap_settler.operator.usecases.close_external_nonces import CloseExternalNonces
from swap_settler.operator.usecases.close_networks import CloseNetworks
from swap_settler.operator.usecases.guard_losses import GuardLosses
from swap_settler.operator.usecases.inspect_records import InspectRecords
from swap_settler.operator.usecases.list_signers import ListSigners
from swap_settler.operator.usecases.list_stuck import ListStuck
from swap_settler.operator.usecases.manage_blocked_addresses import ManageBlockedAddresses
from swap_settler.operator.usecases.manage_caps import ManageCaps
from swap_settler.operator.usecases.order_manual_sweep import OrderManualSweep
from swap_settler.operator.usecases.pay_claimable import PayClaimable
from swap_settler.operator.usecases.pay_partner_fees import PayPartnerFees
from swap_settler.operator.usecases.prove_external_transactions import ProveExternalTransactions
from swap_settler.operator.usecases.reconcile_unknown_payments import ReconcileUnknownPayments
from swap_settler.operator.usecases.rescue_tokens import RescueTokens
from swap_settler.operator.usecases.resume_signers import ResumeSigners
from swap_settler.operator.usecases.show_balances import ShowBalances
from swap_settler.operator.usecases.stop_payouts import StopPayouts
from swap_settler.operator.usecases.weigh_orders import WeighOrders
from swap_settler.settings import SettlerGroup
from swap_settler.settling.adapters.quoter import HttpPrices
from swap_settler.settling.decide.dwelling import Dwell
from swap_settler.settling.store.dwelling import PostgresDwelling

STUCK_INTERVAL: Final = timedelta(seconds=10)
BACKLOG_INTERVAL: Final = timedelta(seconds=15)  # as often as metrics are read


def build(
    service: Service,
    group: SettlerGroup,
    catalogue: Catalogue,
    swap_messages: SwapMessages,
    prices: HttpPrices,
    *,
    chains: Mapping[str, EvmReader],
    proofs: Mapping[str, EvmReader],
    weigh_orders: WeighOrders,
) -> None:
    """
    :param proofs: readers that ask two providers before they report something as final.
    """
    observe.networks_listed(catalogue.networks)
    second = SecondOperator(weigh_orders)
    report_interval = group.signer_report_interval
    _serve_signers(service, catalogue, swap_messages, proofs, report_interval, second=second)
    _serve_claims(service, catalogue, swap_messages, prices, second=second)
    guard_losses = GuardLosses(
        PostgresLosses(service.engine),
        budgets=_loss_budgets(group, catalogue),
        span=group.loss_span,
    )
    _serve_stops(service, group, catalogue, guard_losses, second=second)
    _serve_caps(service, catalogue, report_interval, weigh_orders=weigh_orders)
    _serve_blocked(service, catalogue, second=second)
    _serve_sweeps(service, catalogue)
    _serve_rescues(service, catalogue, chains, second=second)
    _serve_records(service, group, catalogue, guard_losses)


def _serve_records(
    service: Service, group: SettlerGroup, catalogue: Catalogue, guard_losses: GuardLosses
) -> None:
    list_stuck = ListStuck(
        PostgresDwelling(service.engine, networks=list(catalogue.networks)),
        Dwell(payment=group.payout_dwell, requote=group.requote_patience),
        clock=service.clock,
    )

    async def report_stuck() -> None:
        await list_stuck()

    service.every("report-stuck", STUCK_INTERVAL, report_stuck)
    networks = catalogue.networks
    treasuries = {name: network.contracts.treasury for name, network in networks.items()}
    show_balances = ShowBalances(PostgresBacklogs(service.engine, treasuries=treasuries))
    report_backlogs = partial(show_balances.report, list(networks))
    service.every("report-backlogs", BACKLOG_INTERVAL, report_backlogs)
    admin = RecordAdmin(InspectRecords(PostgresRecords(service.engine)), list_stuck)
    service.admin("GET", "/swaps/{id}", admin.swap)
    service.admin("GET", "/deposits/{id}", admin.deposit)
    service.admin("GET", "/claimable", admin.claimable)
    service.admin("GET", "/claimable/{id}", admin.one_claimable)
    service.admin("GET", "/stuck", admin.list_stuck)
    _serve_books(service, group, catalogue, show_balances, guard_losses)


def _serve_books(
    service: Service,
    group: SettlerGroup,
    catalogue: Catalogue,
    show_balances: ShowBalances,
    guard_losses: GuardLosses,
) -> None:
    queries, check_invariants = group.invariant_queries, None
    if queries is not None:
        invariants = PostgresInvariants(service.engine, read_queries(queries.read_text()))
        check_invariants = CheckInvariants(invariants, clock=service.clock)
        if group.invariants_interval:
            _watch_invariants(service, check_invariants, group.invariants_interval)
    admin = BooksAdmin(show_balances, guard_losses, check_invariants, catalogue=catalogue)
    service.admin("GET", "/assets", admin.assets)
    service.admin("GET", "/balances", admin.balances)
    service.admin("GET", "/balances/accounts", admin.accounts)
    service.admin("GET", "/balances/waiting", admin.waiting)
    service.admin("GET", "/losses", admin.losses)
    service.admin("GET", "/invariants", admin.invariants)


def _watch_invariants(
    service: Service, check_invariants: CheckInvariants, interval: timedelta
) -> None:
    """Check them on one replica: the queries read whole tables."""

    async def run(beat: Beat, _: Lease) -> None:
        try:
            await Rounds(interval, partial(check_invariants.report, beat), wake=None)(beat)
        finally:
            observe.invariants_left()  # the next leader exports them

    service.lead("invariants", run)


def _serve_signers(
    service: Service,
    catalogue: Catalogue,
    swap_messages: SwapMessages,
    chains: Mapping[str, EvmReader],
    report_interval: timedelta,
    *,
    second: SecondOperator,
) -> None:
    signers, nonces = PostgresSigners(service.engine), PostgresExternalNonces(service.engine)
    list_signers = ListSigners(signers)

    async def report_signers() -> None:
        await list_signers()

    service.every("report-signers", report_interval, report_signers)
    networks = catalogue.networks.values()
    treasuries = {network.name: network.contracts.treasury for network in networks}
    close_external_nonces = CloseExternalNonces(
        nonces,
        PostgresExternalNonceUnitOfWork(service.engine, consumer=CONSUMER),
        prove=ProveExternalTransactions(nonces, treasuries=treasuries),
        chains=chains,
        clock=service.clock,
        swap_messages=swap_messages,
    )
    of_signers = SignerAdmin(
        list_signers=list_signers,
        resume_signers=ResumeSigners(
            signers, chains=chains, close_external_nonces=close_external_nonces
        ),
        clock=service.clock,
    )
    service.admin("GET", "/signers", of_signers.list_all)
    service.admin("GET", "/signers/{network}/{address}/nonces", of_signers.open_nonces)
    service.order(
        "/signers/{network}/resume",
        of_signers.resume,
        needs_second=second.resumes_signers,
        add_facts=of_signers.add_halts,
    )
    reconcile_unknown_payments = ReconcileUnknownPayments(
        nonces,
        PostgresExternalPaymentUnitOfWork(service.engine, consumer=CONSUMER),
        catalogue=catalogue,
        chains=chains,
        clock=service.clock,
        swap_messages=swap_messages,
    )
    service.order("/payouts/explain", ReconciliationAdmin(reconcile_unknown_payments).reconcile)


def _serve_claims(
    service: Service,
    catalogue: Catalogue,
    swap_messages: SwapMessages,
    prices: HttpPrices,
    *,
    second: SecondOperator,
) -> None:
    claims = PostgresClaimUnitOfWork(service.engine, consumer=CONSUMER)
    pay_claimable = PayClaimable(
        claims,
        catalogue=catalogue,
        clock=service.clock,
        swap_messages=swap_messages,
        prices=prices,
    )
    attach_claimable = AttachClaimable(claims, clock=service.clock, swap_messages=swap_messages)
    pay_partner_fees = PayPartnerFees(
        PostgresFeeUnitOfWork(service.engine, consumer=CONSUMER),
        catalogue=catalogue,
        clock=service.clock,
        swap_messages=swap_messages,
        prices=prices,
    )
    of_fees = FeeAdmin(pay_partner_fees)
    service.admin("GET", "/fees", of_fees.list_all)
    service.admin("GET", "/fees/{id}", of_fees.show)
    service.order("/fees/{id}/pay", of_fees.pay, needs_second=second.pays_fee)
    admin = ClaimAdmin(pay_claimable=pay_claimable, attach_claimable=attach_claimable)
    service.order("/claimable/{id}/pay", admin.pay, needs_second=second.pays_claimable)
    service.order("/claimable/{id}/attach", admin.attach, needs_second=second.attaches_claimable)


def _serve_sweeps(service: Service, catalogue: Catalogue) -> None:
    admin = SweepAdmin(OrderManualSweep(PostgresSweepOrders(service.engine), catalogue=catalogue))
    service.order("/sweeps", admin.order)


def _serve_rescues(
    service: Service,
    catalogue: Catalogue,
    chains: Mapping[str, EvmReader],
    *,
    second: SecondOperator,
) -> None:
    rescues = PostgresRescues(service.engine)
    admin = RescueAdmin(RescueTokens(rescues, catalogue=catalogue, chains=chains))
    service.admin("GET", "/rescues", admin.list_all)
    service.admin("GET", "/rescues/{network}/{hash}", admin.show)
    service.order(
        "/rescues/{network}/{hash}",
        admin.order,
        needs_second=second.returns_tokens,
        add_facts=admin.add_transfers,
    )


def _serve_stops(
    service: Service,
    group: SettlerGroup,
    catalogue: Catalogue,
    guard_losses: GuardLosses,
    *,
    second: SecondOperator,
) -> None:
    stop_payouts = StopPayouts(PostgresStops(service.engine), networks=list(catalogue.networks))
    service.every("guard-losses", group.loss_interval, guard_losses)

    async def report_stops() -> None:
        await stop_payouts.list_all()

    service.every("report-stops", group.signer_report_interval, report_stops)
    admin = StopAdmin(stop_payouts, guard_losses=guard_losses)
    service.admin("GET", "/payouts/stops", admin.list_all)
    service.order("/payouts/stop", admin.stop)
    service.order(
        "/payouts/go", admin.lift, needs_second=second.lifts_stop, add_facts=admin.add_stop
    )
    _serve_closures(service, catalogue)


def _loss_budgets(group: SettlerGroup, catalogue: Catalogue) -> dict[str, int]:
    """
    :raises ValueError: when a budget names no network of the catalogue.
    """
    if unknown := sorted(set(group.loss_budgets_usd) - set(catalogue.networks)):
        raise ValueError(f"LOSS_BUDGETS_USD: no network of the catalogue: {', '.join(unknown)}")
    return {
        network: 10**6 * group.loss_budgets_usd.get(network, group.loss_budget_usd)
        for network in catalogue.networks
    }


def _serve_closures(service: Service, catalogue: Catalogue) -> None:
    closures = PostgresClosures(service.engine)
    admin = ClosureAdmin(CloseNetworks(closures, networks=list(catalogue.networks)))
    service.admin("GET", "/closures", admin.list_all)
    service.order("/closures/close", admin.close)
    service.order("/closures/open", admin.open)


def _serve_caps(
    service: Service,
    catalogue: Catalogue,
    report_interval: timedelta,
    *,
    weigh_orders: WeighOrders,
) -> None:
    second = SecondOperator(weigh_orders)
    caps = PostgresCaps(service.engine, networks=list(catalogue.networks))
    manage_caps = ManageCaps(caps, catalogue=catalogue)
    service.every("report-lines", report_interval, manage_caps.report)
    admin = CapAdmin(manage_caps, weigh_orders)
    service.admin("GET", "/caps", admin.list_all)
    service.admin("GET", "/caps/{id}/spent", admin.list_spent)
    service.order(
        "/caps", admin.set, needs_second=second.sets_cap, add_facts=admin.add_present_for_new
    )
    service.order(
        "/caps/lift", admin.lift, needs_second=second.lifts_cap, add_facts=admin.add_present
    )
    service.admin("GET", "/payouts/queue", admin.list_queued)
    service.admin("GET", "/payouts/queue/{id}", admin.one_queued)
    service.order("/payouts/queue/{id}/pass", admin.grant_pass, needs_second=second.grants_pass)


def _serve_blocked(service: Service, catalogue: Catalogue, *, second: SecondOperator) -> None:
    admin = BlockedAdmin(
        ManageBlockedAddresses(PostgresBlocked(service.engine), catalogue=catalogue)
    )
    service.admin("GET", "/blocked", admin.list_all)
    service.admin("GET", "/blocked/{address}", admin.show)
    service.order("/blocked", admin.block)
    service.order("/blocked/lift", admin.lift, needs_second=second.lifts_block)
