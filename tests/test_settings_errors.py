"""The output of a process that cannot start is also JSON, and shows no secret."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "service", ["api", "quoter", "chain_watcher", "settler", "notifier", "dashboard"]
)
def test_a_missing_setting_is_logged_without_its_neighbours(service: str) -> None:
    there = {name: value for name, value in os.environ.items() if not name.startswith("SWAP_")}
    secrets = {
        f"SWAP_{service.upper()}__DATABASE_URL": "postgresql://swap:sesame@127.0.0.1:1/swap",
        "SWAP_OPERATOR__TOKEN": "sesame",
        "SWAP_OPERATOR__MISSPELLED": "sesame",
    }
    process = subprocess.run(
        [sys.executable, "-m", f"swap_{service}"],
        env=there | secrets,
        capture_output=True,
        text=True,
        check=False,
    )

    [line] = [json.loads(text) for text in process.stdout.splitlines()]
    assert (process.returncode, process.stderr) == (1, "")
    assert (line["event"], line["service"]) == ("uncaught exception", service)
    assert "Field required" in line["exception"]
    assert "sesame" not in process.stdout
