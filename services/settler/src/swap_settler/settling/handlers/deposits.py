"""Consumes `deposit.changed.v1`."""

from datetime import timedelta

from swap_contracts.topics import DEPOSIT_CHANGED
from swap_runtime.messaging.consuming import Subscriptions, consume
from swap_runtime.messaging.parking import Parking
from swap_settler.settling.usecases.settle_deposits import SettleDeposits


def subscribe(to: Subscriptions, *, settle_deposits: SettleDeposits, parking: Parking) -> None:
    consume(
        to,
        DEPOSIT_CHANGED,
        consumer_name="settler",
        usecase=settle_deposits,
        parking=parking,
        pause=timedelta(0),  # a payout waits for it
    )
