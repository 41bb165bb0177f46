"""What a fee may be at the most."""

from __future__ import annotations

from typing import Final

PARTNER_FEE_MAX: Final = 1000  # basis points: a tenth; as the quoter's questions say it
