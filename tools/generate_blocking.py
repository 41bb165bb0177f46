"""Write the synchronous client from the asynchronous one, without `async` and `await`."""

import re
import subprocess
import sys
from pathlib import Path

from generating import write_or_check

SOURCE = "sdk/python/src/swap_sdk/awaited.py"
TARGET = "sdk/python/src/swap_sdk/blocking.py"
HEAD = (
    '"""The asynchronous client. `make generate` makes `swap_sdk.blocking` from it."""',
    '"""The synchronous client. Generated from `swap_sdk.awaited` by `make generate`."""',
)
REPLACEMENTS = (
    (r"\ban `async with`", "a `with`"),
    (r"^import asyncio\n", ""),
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\basync(?=contextmanager)", ""),
    (r"\b__a(?=enter__|exit__)", "__"),
    (r"\ba(?=close\(|read\(|iter_lines\()", ""),
)


def blocking(awaited: str) -> str:
    text = awaited.replace(*HEAD)
    for pattern, instead in REPLACEMENTS:
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    if left := re.search(r"\b(?:async|await)\w*", text.replace("swap_sdk.awaited", "")):
        raise SystemExit(f"{SOURCE}: nothing blocks in place of {left[0]}")
    return subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", TARGET, "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


if __name__ == "__main__":
    write_or_check({TARGET: blocking(Path(SOURCE).read_text())})
