"""Times at which alerts about error budgets fire and end."""

from __future__ import annotations

from typing import Final

from deploy.monitoring.tests.case import Case

ANSWERED: Final = 'swap_api_answers_total{route="/a",status="200"}'
FAILED: Final = 'swap_api_answers_total{route="/a",status="500"}'
COMPLETED: Final = 'swap_settler_swaps_total{status="completed"}'
UNPAID: Final = 'swap_settler_swaps_unsuccessful_total{reason="insufficient_liquidity"}'
# A sender's mistake is not counted.
DEGRADED: Final = {'swap_settler_swaps_unsuccessful_total{reason="degraded_quote"}': "0+500x300"}
IN_TIME: Final = 'swap_settler_swap_completion_seconds_bucket{le="1800.0"}'
ALL: Final = "swap_settler_swap_completion_seconds_count"
# A fast burn from minute 10 to 40, of 1000 events a minute; the windows of half an hour follow.
OBJECTIVES: Final = (
    Case(
        "ApiBudgetBurnsFast",
        {ANSWERED: "0+1000x300", FAILED: "0x9 0+100x30 3000x260"},
        13,
        80,
        "2.256% of the api's responses are server errors.",
    ),
    Case(
        "ApiBudgetBurnsSlowly",
        {ANSWERED: "0+1000x300", FAILED: "0+4x60 240x240"},
        16,
        250,
        "0.3984% of the api's responses are server errors.",
    ),
    Case(
        "SwapSuccessBudgetBurnsFast",
        {COMPLETED: "0+1000x300", UNPAID: "0x9 0+1000x30 30000x260", **DEGRADED},
        13,
        80,
        "18.75% of the swaps with a deposit are not paid out, for a reason of this service.",
    ),
    Case(
        "SwapSuccessBudgetBurnsSlowly",
        {COMPLETED: "0+1000x300", UNPAID: "0+40x60 2400x240", **DEGRADED},
        16,
        250,
        "3.846% of the swaps with a deposit are not paid out, for a reason of this service.",
    ),
    Case(
        "SwapDurationBudgetBurnsFast",
        {ALL: "0+1000x300", IN_TIME: "0+1000x9 9000x30 10000+1000x260"},
        15,
        80,
        "40% of the completed swaps took longer than half an hour.",
    ),
    Case(
        "SwapDurationBudgetBurnsSlowly",
        {ALL: "0+1000x300", IN_TIME: "0+800x60 49000+1000x240"},
        16,
        250,
        "20% of the completed swaps took longer than half an hour.",
    ),
)
