"""Consumes `inventory.changed.v1`."""

from datetime import timedelta

from swap_contracts.topics import INVENTORY_CHANGED
from swap_quoter.usecases.record_inventory import RecordInventory
from swap_runtime.messaging.consuming import Subscriptions, consume
from swap_runtime.messaging.parking import Parking


def subscribe(to: Subscriptions, *, record_inventory: RecordInventory, parking: Parking) -> None:
    consume(
        to,
        INVENTORY_CHANGED,
        consumer_name="quoter",
        usecase=record_inventory,
        parking=parking,
        pause=timedelta(milliseconds=250),  # the newest counts; payments read the ledger
    )
