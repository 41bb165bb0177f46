"""For each alert: its input, and the minutes of its start and its end."""

from __future__ import annotations

from typing import Final

from deploy.monitoring.tests.case import Case
from deploy.monitoring.tests.chain_cases import CHAINS, PRICES
from deploy.monitoring.tests.money_cases import PAYMENTS, RECOVERY, SWAPS
from deploy.monitoring.tests.objective_cases import OBJECTIVES
from deploy.monitoring.tests.service_cases import API, MESSAGES, PROCESSES, WEBHOOKS

CASES: Final[tuple[Case, ...]] = (
    *SWAPS, *PAYMENTS, *RECOVERY, *CHAINS, *PRICES, *MESSAGES, *WEBHOOKS, *API, *PROCESSES,
    *OBJECTIVES,
)  # fmt: skip
