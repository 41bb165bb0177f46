"""The sender of an order receives its answer: each party's timeout exceeds that of the next one."""

from __future__ import annotations

from datetime import timedelta

from swap_chain_watcher.usecases.resume_network import ORDER_WITHIN
from swap_runtime.settings import SweepSettings
from swapctl.admin_client import ORDER_TIMEOUT_SECONDS

# For the steps before and after the order: its proposal, its row in the log, the network.
BESIDE_THE_ORDER = timedelta(seconds=5)


def test_swapctl_waits_longer_than_a_resume_takes() -> None:
    assert timedelta(seconds=ORDER_TIMEOUT_SECONDS) >= ORDER_WITHIN + BESIDE_THE_ORDER


def test_a_resume_waits_longer_than_a_busy_settler_needs_to_note_what_it_has_read() -> None:
    assert 2 * SweepSettings().busy_interval <= ORDER_WITHIN
