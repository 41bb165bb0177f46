from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from uuid import UUID

import pytest
import structlog
from pydantic import SecretStr

from swap_runtime.logging import HIDDEN, bound, configure_logging

SWAP_ID = UUID(int=7)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def last_line(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    line: dict[str, object] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return line


class TestLogging:
    def test_writes_one_object_per_line_with_what_is_bound(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        configure_logging("settler")
        with bound(swap_id=SWAP_ID):
            structlog.get_logger().info("payout sent", attempt=2)

        line = last_line(capsys)
        assert (line["event"], line["service"], line["attempt"]) == ("payout sent", "settler", 2)
        assert line["swap_id"] == str(SWAP_ID)

    @pytest.mark.parametrize("field", ["password", "api_key", "operator_secret"])
    def test_never_writes_what_is_secret_by_name(
        self, capsys: pytest.CaptureFixture[str], field: str
    ) -> None:
        configure_logging("settler")
        structlog.get_logger().info("told", **{field: "open sesame"})

        assert last_line(capsys)[field] == HIDDEN

    def test_never_writes_what_is_secret_by_type(self, capsys: pytest.CaptureFixture[str]) -> None:
        configure_logging("settler")
        structlog.get_logger().info("told", url=SecretStr("open sesame"))

        assert "sesame" not in capsys.readouterr().out

    def test_writes_warnings_of_libraries_in_the_same_form(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        configure_logging("settler")
        logging.getLogger("aiokafka").warning("lost %s", "it")

        line = last_line(capsys)
        assert (line["event"], line["level"], line["logger"]) == ("lost it", "warning", "aiokafka")
