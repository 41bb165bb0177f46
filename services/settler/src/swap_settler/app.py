"""Builds the settler. The only module that knows every concrete class."""

from __future__ import annotations

from swap_chains.evm.codec import checksum_address
from swap_chains.evm.rpc import open_session
from swap_domain.catalogue import Catalogue
from swap_runtime.catalogue import load_catalogue
from swap_runtime.service import Service, run
from swap_settler.adapters.records import PostgresRecords
from swap_settler.adapters.unit_of_work import PostgresUnitOfWork
from swap_settler.handlers import deposits, payouts, requests
from swap_settler.http.admin import Admin
from swap_settler.lanes import add_lanes
from swap_settler.settings import SettlerGroup, SettlerSettings
from swap_settler.usecases.announcing import Announcer
from swap_settler.usecases.expire_swaps import ExpireSwaps
from swap_settler.usecases.facts import Facts
from swap_settler.usecases.inspect_swaps import InspectSwaps
from swap_settler.usecases.list_claimable import ListClaimable
from swap_settler.usecases.request_swaps import RequestSwaps
from swap_settler.usecases.settle_deposits import SettleDeposits
from swap_settler.usecases.settle_payouts import SettlePayouts

CONSUMER = "settler"


def main() -> None:
    settings = SettlerSettings()  # type: ignore[call-arg]  # the environment fills it
    run("settler", settings, settings.settler, build)


async def build(service: Service) -> None:
    group = service.group
    assert isinstance(group, SettlerGroup)
    catalogue = load_catalogue(service.settings.catalogue, checksum_address)
    announcer = Announcer(catalogue)
    _settle(service, group, catalogue, announcer)
    _send(service, group, catalogue, announcer)
    _serve_operators(service)


def _settle(
    service: Service, group: SettlerGroup, catalogue: Catalogue, announcer: Announcer
) -> None:
    to, clock, parking = service.subscriptions, service.clock, service.parking(CONSUMER)
    work, facts = PostgresUnitOfWork(service.engine, consumer=CONSUMER), Facts(catalogue)
    requests.subscribe(
        to, request_swaps=RequestSwaps(work, clock=clock, announcer=announcer), parking=parking
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


def _send(
    service: Service, group: SettlerGroup, catalogue: Catalogue, announcer: Announcer
) -> None:
    session = open_session()
    service.on_stop(session.close)
    add_lanes(
        service,
        group,
        networks=catalogue.networks,
        nodes=service.settings.node_urls(),
        session=session,
        announcer=announcer,
    )


def _serve_operators(service: Service) -> None:
    records = PostgresRecords(service.engine)
    admin = Admin(inspect_swaps=InspectSwaps(records), list_claimable=ListClaimable(records))
    service.admin("GET", "/swaps/{id}", admin.swap)
    service.admin("GET", "/claimable", admin.claimable)
