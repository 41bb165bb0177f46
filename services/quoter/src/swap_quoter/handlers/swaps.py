"""Consumes `swap.changed.v1`."""

from datetime import timedelta

from swap_contracts.topics import SWAP_TIMING
from swap_quoter.usecases.record_completions import RecordCompletions
from swap_runtime.messaging.consuming import Subscriptions, consume
from swap_runtime.messaging.parking import Parking


def subscribe(
    to: Subscriptions, *, record_completions: RecordCompletions, parking: Parking
) -> None:
    consume(
        to,
        SWAP_TIMING,
        consumer_name="quoter",
        usecase=record_completions,
        parking=parking,
        pause=timedelta(seconds=1),  # statistics over hours
    )
