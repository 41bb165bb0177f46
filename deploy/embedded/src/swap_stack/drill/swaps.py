"""The swaps of the drill, by the moments at which each is created and paid for."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from swap_stack.demo.journeys import (
    COIN_TO_OTHER_COIN,
    NATIVE_TO_NATIVE,
    REFUSED,
    TOKEN_TO_TOKEN,
)
from swap_stack.swaps import PlannedSwap

# Created before the backup: paid after it, refunded after it, paid for after the restore.
PAID_OUT: Final = PlannedSwap("paid out", TOKEN_TO_TOKEN)
SENT_BACK: Final = PlannedSwap("sent back", REFUSED)
UNPAID: Final = PlannedSwap("not yet paid for", COIN_TO_OTHER_COIN)
# Created and paid after the backup.
FORGOTTEN: Final = PlannedSwap("forgotten", replace(NATIVE_TO_NATIVE, amount="0.2"))
# Created after the restore.
NEW: Final = PlannedSwap("new", NATIVE_TO_NATIVE)
