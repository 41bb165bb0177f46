"""Consumes `payout.changed.v1`."""

from swap_contracts.topics import PAYOUT_CHANGED
from swap_runtime.messaging.consuming import Subscriptions, consume
from swap_runtime.messaging.parking import Parking
from swap_settler.settling.usecases.settle_payouts import SettlePayouts


def subscribe(to: Subscriptions, *, settle_payouts: SettlePayouts, parking: Parking) -> None:
    consume(to, PAYOUT_CHANGED, consumer_name="settler", usecase=settle_payouts, parking=parking)
