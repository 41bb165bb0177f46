"""Runs an operator's commands against a running deployment, and returns their results."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.plugins.stack import Stack

PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class CommandResult:
    code: int
    output: Any
    error: str


async def swapctl(stack: Stack, *arguments: str, stack_file: Path | None = None) -> CommandResult:
    """
    :param stack_file: another description than the stack's own.
    """
    described = stack_file or stack.places.stack_file
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "swapctl", "--stack", str(described)),
        *(*arguments, "--json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        output, error = await process.communicate()
    assert process.returncode is not None
    return CommandResult(process.returncode, json.loads(output or "null"), error.decode())


def of(ended: CommandResult, part: str) -> list[dict[str, str]]:
    """Return the rows of a part of the deployment."""
    return [row for row in ended.output if row["part"].startswith(part)]
