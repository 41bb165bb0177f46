"""Service level objectives, and alerts on how fast their error budgets burn.

An error ratio of 14.4 times the budget, held for an hour, spends 2 % of the budget of 30 days.
Each alert asks for two windows: the long one for weight, the short one so that it ends soon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from swap_monitoring.rule import Alert, Group, Recording, Severity

WINDOWS: Final = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")


@dataclass(frozen=True, slots=True)
class Burn:
    """How many times the budget, over which windows."""

    times: float
    long: str
    short: str


FAST: Final = (Burn(14.4, "1h", "5m"), Burn(6, "6h", "30m"))
SLOW: Final = (Burn(3, "1d", "2h"), Burn(1, "3d", "6h"))


@dataclass(frozen=True, slots=True)
class Objective:
    """A share of good events over 30 days. `ratio` has `$window` where the window stands."""

    name: str  # of the alerts
    record: str  # of the recorded ratios
    budget: float  # the share of events that may be bad
    bad_ratio: str
    what: str  # for the summary

    def record_name(self, window: str) -> str:
        return f"swap:{self.record}:bad_ratio_{window}"

    @property
    def rules(self) -> tuple[Alert | Recording, ...]:
        recordings = [
            Recording(self.record_name(w), self.bad_ratio.replace("$window", w)) for w in WINDOWS
        ]
        return (
            *recordings,
            self._alert("BurnsFast", FAST, Severity.CRITICAL, after="2m"),
            self._alert("BurnsSlowly", SLOW, Severity.WARNING, after="15m"),
        )

    def _alert(
        self, suffix: str, burns: tuple[Burn, ...], severity: Severity, *, after: str
    ) -> Alert:
        expr = " or ".join(
            f"({self.record_name(burn.long)} > {burn.times} * {self.budget}"
            f" and {self.record_name(burn.short)} > {burn.times} * {self.budget})"
            for burn in burns
        )
        summary = f"{{{{ $value | humanizePercentage }}}} of {self.what}."
        return Alert(self.name + suffix, expr, severity, summary, after)


AVAILABILITY: Final = Objective(
    name="ApiBudget",
    record="api",
    budget=0.001,
    bad_ratio='sum(rate(swap_api_answers_total{status=~"5.."}[$window]))'
    " / sum(rate(swap_api_answers_total[$window]))",
    what="the api's responses are server errors",
)
# What the sender did wrong is no error of the service: another amount, or a quote that ran out.
OUR_REASONS: Final = "swap_route_unavailable|insufficient_liquidity|destination_unavailable|unknown"
BAD_SWAPS: Final = (
    f'(sum(rate(swap_settler_swaps_unsuccessful_total{{reason=~"{OUR_REASONS}"}}[$window]))'
    " or vector(0))"
)
SUCCESS: Final = Objective(
    name="SwapSuccessBudget",
    record="swap_success",
    budget=0.01,
    bad_ratio=f"{BAD_SWAPS} / ({BAD_SWAPS}"
    ' + sum(rate(swap_settler_swaps_total{status="completed"}[$window])))',
    what="the swaps with a deposit are not paid out, for a reason of this service",
)
SLOW_AFTER: Final = "1800.0"  # a bucket of the histogram, in seconds
COMPLETION: Final = "swap_settler_swap_completion_seconds"
DURATION: Final = Objective(
    name="SwapDurationBudget",
    record="swap_duration",
    budget=0.05,
    bad_ratio=f'1 - sum(rate({COMPLETION}_bucket{{le="{SLOW_AFTER}"}}[$window]))'
    f" / sum(rate({COMPLETION}_count[$window]))",
    what="the completed swaps took longer than half an hour",
)
OBJECTIVES: Final = (AVAILABILITY, SUCCESS, DURATION)

GROUPS: Final = tuple(
    Group(f"swap-slo-{one.record}", page="objectives", rules=one.rules) for one in OBJECTIVES
)
