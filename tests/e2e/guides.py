"""The code of a guide: its fences marked `run`, in order.

`python guides.py PAGE…` runs it. The Python of a guide's pages is one program, and files of a shell
block are available to the next block. The first failure ends it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```(\S*)(.*?)\n(.*?)^```$", re.M | re.S)
GUIDES: Mapping[str, Sequence[str]] = {
    "direct-transfer": ("direct-transfer",),
    "deposit-address": ("deposit-address",),
    "depository": ("depository",),
    "gasless": ("gasless",),
    "endings": ("endings", "requotes-and-refuels", "expiry", "claimable-balances"),
}
LANGUAGES = ("python", "sh")
MARK = "run"


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page."""

    language: str
    is_run: bool
    code: str
    line: int  # of its first line of code


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in FENCE.finditer(text):
        language, marks, code = found.groups()
        line = text.count("\n", 0, found.start(3)) + 1
        yield Block(language, MARK in marks.split(), code, line)


def run(pages: Sequence[Path]) -> None:
    """Run a guide's code in this process.

    :raises Exception: of the first block that fails.
    """
    names: dict[str, Any] = {"__name__": pages[0].stem}
    for page, block in ((one, block) for one in pages for block in blocks_of(one)):
        if block.is_run and block.language == "sh":
            shell = ["bash", "-euo", "pipefail", "-c", block.code]
            if subprocess.run(shell, check=False).returncode:
                raise RuntimeError(f"{page}, line {block.line}: the shell block failed")
        elif block.is_run:
            # An error then shows the line of the page.
            exec(compile("\n" * (block.line - 1) + block.code, page, "exec"), names)


if __name__ == "__main__":
    run([Path(page) for page in sys.argv[1:]])
