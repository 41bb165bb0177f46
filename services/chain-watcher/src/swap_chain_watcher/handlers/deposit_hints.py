"""Consumes `deposit.hinted.v1`."""

from swap_chain_watcher.usecases.take_hints import TakeHints
from swap_contracts.topics import DEPOSIT_HINTED
from swap_runtime.consuming import Subscriptions, consume
from swap_runtime.parking import Parking


def subscribe(to: Subscriptions, *, take_hints: TakeHints, parking: Parking) -> None:
    consume(to, DEPOSIT_HINTED, group="chain_watcher", usecase=take_hints, parking=parking)
