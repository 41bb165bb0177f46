"""What the api logs."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from swap_api import observe


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionError(), "ConnectionError: "),
        (ConnectionError("refused\nby the server"), "ConnectionError: refused"),
    ],
)
def test_heads_that_cannot_be_read_are_logged_in_one_line(error: Exception, reason: str) -> None:
    with capture_logs() as logs:
        observe.heads_unreadable(error)

    assert [line["reason"] for line in logs] == [reason]
