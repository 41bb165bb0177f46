"""Consumes `swap.changed.v1`."""

from swap_contracts.topics import SWAP_CHANGED
from swap_notifier.usecases.create_messages import CreateMessages
from swap_runtime.messaging.consuming import Subscriptions, consume
from swap_runtime.messaging.parking import Parking


def subscribe(to: Subscriptions, *, create_messages: CreateMessages, parking: Parking) -> None:
    consume(to, SWAP_CHANGED, consumer_name="notifier", usecase=create_messages, parking=parking)
