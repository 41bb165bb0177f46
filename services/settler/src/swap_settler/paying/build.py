"""The sender lanes, one per network and hot key, each under its lease."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from datetime import timedelta

import aiohttp

from swap_domain.catalogue import Catalogue, Network
from swap_runtime.postgres.leases import Lease
from swap_runtime.process.service import Service
from swap_runtime.process.supervision import Beat
from swap_runtime.screening import (
    LIVE,
    BlockList,
    FreshList,
    RehearsalAddresses,
    Screening,
    Screenings,
    ScreeningService,
)
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.store.channels import lane_channel
from swap_settler.model.store.unit_of_work import CONSUMER, PostgresUnitOfWork
from swap_settler.paying import observe
from swap_settler.paying.adapters.chains import Chain, contracts_without_owner
from swap_settler.paying.adapters.keys import kms_of, open_keys
from swap_settler.paying.lane import Lane
from swap_settler.paying.store.lane_store import LaneName
from swap_settler.paying.usecases.abandon_waiting_payouts import AbandonWaitingPayouts
from swap_settler.settings import SettlerGroup
from swap_settler.settling.store.dwelling import PostgresDwelling

LEASE_TERM = timedelta(seconds=6)
STUCK_INTERVAL = timedelta(seconds=10)


def build(
    service: Service,
    group: SettlerGroup,
    catalogue: Catalogue,
    swap_messages: SwapMessages,
    session: aiohttp.ClientSession,
) -> None:
    observe.networks_listed(catalogue.networks)
    report_unchecked_roles(catalogue)
    _add_lanes(
        service,
        group,
        networks=catalogue.networks,
        nodes=service.settings.node_urls(),
        session=session,
        swap_messages=swap_messages,
        screening=_screening(service, session, environment=catalogue.environment),
    )
    abandon_waiting_payouts = AbandonWaitingPayouts(
        PostgresUnitOfWork(service.engine, consumer=CONSUMER),
        dwelling=PostgresDwelling(service.engine, networks=list(catalogue.networks)),
        clock=service.clock,
        swap_messages=swap_messages,
        dwell=group.payout_dwell,
    )
    service.every("abandon-waiting-payouts", STUCK_INTERVAL, abandon_waiting_payouts)


def report_unchecked_roles(catalogue: Catalogue) -> None:
    """Say loudly which contracts of live networks may get another owner without being noticed."""
    for network in catalogue.networks.values():
        if catalogue.environment == LIVE:
            observe.contracts_without_owner(network.name, contracts_without_owner(network))


def _add_lanes(
    service: Service,
    group: SettlerGroup,
    *,
    networks: Mapping[str, Network],
    nodes: Mapping[str, tuple[str, ...]],
    session: aiohttp.ClientSession,
    swap_messages: SwapMessages,
    screening: Screening,
) -> None:
    """Add a lane for every signer of the catalogue with a key in this process.

    :raises ValueError: when a retired signer is none of the catalogue's.
    """
    known = {signer.lower() for network in networks.values() for signer in network.signers}
    if unknown := sorted(one for one in group.retired_signers if one.lower() not in known):
        raise ValueError(f"RETIRED_SIGNERS: no signer of the catalogue: {', '.join(unknown)}")
    kms = kms_of(group)
    if kms is not None:
        service.on_start(kms.open)
        service.on_stop(kms.close)
    keys = open_keys(group, kms)
    for network in networks.values():
        for signer in network.signers:
            if signer not in keys:
                observe.signer_without_key(network.name, signer)
                service.wakes.on(lane_channel(network.name))  # of the process that has its key
            else:
                chain = Chain.of(network, nodes.get(network.name, ()), keys[signer], session)
                _add_lane(service, group, chain, swap_messages=swap_messages, screening=screening)


def _add_lane(
    service: Service,
    group: SettlerGroup,
    chain: Chain,
    *,
    swap_messages: SwapMessages,
    screening: Screening,
) -> None:
    name = LaneName(chain.network.name, chain.sender.address)
    wake = service.wakes.on(lane_channel(name.network))

    async def run(beat: Beat, lease: Lease) -> None:
        assert lease.epoch is not None
        wake.set_local_condition(lambda: lease.is_held)
        lane = Lane(service, group, chain, name, swap_messages=swap_messages, screening=screening)
        work = lane.running()
        try:
            await _run_until_first_end(
                work.send(wake, epoch=lease.epoch, beat=beat),
                work.run_upkeep(epoch=lease.epoch, beat=beat),
                work.mark_sent_attempts(beat=beat),
                work.compare_contracts(),
            )
        finally:
            observe.lane_ended(name.network, name.signer)

    service.lead(name.lease, run, term=LEASE_TERM)


async def _run_until_first_end(*works: Coroutine[None, None, None]) -> None:
    """Run them side by side; what one raises ends the others and is raised as it is."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _screening(service: Service, session: aiohttp.ClientSession, *, environment: str) -> Screening:
    settings = service.settings.screening
    screenings: list[Screening] = [
        RehearsalAddresses(environment=environment),
        FreshList(BlockList(service.engine)),
    ]
    if settings.url:
        screenings.append(ScreeningService(settings, session))
    return Screenings(*screenings)
