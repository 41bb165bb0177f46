"""Programs that do one thing and end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

LINES_SHOWN = 20


class ProgramFailed(RuntimeError):
    """A program ended with an error; the text has what it said last."""


async def run_to_end(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, text: str = ""
) -> str:
    """Return what a program wrote; when we are stopped meanwhile, it is ended first.

    :raises ProgramFailed: when it ends with anything but 0.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        env={**os.environ, **(env or {})},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output = (await process.communicate(text.encode()))[0].decode(errors="replace")
    except asyncio.CancelledError:
        if process.returncode is None:
            process.kill()
            await process.wait()
        raise
    if process.returncode != 0:
        end = "\n".join(output.strip().splitlines()[-LINES_SHOWN:])
        what = " ".join([Path(command[0]).name, *command[1:]])
        raise ProgramFailed(f"`{what}` ended with {process.returncode}.\n{end}")
    return output
