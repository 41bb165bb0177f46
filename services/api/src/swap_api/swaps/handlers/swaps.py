"""Consumes `swap.changed.v1`."""

from __future__ import annotations

from swap_api.swaps.usecases.store_swaps import StoreSwaps
from swap_contracts.topics import SWAP_CHANGED
from swap_runtime.messaging.consuming import Subscriptions, consume
from swap_runtime.messaging.parking import Parking


def subscribe(to: Subscriptions, *, store_swaps: StoreSwaps, parking: Parking) -> None:
    consume(to, SWAP_CHANGED, consumer_name="api", usecase=store_swaps, parking=parking)
