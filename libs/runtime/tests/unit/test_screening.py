"""Addresses without a known key are not paid in live."""

from __future__ import annotations

import pytest

from swap_domain.rehearsals import REHEARSED
from swap_runtime.screening import Party, RehearsalAddresses, Verdict

LOST = Party("ETHEREUM", REHEARSED + "007")
OTHERS = (
    Party("ETHEREUM", REHEARSED + "00a"),
    Party("ETHEREUM", "0x" + "11" * 20),
    Party("ETHEREUM", "007"),
)


@pytest.mark.parametrize(("environment", "verdict"), [("live", "blocked"), ("test", "clear")])
async def test_a_rehearsed_recipient_is_blocked_only_in_live(
    environment: str, verdict: str
) -> None:
    verdicts = await RehearsalAddresses(environment=environment).screen([LOST, *OTHERS])

    assert verdicts == {LOST: Verdict(verdict), **dict.fromkeys(OTHERS, Verdict.CLEAR)}
