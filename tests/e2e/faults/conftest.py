"""Fault tests wait for leases of dead processes to run out."""

from __future__ import annotations

from pathlib import Path

import pytest

TIMEOUT_SECONDS = 240


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS), append=True)
