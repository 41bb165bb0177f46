"""How a user may fund a swap, with the names of `swap_contracts.quoting.FundingMethod`.

docs/ways-in.md explains each.
"""

from __future__ import annotations

from typing import Literal

FundingMethod = Literal["direct", "deposit_address", "depository", "gasless"]
