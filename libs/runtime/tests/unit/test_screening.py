"""Where nobody has the keys, nobody is paid in live."""

from __future__ import annotations

import pytest

from swap_domain.rehearsals import REHEARSED
from swap_runtime.screening import NobodysAddresses, Party, Verdict

LOST = Party("ETHEREUM", REHEARSED + "007")
OTHERS = (
    Party("ETHEREUM", REHEARSED + "00a"),
    Party("ETHEREUM", "0x" + "11" * 20),
    Party("ETHEREUM", "007"),
)


@pytest.mark.parametrize(("environment", "verdict"), [("live", "blocked"), ("test", "clear")])
async def test_a_rehearsed_recipient_is_blocked_in_live_alone(
    environment: str, verdict: str
) -> None:
    told = await NobodysAddresses(environment=environment).screen([LOST, *OTHERS])

    assert told == {LOST: Verdict(verdict), **dict.fromkeys(OTHERS, Verdict.CLEAR)}
