"""Consumes `deposit.hinted.v1`."""

from swap_chain_watcher.usecases.record_hints import RecordHints
from swap_contracts.topics import DEPOSIT_HINTED
from swap_runtime.messaging.consuming import Subscriptions, consume
from swap_runtime.messaging.parking import Parking


def subscribe(to: Subscriptions, *, record_hints: RecordHints, parking: Parking) -> None:
    consume(
        to, DEPOSIT_HINTED, consumer_name="chain_watcher", usecase=record_hints, parking=parking
    )
