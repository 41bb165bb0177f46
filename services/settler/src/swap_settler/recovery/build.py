"""What notices a restored database, and what ends its recovery, put together."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from swap_chains.ports import ChainReader
from swap_domain.catalogue import Network
from swap_runtime.operators.admin_routes import NeedsSecond
from swap_runtime.process.service import Service
from swap_settler.recovery.http.recovery import RecoveryAdmin
from swap_settler.recovery.store.incarnations import PostgresIncarnations
from swap_settler.recovery.store.recoveries import PostgresRecoveries, PostgresRecoveryProofs
from swap_settler.recovery.usecases.finish_recovery import FinishRecovery
from swap_settler.recovery.usecases.prove_recovery import ProveRecovery
from swap_settler.recovery.usecases.watch_incarnation import WatchIncarnation
from swap_settler.settings import SettlerGroup

WATCH_INTERVAL: Final = timedelta(seconds=1)


def build(
    service: Service,
    group: SettlerGroup,
    networks: Mapping[str, Network],
    chains: Mapping[str, ChainReader],
    proofs: Mapping[str, ChainReader],
    *,
    ends_hold: NeedsSecond,
) -> None:
    """Register each start of the database before anything works, and while it does.

    :param proofs: what two providers report alike.
    :param ends_hold: returns why an order that ends a hold waits for a second operator.
    """
    signers = {name: one.signers for name, one in networks.items()}
    watch_incarnation = WatchIncarnation(
        PostgresIncarnations(service.engine),
        chains=chains,
        signers=signers,
        failover_is_lossless=group.failover_is_lossless,
    )
    service.on_start(watch_incarnation)
    service.every("watch-incarnation", WATCH_INTERVAL, watch_incarnation)
    recoveries = PostgresRecoveries(service.engine)
    prove_recovery = ProveRecovery(
        recoveries,
        PostgresRecoveryProofs(service.engine),
        chains=proofs,
        treasuries={name: one.contracts.treasury for name, one in networks.items()},
        signers=signers,
    )
    service.every("prove-recovery", WATCH_INTERVAL, prove_recovery)
    finish_recovery = FinishRecovery(recoveries)

    async def report_recovery() -> None:
        found = await finish_recovery.find()
        if found is not None and found.ended is None:
            await prove_recovery.count_addresses(found)

    service.every("report-recovery", group.signer_report_interval, report_recovery)
    admin = RecoveryAdmin(finish_recovery, prove_recovery)
    service.admin("GET", "/recovery", admin.show)
    service.admin("GET", "/recovery/held", admin.list_held)
    service.order(
        "/recovery/{id}/finish",
        admin.finish,
        needs_second=ends_hold,
        add_facts=admin.add_evidence,
    )
    service.order(
        "/recovery/retained/{id}/release",
        admin.release,
        needs_second=ends_hold,
        add_facts=admin.add_hold,
    )
