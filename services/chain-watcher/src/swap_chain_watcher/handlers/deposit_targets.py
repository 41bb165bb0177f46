"""Consumes `deposit-target.assigned.v1`."""

from swap_chain_watcher.usecases.assign_targets import AssignTargets
from swap_contracts.topics import DEPOSIT_TARGET_ASSIGNED
from swap_runtime.consuming import Subscriptions, consume
from swap_runtime.parking import Parking


def subscribe(to: Subscriptions, *, assign_targets: AssignTargets, parking: Parking) -> None:
    consume(
        to, DEPOSIT_TARGET_ASSIGNED, group="chain_watcher", usecase=assign_targets, parking=parking
    )
