from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from uuid import UUID

import pytest
import structlog
from pydantic import SecretStr

from swap_contracts.tracing import trace_id_of
from swap_runtime.telemetry.logging import HIDDEN, bind_fields, configure_logging

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
        with bind_fields(swap_id=SWAP_ID):
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

    def test_a_line_about_a_swap_carries_the_trace_of_the_swap(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        configure_logging("settler")
        for swap_id in (SWAP_ID, str(SWAP_ID)):
            structlog.get_logger().info("told", swap_id=swap_id)
            assert last_line(capsys)["trace_id"] == trace_id_of(SWAP_ID)

        structlog.get_logger().info("told", swap_id=None)
        structlog.get_logger().info("told", swap_id="no id")
        assert "trace_id" not in last_line(capsys)

    def test_writes_amounts_of_256_bits_and_broken_text(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        configure_logging("settler")
        structlog.get_logger().info("told", base_units=10**30, text="\udcff")

        assert last_line(capsys)["base_units"] == 10**30

    def test_every_line_of_a_process_is_json_whatever_writes_it(self) -> None:
        code = """
import logging, warnings
from swap_runtime.messaging.consuming import build_broker
from swap_contracts.tracing import trace_id_of
from swap_runtime.telemetry.logging import configure_logging
from swap_runtime.settings import KafkaSettings
configure_logging("settler")
build_broker(KafkaSettings(bootstrap_servers="127.0.0.1:1"))
logging.getLogger("faststream").warning("of the framework")
warnings.warn("of a library")
raise ValueError("of nobody")
"""
        process = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        lines = [json.loads(line) for line in process.stdout.splitlines()]
        assert process.stderr == ""
        assert "of the framework" in {line["event"] for line in lines}
        assert any("of a library" in line["event"] for line in lines)
        assert "of nobody" in lines[-1]["exception"]
        assert {line["service"] for line in lines} == {"settler"}
