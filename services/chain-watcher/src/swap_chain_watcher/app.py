"""Wires the chain-watcher: settings, nodes, stores and use cases."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import SystemRandom
from typing import Final

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.chains import EvmChain
from swap_chain_watcher.adapters.old_blocks import PostgresOldBlocks
from swap_chain_watcher.adapters.rises import PostgresRises
from swap_chain_watcher.adapters.targets import PostgresTargets
from swap_chain_watcher.adapters.trust import PostgresTrust
from swap_chain_watcher.adapters.unit_of_work import (
    PostgresUnitOfWork,
    hint_channel,
    lease_name,
    verification_channel,
)
from swap_chain_watcher.adapters.watches import PostgresWatches
from swap_chain_watcher.domain.hints import HintBackoff
from swap_chain_watcher.domain.policy import Caps, Policy
from swap_chain_watcher.domain.watch import NetworkHalted
from swap_chain_watcher.handlers import deposit_hints, deposit_targets
from swap_chain_watcher.http import networks as network_routes
from swap_chain_watcher.settings import ChainWatcherGroup, ChainWatcherSettings
from swap_chain_watcher.usecases.activate_targets import ActivateTargets, FollowedAddresses
from swap_chain_watcher.usecases.advance_watch import AdvanceWatch
from swap_chain_watcher.usecases.count_balances import CountBalances, CountSchedule
from swap_chain_watcher.usecases.deny_rises import DenyRises
from swap_chain_watcher.usecases.find_rise_transactions import FindRiseTransactions
from swap_chain_watcher.usecases.follow_network import FollowNetwork
from swap_chain_watcher.usecases.open_watch import OpenWatch
from swap_chain_watcher.usecases.prune_blocks import PruneBlocks
from swap_chain_watcher.usecases.record_hints import RecordHints
from swap_chain_watcher.usecases.record_targets import RecordTargets
from swap_chain_watcher.usecases.repeat_hints import RepeatHints
from swap_chain_watcher.usecases.report_networks import ReportNetworks
from swap_chain_watcher.usecases.report_trust import ReportTrust
from swap_chain_watcher.usecases.resume_network import Check, ResumeNetwork
from swap_chain_watcher.usecases.run_second_look import RunSecondLook
from swap_chain_watcher.usecases.take_back_logs import TakeBackLogs
from swap_chain_watcher.usecases.verify_deposits import VerifyDeposits
from swap_chains.errors import ChainUnavailable
from swap_chains.evm.codec import checksum_address
from swap_chains.evm.rpc import open_session
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.catalogue import load_catalogue
from swap_runtime.postgres.assets_in_use import require_assets_in_use
from swap_runtime.postgres.leases import Lease
from swap_runtime.process.service import Service, run
from swap_runtime.process.supervision import Beat
from swap_runtime.telemetry.logging import configure_logging

NAME = "chain_watcher"
SCHEMA_REVISION: Final = "0018"  # the last of the migrations
HEAD_TIMEOUT = timedelta(seconds=2)
HINTS_INTERVAL = timedelta(seconds=1)
PRUNE_INTERVAL = timedelta(hours=1)


def main() -> None:
    """Run the process."""
    configure_logging(NAME)  # first: a wrong setting is logged, too
    settings = ChainWatcherSettings()  # type: ignore[call-arg]  # from the environment
    catalogue = load_catalogue(settings.catalogue, checksum_address)

    async def build(service: Service) -> None:
        await add_to(service, settings.chain_watcher, catalogue, settings.node_urls())

    run(NAME, settings, settings.chain_watcher, build, schema_revision=SCHEMA_REVISION)


async def add_to(
    service: Service,
    group: ChainWatcherGroup,
    catalogue: Catalogue,
    nodes: dict[str, tuple[str, ...]],
) -> None:
    """Add to the process everything that watches."""
    observe.networks_listed(catalogue.networks)
    service.on_start(lambda: require_assets_in_use(service.engine, catalogue))
    session = open_session()
    service.on_stop(session.close)
    chains = [
        EvmChain(
            network,
            nodes.get(network.name) or network.public_nodes,
            session,
            poll_interval=group.poll_interval,
            node_timeout=group.node_timeout,
            range_blocks_max=group.range_blocks_max,
        )
        for network in catalogue.networks.values()
    ]
    service.on_start(lambda: refuse_mismatches(chains))

    work = PostgresUnitOfWork(service.engine, consumer=NAME)
    watches = PostgresWatches(service.engine)
    is_live = catalogue.environment == "live"
    networks = [
        NetworkParts(service, chain, group, policy_of(chain, group, is_live=is_live), work, watches)
        for chain in chains
    ]
    added = {one.network.name: one.add() for one in networks}
    policies = [one.policy for one in networks]
    report_trust = ReportTrust(PostgresTrust(service.engine), policies)
    service.every("report-trust", group.report_interval, _without_result(report_trust))
    _consume(service, work, catalogue)
    prune_blocks = PruneBlocks(
        PostgresOldBlocks(service.engine),
        networks=catalogue.networks,
        keep=group.keep_blocks,
        clock=service.clock,
    )
    service.every("prune-blocks", PRUNE_INTERVAL, prune_blocks)

    report_networks = ReportNetworks(
        watches, [chain.reader for chain in chains], head_timeout=HEAD_TIMEOUT
    )
    service.every("report", group.report_interval, _without_result(report_networks))
    network_routes.add_routes(
        service,
        report_networks=report_networks,
        resume_network=ResumeNetwork(
            watches,
            checks={name: checks for name, (checks, _) in added.items()},
            take_back_logs={name: take_back_logs for name, (_, take_back_logs) in added.items()},
        ),
        resuming_needs_two=group.resuming_needs_two,
    )


def policy_of(chain: EvmChain, group: ChainWatcherGroup, *, is_live: bool) -> Policy:
    """Return what is trusted on a network; a cap only where one provider is, and money is."""
    network, has_second = chain.network, len(chain.providers) > 1
    by_symbol = group.one_provider_caps.get(network.name, {})
    caps = Caps.of(network, by_symbol, group.one_provider_span)
    return Policy(network, has_second, caps if is_live and not has_second else None)


async def refuse_mismatches(chains: Sequence[EvmChain]) -> None:
    """Hold every chain against the catalogue; one that does not answer is checked when it does.

    :raises ChainMismatch: or WrongChain, with what is different.
    """

    async def check(chain: EvmChain) -> None:
        try:
            await chain.check()
        except ChainUnavailable as error:
            observe.following_interrupted(chain.network.name, error)

    await asyncio.gather(*(check(chain) for chain in chains))


@dataclass(frozen=True, slots=True)
class NetworkParts:
    """What watches one network, put together."""

    service: Service
    chain: EvmChain
    group: ChainWatcherGroup
    policy: Policy
    work: PostgresUnitOfWork
    watches: PostgresWatches

    @property
    def network(self) -> Network:
        return self.chain.network

    def add(self) -> tuple[Sequence[Check], TakeBackLogs]:
        """Add the loops to the process; return what a resume of the network checks and runs."""
        observe.trust_configured(self.policy, len(self.chain.providers))
        open_watch, run_second_look = self._follow(), self._run_second_look()
        deny_rises = DenyRises(
            self.work, self.watches, self.chain.verifying_reader, clock=self.service.clock
        )
        addresses = self._followed_addresses(self.chain.verified_watched)
        if self.policy.has_second_provider:
            self._verify(deny_rises, addresses)
        checks = open_watch.check_final, run_second_look.check, deny_rises.check
        return checks, self._take_back_logs(addresses)

    def _take_back_logs(self, addresses: FollowedAddresses) -> TakeBackLogs:
        return TakeBackLogs(
            self.work,
            self.watches,
            self.chain.verifying_reader,
            policy=self.policy,
            clock=self.service.clock,
            addresses=addresses,
        )

    def _follow(self) -> OpenWatch:
        service, network = self.service, self.network
        open_watch = OpenWatch(
            self.watches,
            self.chain.reader,
            check_chain=self.chain.check,
            start_block=network.start_block,
        )
        has_addresses = network.contracts.deposit_addresses is not None
        follow_network = FollowNetwork(
            self.chain.reader,
            self.watches,
            open_watch=open_watch,
            advance_watch=AdvanceWatch(
                self.work,
                policy=self.policy,
                clock=service.clock,
                count_balances=self._count_balances() if has_addresses else None,
            ),
            hinted=service.wakes.on(hint_channel(network.name)),
            clock=service.clock,
            random=SystemRandom(),
            activate_targets=self._activate_targets() if has_addresses else None,
            find_rise_transactions=self._find_rise_transactions() if has_addresses else None,
        )

        async def follow(beat: Beat, lease: Lease) -> None:
            assert lease.epoch is not None
            await follow_network(beat, epoch=lease.epoch)

        async def is_not_halted() -> None:
            halt = await self.watches.find_halt(network.name)
            if halt is not None:
                raise NetworkHalted(halt.reason)

        service.lead(lease_name(network.name), follow, term=self.group.lease_term)
        # No reason to be unready: a rollout that repairs a wrong node would wait for the halt to
        # end.
        service.add_note_check(f"network {network.name}", is_not_halted)
        return open_watch

    def _count_balances(self) -> CountBalances:
        group = self.group
        return CountBalances(
            PostgresTargets(self.service.engine),
            self.chain.reader,
            policy=self.policy,
            count_schedule=CountSchedule(
                group.address_young_for,
                group.address_young_max,
                group.address_old_every,
                group.address_old_max,
            ),
            watched=self.chain.watched,
        )

    def _activate_targets(self) -> ActivateTargets:
        return ActivateTargets(
            self.work,
            PostgresTargets(self.service.engine),
            self.chain.reader,
            addresses=self._followed_addresses(self.chain.watched),
            policy=self.policy,
            clock=self.service.clock,
        )

    def _find_rise_transactions(self) -> FindRiseTransactions:
        rises = PostgresRises(self.service.engine)
        return FindRiseTransactions(self.work, rises, self.chain.reader, clock=self.service.clock)

    def _run_second_look(self) -> RunSecondLook:
        run_second_look = RunSecondLook(
            self.work,
            self.watches,
            self.chain.second_reader,
            policy=self.policy,
            clock=self.service.clock,
            blocks_max=self.group.second_look_blocks_max,
            addresses=self._followed_addresses(self.chain.second_watched),
        )

        async def look(beat: Beat, _: Lease) -> None:
            while True:
                beat()
                if not await run_second_look():
                    await asyncio.sleep(self.group.second_look_interval.total_seconds())

        self.service.lead(f"check:{self.network.name}", look)
        return run_second_look

    def _verify(self, deny_rises: DenyRises, addresses: FollowedAddresses) -> None:
        verify_deposits = VerifyDeposits(
            self.work,
            self.watches,
            self.chain.verifying_reader,
            policy=self.policy,
            clock=self.service.clock,
            addresses=addresses,
        )
        new_movements = self.service.wakes.on(verification_channel(self.network.name))

        async def verify(beat: Beat, _: Lease) -> None:
            while True:
                beat()
                if not await verify_deposits():
                    await deny_rises()
                    await new_movements.wait(self.group.verification_interval)

        self.service.lead(f"verify:{self.network.name}", verify)

    def _followed_addresses(self, watched: set[str]) -> FollowedAddresses:
        return FollowedAddresses(PostgresTargets(self.service.engine), self.network.name, watched)


def _consume(service: Service, work: PostgresUnitOfWork, catalogue: Catalogue) -> None:
    parking, backoff = service.parking(NAME), HintBackoff()
    deposit_targets.subscribe(
        service.subscriptions, record_targets=RecordTargets(work), parking=parking
    )
    deposit_hints.subscribe(
        service.subscriptions,
        record_hints=RecordHints(work, networks=catalogue.networks, backoff=backoff),
        parking=parking,
    )
    repeat_hints = RepeatHints(work, backoff=backoff)
    service.every("repeat-hints", HINTS_INTERVAL, repeat_hints)


def _without_result(work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[None]]:
    # The result of a round shows whether there is more to do; after a report there is not.
    async def round_() -> None:
        await work()

    return round_
