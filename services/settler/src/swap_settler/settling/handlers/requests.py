"""Consumes `swap.requests.v1`."""

from swap_contracts.topics import SWAP_REQUESTS
from swap_runtime.messaging.consuming import Subscriptions, consume
from swap_runtime.messaging.parking import Parking
from swap_settler.settling.usecases.request_swaps import RequestSwaps


def subscribe(to: Subscriptions, *, request_swaps: RequestSwaps, parking: Parking) -> None:
    consume(to, SWAP_REQUESTS, consumer_name="settler", usecase=request_swaps, parking=parking)
