"""A partner who follows the quick start gets a completed swap and a verified webhook."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from swap_stack.places import ROOT
from swap_stack.programs import run_to_end
from tests.e2e.test_guides import run
from tests.plugins.processes import free_port
from tests.plugins.stack import Stack

PROMISED_SECONDS = 300


async def read_make_env(stack: Stack) -> dict[str, str]:
    """Return the variables that `eval "$(make -s env)"` would set."""
    output = await run_to_end(
        [sys.executable, "-m", "swap_stack", "env"], env={"STACK_DIR": str(stack.places.var)}
    )
    rows = (shlex.split(line)[1].split("=", 1) for line in output.splitlines())
    return {name: value for name, value in rows}


@pytest.mark.timeout(PROMISED_SECONDS)
async def test_quick_start_ends_with_a_completed_swap_and_a_verified_webhook(
    stack: Stack, tmp_path: Path
) -> None:
    environment = {**await read_make_env(stack), "PORT": str(free_port())}
    try:
        ran = await run(["quickstart"], tmp_path, environment)
    finally:
        stop_receiver(tmp_path / "receiver.pid")

    assert ran.exit_code == 0, ran.output
    [with_curl] = re.findall(r"fulfilled (\S+)", ran.output)
    with_python, with_typescript = re.findall(r"(\S+) is completed", ran.output)
    log = (tmp_path / "receiver.log").read_text()
    for swap_id in (with_curl, with_python):
        assert log.count(f"fulfilled {swap_id}") == 1, log
    # Its webhook may arrive after the guide has stopped the receiver.
    assert with_typescript not in (with_curl, with_python)


def stop_receiver(pid: Path) -> None:
    """Stop the guide's receiver if the guide did not stop it."""
    if pid.exists():
        try:
            os.kill(int(pid.read_text()), 15)
        except ProcessLookupError:
            return


def test_make_env_prints_the_settings_of_the_quick_start(stack: Stack) -> None:
    environment = asyncio.run(read_make_env(stack))

    assert environment["CHECKOUT"] == str(ROOT)
    assert environment["API_KEY"].startswith("svc_test_")
