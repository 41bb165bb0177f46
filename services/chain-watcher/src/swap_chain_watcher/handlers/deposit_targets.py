"""Consumes `deposit-target.assigned.v1`."""

from swap_chain_watcher.usecases.record_targets import RecordTargets
from swap_contracts.topics import DEPOSIT_TARGET_ASSIGNED
from swap_runtime.messaging.consuming import Subscriptions, consume
from swap_runtime.messaging.parking import Parking


def subscribe(to: Subscriptions, *, record_targets: RecordTargets, parking: Parking) -> None:
    consume(
        to,
        DEPOSIT_TARGET_ASSIGNED,
        consumer_name="chain_watcher",
        usecase=record_targets,
        parking=parking,
    )
