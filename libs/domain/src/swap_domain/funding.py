"""The ways in which a user may fund a swap, by their names in messages."""

from __future__ import annotations

from typing import Literal

FundingMethod = Literal["direct", "deposit_address", "depository", "gasless"]
